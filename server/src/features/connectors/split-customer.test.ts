/** Lists of numbers in which a page ends between the numbers of a customer. */
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { LookupReply } from '@offhook/contract/phonebook.ts';
import { startSystem } from '../../../test/support/connector-rig.ts';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';
import { frappeList } from '../../../test/support/frappe.ts';
import { REPOSITORY } from '../../../test/support/sources.ts';
import { until } from '../../../test/support/until.ts';

/** Contact `n` has as many numbers as `numbers`. */
const contact = (n: number, numbers: number) => ({
  name: `Contact ${String(n).padStart(4, '0')}`,
  full_name: `Contact ${n}`,
  company_name: null,
  email_id: '',
  phone_nos: Array.from({ length: numbers }, (_, k) => ({ phone: `+4930${5_000_000 + n * 1_000 + k}` })),
});
/** A site whose connector reads these contacts by a file of the release; `state` is that of its sync. */
async function frappeSite(t: TestContext, file: string, contacts: readonly ReturnType<typeof contact>[]) {
  const rig = await connectorsRig(t);
  const system = await startSystem(t, (asked) => ({
    json: asked.path.startsWith('/api/resource/Contact') ? frappeList(contacts, asked) : { message: 'x' },
  }));
  const source = await fs.readFile(path.join(REPOSITORY, 'connectors', `${file}.yaml`), 'utf8');
  await rig.create('find', { source, settings: { address: system.url, key: 'k', secret: 'geheim' } });
  const state = async () => (await rig.list())[0]!.sync!;
  return { ...rig, system, state };
}

for (const file of ['erpnext', 'frappe'])
  test(`connectors - ${file}: a contact whose numbers are on two pages is stored once, and loses none meanwhile`, async (t) => {
    const contacts = Array.from({ length: 300 }, (_, n) => contact(n, 3));
    const { clock, events, system, state, call } = await frappeSite(t, file, contacts);
    const synced = (after: string | null) =>
      until('a sync', async () => {
        await clock.advance(1_000);
        const { last_at, words } = await state();
        assert.equal(words, null);
        return last_at !== null && last_at !== after;
      });
    await synced(null);
    // The first page has 500 numbers, two of them those of contact 166.
    assert.ok(system.asked.filter(({ path: asked }) => asked.includes('Contact+0166')).length > 0);
    for (const { phone } of contacts[166]!.phone_nos) {
      const { json } = await call('GET', `phonebook/lookup?number=${encodeURIComponent(phone)}`);
      assert.deepEqual(
        LookupReply.parse(json).customers.map(({ name }) => name),
        ['Contact 166'],
      );
    }
    events.length = 0;
    const { last_at } = await state();
    await clock.advance(3_600_000);
    await synced(last_at);
    assert.deepEqual(
      events.filter(({ type }) => type.startsWith('phonebook.')),
      [],
      'no contact changed',
    );
  });

test('connectors - a contact with more numbers than a page fails the sync with a reason', async (t) => {
  const { clock, state } = await frappeSite(t, 'erpnext', [contact(0, 501), contact(1, 1)]);
  await until('the failure', async () => {
    await clock.advance(1_000);
    return (await state()).words !== null;
  });
  assert.match((await state()).words!, /the system names the same page as the next one/);
});
