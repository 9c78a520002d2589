/** Users of a connected system, who become the owners of entries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openForTest, startSystem } from '../../../test/support/connector-rig.ts';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';
import { until } from '../../../test/support/until.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { failure } from './format/requests.ts';
import type { ConnectorSession } from './format/session.ts';
import { createPeople } from './people.ts';

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

test('connectors - an entry waits for its user where the list of users fails without a refusal', async (t) => {
  for (const mood of [500, 'lost'] as const) {
    const rig = await connectorsRig(t);
    await rig.create();
    rig.crm.mood = (request) => (request === 'GET /users' && lists(rig.crm.requests) === 1 ? mood : 'works');
    rig.feed.put('a:1');
    await rig.stands('sent', 'a:1');
    assert.equal(rig.crm.of('a:1')[0]!.user, 'u3', `${mood}`);
  }
});

test('connectors - entries wait at most an hour for a list of users that never comes, which is read once a minute', async (t) => {
  const rig = await connectorsRig(t);
  const { crm, clock } = rig;
  await rig.create();
  crm.mood = (request) => (request === 'GET /users' ? 503 : 'works');
  rig.feed.put('a:1');
  const began = clock.now();
  rig.connectors.service.wake();
  await until('the entry without its user', async () => {
    await clock.advance(10_000);
    return crm.of('a:1').length > 0;
  });
  const waited = (clock.now() - began) / 60_000;
  assert.ok(waited >= 59 && waited < 65, `waited ${waited} min`);
  assert.ok(lists(crm.requests) <= 62, `read ${lists(crm.requests)} times`);
  await rig.stands('sent', 'a:1');
  assert.deepEqual([crm.of('a:1')[0]!.user, (await rig.entries())[0]!.attempts], [null, 1]);
  await clock.advance(60_000);
  rig.feed.put('a:2');
  await rig.stands('sent', 'a:2');
  assert.equal((await rig.list())[0]!.since, null, 'the connector does not wait again');
  crm.mood = () => 'works';
  await clock.advance(60_000);
  rig.feed.put('a:3');
  await rig.stands('sent', 'a:3');
  assert.equal(crm.of('a:3')[0]!.user, 'u3');
});

test('connectors - a list of users whose read another caller ended is read again for an entry, but not for each live call', async () => {
  let reads = 0;
  const users: ConnectorSession['users'] = (signal) => {
    reads += 1;
    return Promise.resolve(
      signal.aborted
        ? failure('unknown', 'stopped')
        : { kind: 'done', value: [{ id: 'u3', email: 'bea@example.test', name: null }] },
    );
  };
  const session = { users } as ConnectorSession;
  const people = createPeople({ byExtension: () => undefined }, createVirtualClock());
  const person = { extension: '1003', name: 'Bea', email: 'Bea@example.test' };
  const { signal } = new AbortController();
  assert.equal(await people.userOf(1, session, person, AbortSignal.abort()), null);
  assert.deepEqual([await people.userOf(1, session, person, signal), reads], [null, 1]);
  const found = await people.findUser(1, session, person, signal);
  assert.deepEqual([found !== null && 'id' in found && found.id, reads], ['u3', 2]);
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
