import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { NewCustomer } from '@offhook/contract/phonebook.ts';
import { openPostgresStore } from '../../adapters/postgres/store.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { nationalOf, toE164 } from '../../numbers/e164.ts';
import type { Caller } from '../../ports/http.ts';
import type { Store } from '../../ports/store.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { directoryFixture } from '../../../test/support/directory-fixture.ts';
import { fixtureAuthenticator } from '../../../test/support/host-fixture.ts';
import { startPostgres } from '../../../test/support/postgres.ts';
import type { TestPostgres } from '../../../test/support/postgres.ts';
import { createAudit } from '../audit/service.ts';
import { createPhonebook } from './service.ts';
import { createPhonebookStore } from './store.ts';
import type { Tables } from './tables.ts';

let server: TestPostgres;
let who: Caller;
before(async () => {
  server = await startPostgres();
  who = (await fixtureAuthenticator.authenticate('token-supervisor'))!;
});
after(() => server[Symbol.asyncDispose]());

/** The same test on an empty store of each database. */
function onBoth(name: string, work: (store: Store) => Promise<void>): void {
  test(`${name}, in SQLite`, async () => {
    await using temp = await temporaryStore();
    await work(temp.store);
  });
  test(`${name}, in PostgreSQL`, async () => {
    const store = openPostgresStore(await server.createDatabase());
    try {
      await work(store);
    } finally {
      await store.close();
    }
  });
}
async function bookOf(store: Store, country: string) {
  const clock = createVirtualClock();
  const audit = await createAudit(store, clock, silent);
  const book = await createPhonebook({
    store,
    clock,
    directory: directoryFixture(),
    audit,
    log: silent,
    publish() {},
    country,
  });
  const add = (fields: object) =>
    book.create({ caller: who, ip: null }, NewCustomer.parse({ name: 'Somebody', ...fields }));
  const close = () => audit.close();
  return { book, add, [Symbol.asyncDispose]: close };
}

/** Country, the prefix it dials inside, and the beginnings of its numbers. */
const COUNTRIES: readonly (readonly [country: string, trunk: string, numbers: readonly string[]])[] = [
  ['DE', '0', ['+4930901', '+4989123', '+49171123']],
  ['TR', '0', ['+90212555', '+90532111']],
  ['US', '1', ['+1212555', '+1415666']],
  ['GB', '0', ['+44207946', '+447700900']],
  ['FR', '0', ['+33142685', '+33612345']],
  ['IT', '', ['+39066982', '+39347123']],
  ['ES', '', ['+34912345', '+34612345']],
  ['NL', '0', ['+31205551', '+31612345']],
  ['CH', '0', ['+41442681', '+41791234']],
  ['PL', '', ['+48221234', '+48601234']],
];
const aNumber = fc
  .record({
    at: fc.nat(COUNTRIES.length - 1),
    start: fc.nat(2),
    rest: fc.integer({ min: 0, max: 999_999 }),
    length: fc.integer({ min: 2, max: 6 }),
  })
  .map(({ at, start, rest, length }) => {
    const [country, trunk, starts] = COUNTRIES[at]!;
    const e164 = `${starts[start % starts.length]!}${String(rest).padStart(6, '0').slice(0, length)}`;
    return { country, trunk, e164 };
  })
  .filter(({ country, e164 }) => toE164(e164, country) === e164);
/** Puts separators as people write them between the digits. */
const spaced = (digits: string, between: string): string =>
  digits.replaceAll(/(\d{2,3})(?=\d)/g, `$1${between}`);

onBoth(
  'phonebook - every spelling of a number finds its customer in ten countries, whichever was stored',
  async (store) => {
    await fc.assert(
      fc.asyncProperty(
        aNumber,
        fc.constantFrom(' ', '-', '.', '/', ''),
        fc.nat(4),
        async ({ country, trunk, e164 }, between, stored) => {
          const { code, national } = nationalOf(e164)!;
          const spellings = [
            e164,
            spaced(e164, between),
            `00${code}${national}`,
            spaced(`${trunk}${national}`, between),
            trunk === '0' ? `+${code} (0)${national}` : `+${code} ${national}`,
          ];
          await using rig = await bookOf(store, country);
          const { id } = await rig.add({ numbers: [{ number: spellings[stored]! }] });
          for (const spelling of spellings) {
            const found = await rig.book.lookup(who, spelling);
            assert.equal(found.e164, e164, spelling);
            assert.ok(
              found.customers.some((one) => one.id === id),
              spelling,
            );
          }
          await rig.book.remove({ caller: who, ip: null }, id, null);
          assert.deepEqual((await rig.book.lookup(who, e164)).customers, []);
        },
      ),
      { numRuns: 60 },
    );
  },
);

onBoth(
  'phonebook - short numbers match whole, shared numbers match all, and what is no number nobody',
  async (store) => {
    await using rig = await bookOf(store, 'DE');
    const names = async (number: string) =>
      (await rig.book.lookup(who, number)).customers.map(({ name }) => name);
    await rig.add({ name: 'Clerk', numbers: [{ number: '030 901820' }], shared: true });
    await rig.add({ name: 'Chief', numbers: [{ number: '+4930901820' }, { number: '4711' }], shared: true });
    await rig.add({ name: 'Mine', numbers: [{ number: '004930901820' }] });
    await rig.add({ name: 'Without' });
    assert.deepEqual(await names('030901820'), ['Mine', 'Chief', 'Clerk']);
    assert.deepEqual(await names('4711'), ['Chief']);
    for (const number of [
      '47',
      '711',
      '901820',
      'anonymous',
      'Anonymous <sip:x@invalid>',
      '%',
      '+',
      '9'.repeat(64),
    ])
      assert.deepEqual(await names(number), [], number);
  },
);

onBoth(
  'phonebook - a search finds customers of which every word is part, whatever the words',
  async (store) => {
    await using rig = await bookOf(store, 'DE');
    const find = async (q: string) => (await rig.book.page(who, { q })).customers.map(({ name }) => name);
    await rig.add({ name: 'Jürgen Müller', company: 'Acme GmbH', numbers: [{ number: '030 901820' }] });
    await rig.add({
      name: 'Ayşe Yılmaz',
      emails: ['ayse@acme.example'],
      numbers: [{ number: '+905321234567' }],
    });
    await rig.add({ name: 'Li 李', company: '100% "Öl" & Co_' });
    for (const [q, expected] of [
      ['jurgen', ['Jürgen Müller']],
      ['MÜLLER acme', ['Jürgen Müller']],
      ['acme', ['Ayşe Yılmaz', 'Jürgen Müller']],
      ['mü ac', ['Jürgen Müller']],
      ['müller li', []],
      ['yilmaz', ['Ayşe Yılmaz']],
      ['li', ['Li 李']],
      ['李', ['Li 李']],
      ['0% "ö', ['Li 李']],
      ['o_', ['Li 李']],
      ['_', ['Li 李']],
      ['030 9018', ['Jürgen Müller']],
      ['+49 (30) 90', ['Jürgen Müller']],
      ['0049 30', ['Jürgen Müller']],
      ['0532 123', ['Ayşe Yılmaz']],
      ['" or 1=1', []],
      ['müller\u0000', []],
      ['müller AND', []],
    ] as const)
      assert.deepEqual(await find(q), expected, q);
  },
);

onBoth('phonebook - the beginning of a number finds few and many customers, newest first', async (store) => {
  await using rig = await bookOf(store, 'DE');
  const file = `name,number\n${Array.from({ length: 300 }, (_, i) => `N ${i},+49309${String(i).padStart(5, '0')}`).join('\n')}\n`;
  await rig.book.files.import({ caller: who, ip: null }, Buffer.from(file), 'csv', {
    list: 'mine',
    dry_run: 'false',
  });
  const find = async (q: string) =>
    (await rig.book.page(who, { q, limit: 3 })).customers.map(({ name }) => name);
  assert.deepEqual(await find('+49 30 9'), ['N 299', 'N 298', 'N 297']);
  assert.deepEqual(await find('+49 30 9000'), ['N 99', 'N 98', 'N 97']);
  assert.deepEqual(await find('+49 30 90017'), ['N 179', 'N 178', 'N 177']);
  assert.deepEqual(await find('+49 30 9 00170'), ['N 170']);
  assert.deepEqual(await find('+49 30 8'), []);
  const seen: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await rig.book.page(who, {
      q: '+49309001',
      limit: 40,
      ...(cursor === undefined ? {} : { cursor }),
    });
    seen.push(...page.customers.map(({ name }) => name));
    cursor = page.next_cursor;
  }
  assert.deepEqual([seen.length, new Set(seen).size, seen.at(-1)], [100, 100, 'N 100']);
});

onBoth(
  'phonebook - words that most customers have, few have and that are short find together what each of them finds',
  async (store) => {
    await using rig = await bookOf(store, 'DE');
    // More than the newest ones by which a search judges its words; the rare word is below them.
    const name = (i: number): string =>
      `Person ${i} of Team ${i % 2}${i % 40 === 7 ? ' Xy' : ''}${i < 3 ? ' Rare' : ''}`;
    const names = Array.from({ length: 600 }, (_, i) => name(i));
    const file = `name,number\n${names.map((one, i) => `${one},+4930${5_000_000 + i}`).join('\n')}\n`;
    await rig.book.files.import({ caller: who, ip: null }, Buffer.from(file), 'csv', {
      list: 'mine',
      dry_run: 'false',
    });
    for (const q of [
      'person',
      'person team',
      'rare person',
      'xy person',
      'team rare 1',
      'xy 7',
      'person nobody',
      'rare xy',
    ]) {
      const seen: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await rig.book.page(who, { q, limit: 50, ...(cursor === undefined ? {} : { cursor }) });
        seen.push(...page.customers.map((one) => one.name));
        cursor = page.next_cursor;
      }
      // A number is a part of the text, too.
      const texts = names.map((one, i) => ({
        one,
        text: `${one.toLowerCase()}\n+4930${5_000_000 + i}\n030${5_000_000 + i}`,
      }));
      const wanted = texts.filter(({ text }) => q.split(' ').every((word) => text.includes(word)));
      assert.deepEqual(seen, wanted.map(({ one }) => one).toReversed(), q);
    }
  },
);

onBoth(
  'phonebook - customers of others hide none of a search: a page may be short, and the next one goes on',
  async (store) => {
    await using rig = await bookOf(store, 'DE');
    const { id } = await rig.add({ name: 'Needle own' });
    await createPhonebookStore(store);
    const others = Array.from({ length: 3_000 }, (_, i) => id + 1 + i);
    for (let i = 0; i < others.length; i += 500) {
      const ids = others.slice(i, i + 500);
      await store.transaction<Tables, void>(async (trx) => {
        const row = {
          kind: 'person',
          company: null,
          numbers: '[]',
          emails: '[]',
          note: null,
          owner: null,
        } as const;
        const rest = { vip: 0, blocked: 0, source: 'manual', updated_at: 0, version: 1, person_id: 99 };
        const rows = ids.map((one) => ({ ...row, ...rest, id: one, name: 'Needle of another' }));
        await trx.insertInto('customers').values(rows).execute();
        await trx
          .insertInto('customer_texts')
          .values(ids.map((one) => ({ id: one, text: 'needle of another' })))
          .execute();
      });
    }
    for (const q of ['needle', 'ne']) {
      const seen: string[] = [];
      let pages = 0;
      for (let cursor: string | null | undefined; cursor !== null; pages += 1) {
        const page = await rig.book.page(who, { q, ...(cursor === undefined ? {} : { cursor }) });
        seen.push(...page.customers.map(({ name }) => name));
        cursor = page.next_cursor;
      }
      assert.deepEqual(seen, ['Needle own'], q);
      assert.ok(pages > 1, 'one page does not read them all');
    }
  },
);
