import assert from 'node:assert/strict';
import { createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { z } from 'zod';
import { openTestStore } from '../../test/support/test-store.ts';
import { fixtureAuthenticator, hostFixture } from '../../test/support/host-fixture.ts';
import { oneOperation } from '../../test/support/one-operation.ts';
import { until } from '../../test/support/until.ts';
import { manualClock } from '../../test/support/sessions-fixture.ts';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ServiceError, markNotBegun, markUncertain } from '../core/errors.ts';
import type { Store } from '../ports/store.ts';
import type { Host } from './host.ts';
import { addOperations } from './operations.ts';
import { createIdempotencyStore } from './idempotency.ts';
import type { IdempotencyStore } from './idempotency.ts';

const SITE_KEY = randomBytes(32);
const clock = manualClock();
let folder: string;
let store: Store;
let kept: IdempotencyStore;
let host: Host;
/** Next result of the handler. */
let work: (note: string) => Promise<object>;
let runs = 0;
async function open(): Promise<void> {
  host = await hostFixture({ authenticator: fixtureAuthenticator, idempotency: kept });
  const body = z.strictObject({ note: z.string(), times: z.int().optional() });
  for (const url of ['/api/v1/work', '/api/v1/other', '/api/v1/calls/:call/work']) {
    host.app.post(url, { config: { level: 'user' }, schema: { body } }, (request) => {
      runs += 1;
      return work(request.body.note);
    });
  }
  host.app.post('/api/mobile/work.php', { config: { level: 'user' }, schema: { body } }, () => {
    runs += 1;
    return { run: runs };
  });
  await host.app.ready();
}
before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-idempotency-'));
  store = await openTestStore(path.join(folder, 'x.db'));
  kept = await createIdempotencyStore(store, clock, SITE_KEY);
  await open();
});
after(async () => {
  await host.close();
  await store.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  runs = 0;
  work = (note) => Promise.resolve({ note, run: runs });
});
const post = (
  key: string | undefined,
  payload: object = { note: 'a' },
  level = 'user',
  url = '/api/v1/work',
) =>
  host.app.inject({
    method: 'POST',
    url,
    headers: {
      authorization: `Bearer token-${level}`,
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    payload,
  });
const code = (response: { json: () => unknown }): string => (response.json() as { code: string }).code;

test('repeats - the same key gets the first result, byte for byte, and the work is done once', async () => {
  const first = await post('key-1');
  assert.equal(first.headers['idempotency-replayed'], undefined);
  const second = await post('key-1');
  assert.deepEqual(
    [second.statusCode, second.body, second.headers['content-type']],
    [first.statusCode, first.body, first.headers['content-type']],
  );
  assert.equal(second.headers['idempotency-replayed'], 'true');
  assert.equal(runs, 1);
  await post('key-1b');
  await post(undefined);
  await post(undefined);
  assert.equal(runs, 4);
});
test('repeats - the same key with another body is 409, and changes nothing', async () => {
  await post('key-2');
  const other = await post('key-2', { note: 'b' });
  assert.equal(other.statusCode, 409);
  assert.equal(code(other), 'idempotency_conflict');
  assert.equal((await post('key-2')).statusCode, 200);
  assert.equal(runs, 1);
});
test('repeats - a key belongs to one person and one path', async () => {
  await post('key-3');
  const another = await post('key-3', { note: 'a' }, 'agent');
  assert.equal(another.headers['idempotency-replayed'], undefined);
  const elsewhere = await post('key-3', { note: 'a' }, 'user', '/api/v1/other');
  assert.equal(elsewhere.headers['idempotency-replayed'], undefined);
  assert.equal(runs, 3);
});
test('repeats - sent at the same time, one runs and the others get its result', async () => {
  const gate = Promise.withResolvers<void>();
  work = async (note) => {
    await gate.promise;
    return { note, run: runs };
  };
  const all = Promise.all([post('key-4'), post('key-4'), post('key-4'), post('key-4', { note: 'b' })]);
  while (runs === 0) await new Promise((resolve) => setImmediate(resolve));
  gate.resolve();
  const [first, second, third, other] = await all;
  assert.equal(runs, 1);
  assert.equal(second.body, first.body);
  assert.equal(third.body, first.body);
  assert.equal(other.statusCode, 409);
});
test('repeats - a decided refusal is kept, an undecided one may be tried again', async () => {
  work = () => Promise.reject(new ServiceError('not_in_queue', 'no'));
  assert.equal((await post('key-5')).statusCode, 409);
  work = () => Promise.resolve({});
  assert.equal(code(await post('key-5')), 'not_in_queue');
  for (const undecided of ['engine_unavailable', 'store_unavailable', 'too_many_attempts'] as const) {
    work = () => Promise.reject(new ServiceError(undecided, 'later'));
    assert.equal(code(await post(`key-${undecided}`)), undecided);
    work = () => Promise.resolve({ ok: true });
    assert.deepEqual((await post(`key-${undecided}`)).json(), { ok: true });
  }
});
test('repeats - of a command that had not begun, a late engine may be asked again, and a refusal is kept', async () => {
  for (const [refusal, isKept] of [
    ['engine_timeout', false],
    ['call_gone', true],
  ] as const) {
    work = () => Promise.reject(markNotBegun(new ServiceError(refusal, 'no')) as Error);
    assert.equal(code(await post(`key-not-begun-${refusal}`)), refusal);
    work = () => Promise.resolve({ ok: true });
    const again = await post(`key-not-begun-${refusal}`);
    assert.equal(again.headers['idempotency-replayed'], isKept ? 'true' : undefined, refusal);
  }
});
test('repeats - a command that may have taken effect is never repeated under the same key', async () => {
  for (const [key, error] of [
    ['engine_timeout', new ServiceError('engine_timeout', 'not confirmed')],
    [
      'engine_unavailable',
      markUncertain(new ServiceError('engine_unavailable', 'the link broke after the sending')),
    ],
    ['internal', new Error('a fault of the service')],
  ] as const) {
    work = () => Promise.reject(error as Error);
    assert.equal(code(await post(`key-unknown-${key}`)), key);
    work = () => Promise.resolve({ ok: true });
    assert.equal(code(await post(`key-unknown-${key}`)), key);
  }
});
test('repeats - the spelling of a path parameter does not make another request', async () => {
  await post('key-spelling', { note: 'a' }, 'user', '/api/v1/calls/ast1:1764.1/work');
  const again = await post('key-spelling', { note: 'a' }, 'user', '/api/v1/calls/ast1%3A1764.1/work');
  assert.equal(again.headers['idempotency-replayed'], 'true');
  const other = await post('key-spelling', { note: 'a' }, 'user', '/api/v1/calls/ast1:1764.2/work');
  assert.equal(other.headers['idempotency-replayed'], undefined);
  assert.equal(runs, 2);
});
test('repeats - a request that the checks reject does not use up its key', async () => {
  assert.equal((await post('key-6', { wrong: 1 })).statusCode, 400);
  assert.equal((await post('key-6')).statusCode, 200);
  for (const wrong of ['', 'a b', 'ü', 'x'.repeat(256)]) {
    assert.equal((await post(wrong)).statusCode, 400, JSON.stringify(wrong));
  }
});
test('repeats - after 24 hours the key is new', async () => {
  await post('key-7');
  clock.advance(24 * 3_600_000 - 1);
  assert.equal((await post('key-7')).headers['idempotency-replayed'], 'true');
  clock.advance(1);
  assert.equal((await post('key-7', { note: 'b' })).statusCode, 200);
  assert.equal(runs, 2);
});
test('repeats - results survive a restart, and an attempt cut off by it is reported as unknown', async () => {
  const first = await post('key-8');
  const gate = Promise.withResolvers<void>();
  work = async () => {
    await gate.promise;
    return {};
  };
  const cut = post('key-9');
  while (runs < 2) await new Promise((resolve) => setImmediate(resolve));
  const old = host;
  await open();
  assert.equal((await post('key-8')).body, first.body);
  const unknown = await post('key-9');
  assert.equal(unknown.statusCode, 409);
  assert.match(unknown.body, /its result is unknown/);
  gate.resolve();
  await cut;
  await old.close();
});
test('repeats - kept results are sealed, and a person keeps at most a thousand', async () => {
  work = () => Promise.resolve({ secret: 'TOP-s3cret-VALUE' });
  await post('key-10');
  assert.match((await post('key-10')).body, /TOP-s3cret-VALUE/);
  for (const file of ['x.db', 'x.db-wal']) {
    const bytes = await readFile(path.join(folder, file));
    assert.equal(bytes.includes('TOP-s3cret-VALUE'), false, file);
    assert.equal(bytes.includes('key-10'), false, file);
  }
  for (let i = 0; i < 1_010; i += 1) {
    clock.advance(1);
    await kept.begin(`id-${i}`, 77, 'f');
  }
  assert.equal(await kept.find('id-9', 'k'), undefined);
  assert.ok(await kept.find('id-1009', 'k'));
  const rows = await store
    .db<Record<string, { person_id: number }>>()
    .selectFrom('http_idempotency')
    .select('person_id')
    .where('person_id', '=', 77)
    .execute();
  assert.equal(rows.length, 1_000);
});
test('repeats - the database reveals no secret to a guessed key; another site key makes the outcome unknown', async () => {
  work = () => Promise.resolve({ secret: 'TOP-s3cret-VALUE' });
  const key = 'order-1';
  const made = await post(key);
  const { id, fingerprint, body } = await store
    .db<{ http_idempotency: { id: string; fingerprint: string; body: Uint8Array } }>()
    .selectFrom('http_idempotency')
    .select(['id', 'fingerprint', 'body'])
    .where('id', '=', kept.digest(JSON.stringify([5, '/api/v1/work', key])))
    .executeTakeFirstOrThrow();
  const guessed = Buffer.from(hkdfSync('sha256', key, id, 'offhook idempotency', 32));
  const sealed = Buffer.from(body);
  const cipher = createDecipheriv('aes-256-gcm', guessed, sealed.subarray(0, 12));
  cipher.setAuthTag(sealed.subarray(-16));
  assert.throws(() => Buffer.concat([cipher.update(sealed.subarray(12, -16)), cipher.final()]));
  assert.notEqual(fingerprint, hash('sha256', JSON.stringify({ note: 'a' }), 'base64url'));
  assert.equal((await post(key)).body, made.body, 'a repeat is given it all the same');

  const other = await createIdempotencyStore(store, clock, randomBytes(32));
  assert.deepEqual(await other.find(id, key), { fingerprint, reply: null });
});
test('repeats - only below /api/v1; elsewhere the header means nothing', async () => {
  await post('key-11', { note: 'a' }, 'user', '/api/mobile/work.php');
  await post('key-11', { note: 'a' }, 'user', '/api/mobile/work.php');
  assert.equal(runs, 2);
});

test('repeats - a request over its rate leaves its key and the stored replies unchanged, by REST and by command', async (t) => {
  let now = 0;
  let begun = 0;
  const begin: IdempotencyStore['begin'] = (...all) => {
    begun += 1;
    return kept.begin(...all);
  };
  const own = await hostFixture({ clock: { now: () => now }, idempotency: { ...kept, begin } });
  t.after(() => own.close());
  const say = oneOperation({
    action: 'notes.say',
    method: 'POST',
    path: '/api/v1/say',
    level: 'user',
    paced: 'own',
    errors: ['wrong_call_state'],
    summary: 'say',
    tag: 'test',
    body: z.strictObject({ note: z.string() }),
    reply: z.object({ note: z.string() }),
    run: (_actor, { body }) =>
      body.note === 'no'
        ? Promise.reject(new ServiceError('wrong_call_state', 'no'))
        : Promise.resolve({ note: body.note }),
  });
  const commands = addOperations(own.app, [say]);
  const send = async (key: string, note = 'a') => {
    const reply = await own.app.inject({
      method: 'POST',
      url: '/api/v1/say',
      headers: { authorization: 'Bearer token-user', 'idempotency-key': key },
      payload: { note },
    });
    return [reply.statusCode, reply.headers['idempotency-replayed']];
  };
  const caller = (await fixtureAuthenticator.authenticate('token-user'))!;
  const command = (key: string) => commands.run({ caller, ip: null }, 'notes.say', { note: 'a' }, key);
  for (let i = 0; i < 30; i += 1) assert.deepEqual(await send(`pace-${i}`), [200, undefined]);
  assert.equal(begun, 30);
  assert.deepEqual(await send('late'), [429, undefined]);
  await assert.rejects(command('late'), /sends more than/);
  assert.equal(begun, 30, 'no row was written, so none was pushed out');
  assert.deepEqual(await send('pace-0'), [200, 'true'], 'a repeat costs nothing');
  assert.deepEqual(await command('pace-0'), { note: 'a' });
  now += 1_000;
  assert.deepEqual(await send('late'), [200, undefined], 'the key is as good as new');
  now += 100_000;
  for (let i = 0; i < 60; i += 1) {
    now += 400;
    assert.equal((await send(`no-${i}`, 'no'))[0], 409);
  }
  const before = begun;
  while ((await send(`refused-${begun}`, 'no'))[0] === 409) assert.ok(begun < before + 60);
  const last = begun;
  assert.deepEqual(await send('refused-late'), [429, undefined]);
  assert.equal(begun, last, 'neither is one begun where too many were refused');
});

test('repeats - stored replies expire, also without further keys', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const own = await hostFixture({ idempotency: kept });
  t.after(() => own.close());
  for (let i = 0; i < 1_200; i += 1) await kept.begin(`old-${i}`, 1_000 + (i % 7), 'f');
  const left = async (): Promise<number> => {
    const rows = store.db<{ http_idempotency: { id: string } }>().selectFrom('http_idempotency').select('id');
    return (await rows.where('id', 'like', 'old-%').execute()).length;
  };
  clock.advance(24 * 3_600_000 - 1);
  await kept.purge();
  assert.equal(await left(), 1_200);
  clock.advance(1);
  t.mock.timers.tick(60_000);
  await until('they are gone', async () => (await left()) === 0);
});
