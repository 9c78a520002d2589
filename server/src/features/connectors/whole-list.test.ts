/** Lists of all customers that lack most of those in the phonebook. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { LookupReply } from '@offhook/contract/phonebook.ts';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';
import { CRM_SYNC, crmCustomer, crmFile } from '../../../test/support/crm.ts';
import { until } from '../../../test/support/until.ts';

/** A site whose phonebook has the customers 1 to 5 of the system. */
async function synced(t: TestContext, sync: string) {
  const rig = await connectorsRig(t);
  rig.crm.changes.push(...[1, 2, 3, 4, 5].map(crmCustomer));
  await rig.create('find', { source: crmFile() + sync });
  const state = async () => (await rig.list())[0]!.sync!;
  await until('the first sync', async () => (await state()).last_at !== null);
  return {
    ...rig,
    state,
    troubles: () => rig.connectors.troubles().join(),
    /** Customers 1 to 9 that the phonebook has. */
    async known(): Promise<number[]> {
      const found = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(async (n) => {
        const { json } = await rig.call('GET', `phonebook/lookup?number=030555500${n}`);
        return LookupReply.parse(json).customers.length > 0 ? [n] : [];
      });
      return (await Promise.all(found)).flat();
    },
    /** Waits until the first sync of the next day is refused. */
    async refused(): Promise<void> {
      await rig.clock.advance(midnight - rig.clock.now());
      await until('the refusal', async () => {
        await rig.clock.advance(60_000);
        return REFUSAL.test((await state()).words ?? '');
      });
    },
    /** The next sync, of changes alone. */
    async changes(): Promise<void> {
      await rig.clock.advance(3_600_000);
      await until('the changes', async () => (await state()).words === null && !(await state()).running);
    },
    async ask(body?: object): Promise<void> {
      const { last_at } = await state();
      await rig.clock.advance(1_000);
      const { status, json } = await rig.call('POST', 'connectors/1/sync', body, 'token-admin');
      assert.equal(status, 202, JSON.stringify(json));
      await until('the sync', async () => {
        const now = await state();
        return !now.running && (now.words !== null || now.last_at !== last_at);
      });
    },
  };
}
const REFUSAL = /lacks 3 of the 5 in the phonebook, more than half, so none was deleted$/;
const midnight = Date.UTC(2026, 10, 22);

test('connectors - a daily list that lacks most customers deletes none; changes go on, and its reason is shown until a list is taken over', async (t) => {
  const site = await synced(t, CRM_SYNC);
  const { crm, clock, state } = site;
  const others = crm.changes.splice(2);
  await site.refused();
  assert.deepEqual(await site.known(), [1, 2, 3, 4, 5]);
  crm.changes.push({ ...crmCustomer(9), rev: 'b1' });
  await clock.advance(3_600_000);
  await until('the changes', async () => (await site.known()).includes(9) && !(await state()).running);
  const { words, whole_words } = await state();
  assert.equal(words, null);
  assert.match(whole_words ?? '', REFUSAL);
  assert.match(site.troubles(), /Small CRM: .*lacks 3 of the 5/, 'the health check names it');
  crm.changes.push(...others.slice(1).map((one, n) => ({ ...one, rev: `c${n}` })));
  await clock.advance(86_400_000);
  await until('the next day', async () => (await state()).whole_words === null);
  assert.deepEqual(await site.known(), [1, 2, 4, 5, 9]);
  assert.equal(site.troubles(), '');
});

test('connectors - a person has a refused list read again, and accepts it by delete_missing, once', async (t) => {
  const site = await synced(t, CRM_SYNC);
  const { crm, state } = site;
  crm.changes.splice(2);
  await site.refused();
  await site.changes();
  await site.ask();
  assert.match((await state()).words ?? '', REFUSAL, 'all customers were read again');
  crm.mood = (request) => (request === 'GET /changes' ? 400 : 'works');
  await site.ask({ delete_missing: true });
  crm.mood = () => 'works';
  await site.ask();
  assert.match((await state()).words ?? '', REFUSAL, 'accepted for one sync only');
  assert.deepEqual(await site.known(), [1, 2, 3, 4, 5]);
  await site.ask({ delete_missing: true });
  assert.deepEqual(await site.known(), [1, 2]);
  assert.deepEqual([(await state()).words, (await state()).whole_words, site.troubles()], [null, null, '']);
  const { entries } = await site.audit.page({ action: 'connector.synced', limit: 50 });
  assert.deepEqual(
    entries.map(({ detail }) => detail?.['delete_missing'] ?? false),
    [true, false, true, false],
  );
});

test('connectors - a system without a cursor: a list that lacks most customers, or all, deletes none either', async (t) => {
  const site = await synced(t, CRM_SYNC.replace(/ {2}(?:cursor|gone): .*\n/g, ''));
  const { crm, clock, state } = site;
  for (const left of [2, 0]) {
    crm.changes.splice(left);
    await clock.advance(3_600_000);
    await until(
      'the refusal',
      async () => (await state()).words?.includes(`lacks ${5 - left} of the 5`) === true,
    );
    assert.deepEqual(await site.known(), [1, 2, 3, 4, 5]);
  }
  crm.changes.push(...[1, 2, 3].map(crmCustomer));
  await clock.advance(3_600_000);
  await until('the list', async () => (await state()).whole_words === null);
  assert.deepEqual(await site.known(), [1, 2, 3]);
});

test('connectors - a refused list is known after a restart, and so is the number of customers that a person accepts', async (t) => {
  const site = await synced(t, CRM_SYNC);
  const { crm, state } = site;
  crm.changes.splice(2);
  await site.refused();
  await site.changes();
  await site.restart();
  await until('the reason', async () => REFUSAL.test((await state()).whole_words ?? ''));
  assert.match(site.troubles(), /Small CRM: .*lacks 3 of the 5/, 'the health check names it');
  await site.ask();
  assert.match((await state()).words ?? '', REFUSAL, 'all customers were read again');
  await site.restart();
  await until('the reason', async () => REFUSAL.test((await state()).whole_words ?? ''));
  crm.changes.splice(0);
  await site.ask({ delete_missing: true });
  assert.match(
    (await state()).words ?? '',
    /lacks 5 of the 5 .*, more than the 3 that were accepted, so none/,
  );
  assert.deepEqual(await site.known(), [1, 2, 3, 4, 5]);
  await site.ask({ delete_missing: true });
  await until('the deletion', async () => (await state()).whole_words === null);
  assert.deepEqual([await site.known(), (await state()).words], [[], null]);
  await site.restart();
  await until('the last sync', async () => (await state()).last_at !== null);
  assert.equal((await state()).whole_words, null);
});

test('connectors - an empty list is accepted by delete_missing only after it was refused', async (t) => {
  const site = await synced(t, CRM_SYNC);
  site.crm.changes.splice(0);
  await site.ask({ delete_missing: true });
  assert.match((await site.state()).words ?? '', /lacks 5 of the 5 in the phonebook, more than half/);
  assert.deepEqual(await site.known(), [1, 2, 3, 4, 5]);
  await site.ask({ delete_missing: true });
  await until('the deletion', async () => (await site.state()).whole_words === null);
  assert.deepEqual(await site.known(), []);
});
