import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { Queue } from '../../core/queue.ts';
import { addOperations } from '../../http/operations.ts';
import { authenticatorWithKeys, hostFixture } from '../../../test/support/host-fixture.ts';
import { until } from '../../../test/support/until.ts';
import { exportOf } from './export.ts';
import { createFiles } from './files.ts';
import type { FilesOptions } from './files.ts';
import { phonebookOperations } from './operations.ts';
import type { CustomerRow } from './rows.ts';
import type { Phonebook } from './service.ts';

const rowOf = (id: number): CustomerRow => ({
  id,
  version: 1,
  url: null,
  source: 'local',
  external_id: null,
  person_id: 0,
  kind: 'person',
  name: `Customer ${id}`,
  company: null,
  numbers: [{ number: '030901820', e164: '+4930901820', label: 'office' }],
  emails: [],
  note: null,
  language: null,
  owner: null,
  vip: false,
  blocked: false,
  updated_at: 0,
});
/** The next customers of a list of `total`. */
const rowsAfter = (after: number, limit: number, total: number): CustomerRow[] =>
  Array.from({ length: Math.min(limit, total - after) }, (_, i) => rowOf(after + i + 1));

test('phonebook export - one piece of all exports at a time, and other work runs before the next one', async () => {
  let isBusy = false;
  let reads = 0;
  let early = 0;
  const store = {
    ofPerson: async (_person: number, after: number, limit: number) => {
      reads += 1;
      if (isBusy) early += 1;
      isBusy = true;
      setImmediate(() => (isBusy = false));
      return rowsAfter(after, limit, 450);
    },
  };
  const turns = new Queue();
  await Promise.all(
    (['csv', 'vcard', 'vcard_4', 'vcard'] as const).map(async (format) => {
      let text = '';
      for await (const piece of exportOf(store, 0, format, turns)) text += piece;
      assert.match(text, /Customer 1\b[^]*Customer 450\b/);
    }),
  );
  assert.ok(reads >= 20, `${reads} reads`);
  assert.equal(early, 0);
  assert.equal(turns.size, 0);
});

/** A phonebook without an end, behind its operation. */
async function rig(t: TestContext) {
  const state = { total: Infinity, fails: false, auditFails: false };
  const files = createFiles({
    store: {
      ofPerson: async (_person: number, after: number, limit: number) => {
        if (state.fails) throw new ServiceError('store_unavailable', 'the database is away');
        return rowsAfter(after, limit, state.total);
      },
    },
    clock: createVirtualClock(),
    audit: {
      async record() {
        if (state.auditFails) throw new ServiceError('store_unavailable', 'the trail is full');
      },
    },
  } as unknown as FilesOptions);
  const people = authenticatorWithKeys(
    Object.fromEntries(
      Array.from({ length: 15 }, (_, i) => [`k${i}`, { id: 10 + i, scopes: ['phonebook:read'] }]),
    ),
  );
  const host = await hostFixture({ authenticator: people });
  addOperations(host.app, [phonebookOperations({ files } as unknown as Phonebook, host.app, people)]);
  const { port } = await host.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => host.close());
  /** A response of which nothing is read yet. */
  const ask = async (token = 'token-user', format = 'vcard') => {
    const [reply] = (await once(
      http.get({
        port,
        path: `/api/v1/phonebook/export?list=shared&format=${format}`,
        headers: { authorization: `Bearer ${token}` },
        agent: false,
      }),
      'response',
    )) as [http.IncomingMessage];
    // Each reply that ends early emits an error.
    reply.on('error', () => {});
    return reply;
  };
  const refusal = async (reply: http.IncomingMessage) => {
    assert.notEqual(reply.statusCode, 200);
    const text = String(await reply.setEncoding('utf8').toArray());
    return [reply.statusCode, (JSON.parse(text) as { code: string }).code, reply.headers['retry-after']];
  };
  /** Waits until a person gets two exports, and not three. */
  const getsTwo = async (token: string, what: string) => {
    await until(what, async () => {
      const some = await Promise.all([ask(token), ask(token), ask(token)]);
      for (const one of some) one.destroy();
      return String(some.map(({ statusCode }) => statusCode!).toSorted((a, b) => a - b)) === '200,200,429';
    });
  };
  return { state, host, ask, refusal, getsTwo };
}

test('phonebook export - two at once for one person; a disconnect, a failure and an end each free a place', async (t) => {
  const { state, host, ask, refusal, getsTwo } = await rig(t);
  const two = [await ask(), await ask()];
  assert.deepEqual(
    two.map(({ statusCode }) => statusCode),
    [200, 200],
  );
  assert.deepEqual(await refusal(await ask()), [429, 'too_many_requests', '10']);
  assert.equal((await ask('token-agent')).statusCode, 200);
  for (const one of two) one.destroy();
  await getsTwo('token-user', 'the places of the disconnected clients');

  state.auditFails = true;
  for (let i = 0; i < 3; i += 1)
    assert.equal((await refusal(await ask('token-admin')))[1], 'store_unavailable');
  state.auditFails = false;
  await getsTwo('token-admin', 'the places of exports without an entry');
  state.fails = true;
  await Promise.allSettled([ask('token-admin'), ask('token-admin')]);
  state.fails = false;
  await getsTwo('token-admin', 'the places of the failed exports');
  state.total = 0;
  for (let i = 0; i < 4; i += 1) {
    await until('the place of the file before', async () => {
      const text = String(await (await ask('token-admin', 'csv')).setEncoding('utf8').toArray());
      return text.includes('name,') && !text.includes('Customer');
    });
  }
  state.total = Infinity;
  // A client that reads nothing more does not hold up the end of the service.
  const paused = await ask('token-supervisor');
  await host.close();
  await assert.rejects(paused.toArray());
});

test('phonebook export - all people together have a limit', async (t) => {
  const { ask, refusal } = await rig(t);
  for (let i = 0; i < 14; i += 1) assert.equal((await ask(`key-k${i}`)).statusCode, 200, `${i}`);
  assert.equal((await ask('token-agent')).statusCode, 200);
  assert.deepEqual(await refusal(await ask('token-user')), [503, 'overloaded', '10']);
});
