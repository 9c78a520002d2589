import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { openForTest, startSystem } from '../../../../test/support/connector-rig.ts';
import { frappeList } from '../../../../test/support/frappe.ts';
import { REPOSITORY } from '../../../../test/support/sources.ts';

/** Contacts of a page. */
const PAGE = 500;
const nameOf = (n: number): string => `Contact ${String(n).padStart(4, '0')}`;
/** Contact `n` has three numbers, every tenth one none. */
const phonesOf = (n: number): string[] =>
  n % 10 === 0 ? [] : [1, 2, 3].map((k) => `+49${k}0 ${5_550_000 + n}`.replace(' ', ''));

for (const file of ['erpnext', 'frappe'])
  test(`connectors - ${file}: a contact has all of its numbers, also across two pages, and is found by each of them`, async (t) => {
    const contacts = Array.from({ length: 900 }, (_, n) => ({
      name: nameOf(n),
      full_name: nameOf(n),
      company_name: null,
      email_id: '',
      modified: '2026-11-20 08:00:00.000000',
      // The primary numbers.
      phone: phonesOf(n)[0] ?? '',
      mobile_no: phonesOf(n)[1] ?? '',
      phone_nos: phonesOf(n).map((phone) => ({ phone })),
    }));
    const text = await fs.readFile(path.join(REPOSITORY, 'connectors', `${file}.yaml`), 'utf8');
    const system = await startSystem(t, (asked) => ({ json: frappeList(contacts, asked) }));
    const { session } = openForTest(t, text, { address: system.url, key: 'k', secret: 'secret' });
    const { signal } = new AbortController();
    const numbers = new Map<string, Set<string>>();
    let pages = 0;
    let split = 0;
    for (let page: unknown = null; pages === 0 || page !== null; pages += 1) {
      const read = await session.sync!({ cursor: null, page }, signal);
      assert.ok(read.kind === 'done', JSON.stringify(read));
      for (const { id, numbers: some } of read.value.customers) {
        const known = numbers.get(id) ?? new Set();
        if (known.size > 0 && known.size < 3) split += 1;
        numbers.set(id, new Set([...known, ...some]));
      }
      ({ page } = read.value);
    }
    assert.equal(pages, Math.ceil((810 * 3 + 90) / (PAGE - 3)) + 1);
    assert.ok(split > 0, 'a page ended between the numbers of a contact');
    for (const [n, { name }] of contacts.entries())
      assert.deepEqual([...(numbers.get(name) ?? ['none'])].toSorted(), phonesOf(n), name);
    for (const number of phonesOf(7)) {
      const found = await session.lookup!(number, signal);
      assert.ok(found.kind === 'done', JSON.stringify(found));
      assert.deepEqual(
        found.value.map(({ name, numbers: some }) => [name, some]),
        [[nameOf(7), [number]]],
      );
    }
  });
