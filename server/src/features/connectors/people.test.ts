/** Users of a connected system, who become the owners of entries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openForTest, startSystem } from '../../../test/support/connector-rig.ts';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';

const lists = (requests: readonly string[]): number =>
  requests.filter((request) => request === 'GET /users').length;

test('connectors - an entry waits for its user where the system is too busy to list the users', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  rig.crm.mood = (request) => (request === 'GET /users' && lists(rig.crm.requests) === 1 ? 429 : 'works');
  rig.feed.put('a:1');
  await rig.stands('sent', 'a:1');
  assert.equal(rig.crm.of('a:1')[0]!.user, 'u3');
});

test('connectors - entries have no user where the list of users is refused, which is not read for each of them', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  rig.crm.mood = (request) => (request === 'GET /users' ? 403 : 'works');
  const ids = ['a:1', 'a:2', 'a:3', 'a:4', 'a:5'];
  for (const id of ids) rig.feed.put(id);
  await rig.stands('sent', ...ids);
  assert.deepEqual([...new Set(ids.map((id) => rig.crm.of(id)[0]!.user))], [null]);
  assert.equal(lists(rig.crm.requests), 1);
});

test('connectors - a list of users ends at 50,000, and leaves out users whose id is too long', async (t) => {
  const file = `connector: 1
name: Endless
settings: { address: { text: Address, url: true } }
base: '{{ set.address }}'
check: { get: / }
users: { get: /users, query: { page: '{{ page }}' }, pages: { first: 0, step: 1, full: 5000 }, rows: '{{ answer }}', id: '{{ row.id }}', email: '{{ row.mail }}' }
`;
  let isShort = false;
  const system = await startSystem(t, ({ path }) => {
    const page = Number(new URL(path, 'http://system').searchParams.get('page'));
    if (page === 0 && isShort)
      return {
        json: [
          { id: 'u1', mail: 'a@example.com' },
          { id: 'u'.repeat(301), mail: 'b' },
        ],
      };
    return {
      json: Array.from({ length: 5_000 }, (_, n) => ({ id: `${page}-${n}`, mail: `${n}@example.com` })),
    };
  });
  const { session, signal } = openForTest(t, file, { address: system.url });
  const endless = await session.users!(signal);
  assert.deepEqual(
    [endless.kind, 'words' in endless && endless.words],
    ['refused', 'a list of users has more than 50000 users'],
  );
  assert.equal(system.asked.length, 11);
  isShort = true;
  assert.deepEqual(await session.users!(signal), {
    kind: 'done',
    value: [{ id: 'u1', email: 'a@example.com', name: null }],
  });
});
