import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { EXPORT_COLUMNS, ExportReply, ExportsReply } from '@offhook/contract/exports.ts';
import type { Export } from '@offhook/contract/exports.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { SAME_READ_MS } from '../../commands/audited-reads.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import type { KeyRights } from '../../rights/rights.ts';
import { addOperations } from '../../http/operations.ts';
import type { ConversationRows } from '../../ports/conversations.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { authenticatorWithKeys, hostFixture } from '../../../test/support/host-fixture.ts';
import { until } from '../../../test/support/until.ts';
import { createAudit } from '../audit/service.ts';
import { exportOperations } from './operations.ts';
import { Exports } from './service.ts';
import type { ExportsDeps } from './service.ts';
import type { Tables } from './store.ts';

/** Rows on demand; `hold` keeps the next page back until it resolves. */
function rowsOf(total: number) {
  let hold: Promise<void> = Promise.resolve();
  let failures = 0;
  const source: ConversationRows = {
    begin: () => Promise.resolve({ bound: total, estimated: total }),
    async page(_reader, _filter, { after, limit }) {
      await hold;
      if (failures-- > 0) throw new ServiceError('store_unavailable', 'the database is away');
      const from = after?.id ?? 0;
      const n = Math.min(limit, total - from);
      const lines = Array.from({ length: n }, (_, i) =>
        JSON.stringify(EXPORT_COLUMNS.map(() => `=${from + i}`)),
      );
      return { lines, next: from + n < total ? { started_ms: 0, id: from + n } : null };
    },
  };
  return {
    source,
    holdOn(until: Promise<void>): void {
      hold = until;
    },
    fail(times: number): void {
      failures = times;
    },
  };
}
async function rig(
  t: TestContext,
  more: Partial<ExportsDeps> & { readonly total?: number; keys?: Record<string, Partial<KeyRights>> } = {},
) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  const audit = await createAudit(temp.store, clock, silent);
  const rows = rowsOf(more.total ?? 1_200);
  const folder = path.join(temp.folder, 'exports');
  const ends = new Set<(id: number) => void>();
  const keyEnds = new Set<(id: number) => void>();
  const listen = (all: typeof ends) => (listener: (id: number) => void) => {
    all.add(listener);
    return () => void all.delete(listener);
  };
  const credentials = { onSessionEnded: listen(ends), onKeyEnded: listen(keyEnds) };
  const deps = {
    credentials,
    store: temp.store,
    rows: rows.source,
    audit,
    clock,
    log: silent,
    folder,
    hours: 24,
  };
  const open = (): Promise<Exports> => Exports.open({ ...deps, diskFloor: 0, ...more });
  let exports = await open();
  const signedIn = authenticatorWithKeys(more.keys);
  const levels = new Map<string, 'user' | null>();
  const host = await hostFixture({
    authenticator: {
      async authenticate(token) {
        const caller = await signedIn.authenticate(token);
        const level = levels.get(token);
        return level === null || caller === null ? null : { ...caller, ...(level && { level }) };
      },
    },
  });
  const now: Exports = new Proxy({} as Exports, {
    get: (_, name) => (Reflect.get(exports, name) as () => unknown).bind(exports),
  });
  addOperations(host.app, [exportOperations(now, host.app)]);
  await host.app.ready();
  t.after(async () => {
    await exports.close();
    await host.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const call = async (who: string, method: 'GET' | 'POST' | 'DELETE', url: string, body?: object) => {
    const reply = await host.app.inject({
      method,
      url,
      headers: { authorization: `Bearer ${who.startsWith('key-') ? who : `token-${who}`}` },
      ...(body === undefined ? {} : { payload: body }),
    });
    return { status: reply.statusCode, headers: reply.headers, raw: reply.rawPayload, body: reply };
  };
  const one = async (who: string, id: number): Promise<Export> =>
    ExportReply.parse((await call(who, 'GET', `/api/v1/exports/${id}`)).body.json()).export;
  return {
    clock,
    folder,
    rows,
    store: temp.store,
    call,
    one,
    async make(who: string, body: object = { format: 'csv' }): Promise<Export> {
      const reply = await call(who, 'POST', '/api/v1/exports', body);
      assert.equal(reply.status, 202, reply.body.payload);
      return ExportReply.parse(reply.body.json()).export;
    },
    settled: (who: string, id: number): Promise<Export> =>
      until(`export ${id} is over`, async () => {
        const e = await one(who, id);
        return e.state === 'queued' || e.state === 'running' ? null : e;
      }),
    /** The service ends, and begins again. */
    async restart(): Promise<void> {
      await exports.close();
      exports = await open();
    },
    exports: () => exports,
    /** Sets the level of the token's caller; null ends it. */
    become: (token: string, level: 'user' | null) => void levels.set(token, level),
    endSession: (id: number) => ends.forEach((listener) => listener(id)),
    endKey: (id: number) => keyEnds.forEach((listener) => listener(id)),
    listen: () => host.listen({ host: '127.0.0.1', port: 0 }),
    files: async () => (await readdir(folder).catch(() => [])).toSorted((a, b) => a.localeCompare(b)),
    /** The export was running, and is to be made anew. */
    requeued: (who: string, id: number): Promise<boolean> =>
      until(`export ${id} is queued again`, async () => (await one(who, id)).state === 'queued'),
    lines: async () =>
      (await audit.page({ limit: 50 })).entries.map((l) => [l.action, l.actor, l.object]).toReversed(),
    detail: async (action: string) => (await audit.page({ limit: 1, action })).entries[0]?.detail,
  };
}

test('exports - a request with a version waits for the next change of its own person, and no longer than its limit', async (t) => {
  const r = await rig(t);
  const gate = Promise.withResolvers<void>();
  r.rows.holdOn(gate.promise);
  const list = async (who: string, query = '') =>
    ExportsReply.parse((await r.call(who, 'GET', `/api/v1/exports${query}`)).body.json());
  const before = await list('supervisor');
  const waits = list('supervisor', `?seen=${before.version}`);
  const everything = list('admin', `?seen=${(await list('admin')).version}`);
  await until('both wait', () => r.clock.sleepers >= 3);
  await r.make('agent');
  assert.equal((await everything).exports.length, 1, 'an administrator sees the export of another');
  const own = await r.make('supervisor');
  assert.deepEqual(
    (await waits).exports.map(({ id }) => id),
    [own.id],
  );
  let seen = (await waits).version;
  gate.resolve();
  const states = new Set<string>();
  while (!states.has('done')) {
    const next = await list('supervisor', `?seen=${seen}`);
    assert.notEqual(next.version, seen);
    seen = next.version;
    states.add(next.exports[0]!.state);
  }
  // Its last change can be read before it is counted, but is counted before another export runs.
  await r.settled('user', (await r.make('user')).id);
  seen = (await list('supervisor')).version;
  const still = list('supervisor', `?seen=${seen}&wait=5`);
  await until('it waits', () => r.clock.sleepers >= 2);
  await r.clock.advance(5_000);
  assert.equal((await still).version, seen, 'nothing changed');
  const open = list('supervisor', `?seen=${seen}`);
  await until('it waits', () => r.clock.sleepers >= 2);
  await r.restart();
  assert.equal((await open).version, seen, 'answered at the end of the service');
  assert.notEqual((await list('supervisor', `?seen=${seen}`)).version, seen, 'and at once after a restart');
});

test('exports - a wait ends with 401 when its session or key ends, and shows what its caller may see by then', async (t) => {
  const r = await rig(t, { keys: { crm: { scopes: ['history:read'], id: 7 } } });
  const waits = async (who: string) => {
    const { version } = ExportsReply.parse((await r.call(who, 'GET', '/api/v1/exports')).body.json());
    return r.call(who, 'GET', `/api/v1/exports?seen=${version}`);
  };
  const [admin, supervisor, key] = [waits('admin'), waits('supervisor'), waits('key-crm')];
  // Beside them the sweep sleeps.
  await until('all wait', () => r.clock.sleepers === 4);
  r.endSession(2);
  assert.equal((await supervisor).status, 401);
  r.endKey(7);
  assert.equal((await key).status, 401);
  r.become('token-admin', 'user');
  await r.make('agent');
  const narrowed = ExportsReply.parse((await admin).body.json());
  assert.deepEqual(narrowed.exports, [], 'an administrator no more sees the export of nobody else');
  await until('nobody waits', () => r.clock.sleepers === 1);
  const lapses = waits('user');
  await until('it waits', () => r.clock.sleepers === 2);
  r.become('token-user', null);
  await r.clock.advance(25_000);
  assert.equal((await lapses).status, 401);
});

test('exports - twenty requests of one person wait, one more is 429 and ends none, also on one connection', async (t) => {
  const r = await rig(t);
  const { port } = await r.listen();
  const { version } = ExportsReply.parse((await r.call('admin', 'GET', '/api/v1/exports')).body.json());
  const socket = net.connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  const ask = `GET /api/v1/exports?seen=${version} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-admin\r\n\r\n`;
  socket.write(ask.repeat(60));
  await until('twenty wait', () => r.clock.sleepers >= 21);
  const beyond = await r.call('admin', 'GET', `/api/v1/exports?seen=${version}`);
  assert.deepEqual([beyond.status, beyond.headers['retry-after']], [429, '10']);
  assert.equal(r.clock.sleepers, 21, 'the sweep and twenty requests');
  assert.equal((await r.call('admin', 'GET', '/api/v1/exports')).status, 200, 'without a wait');
  socket.destroy();
  await until('they are gone', () => r.clock.sleepers === 1);
});

test('exports - a file is made in the background, given out whole with its hash, and both are in the audit trail', async (t) => {
  const r = await rig(t);
  const asked = await r.make('supervisor', {
    format: 'csv',
    filter: { direction: 'in', number: '+4930123456' },
    columns: ['id', 'caller_name'],
  });
  assert.deepEqual([asked.by, asked.sha256, asked.rows.estimated], ['1002', null, null]);
  const done = await r.settled('supervisor', asked.id);
  assert.deepEqual([done.state, done.rows, done.error], ['done', { done: 1_200, estimated: 1_200 }, null]);
  const file = await r.call('supervisor', 'GET', `/api/v1/exports/${asked.id}/file`);
  assert.equal(file.status, 200);
  const sha256 = createHash('sha256').update(file.raw).digest('hex');
  assert.deepEqual([done.sha256, done.bytes], [sha256, file.raw.length]);
  assert.equal(file.headers['content-type'], 'text/csv; charset=utf-8; header=present');
  assert.equal(file.headers['content-disposition'], 'attachment; filename="conversations-2026-11-21-1.csv"');
  assert.equal(file.headers['repr-digest'], `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`);
  assert.match(file.raw.toString(), /^\uFEFFid,caller_name\r\n"'=0","'=0"\r\n/);
  assert.equal(file.raw.toString().trimEnd().split('\r\n').length, 1_201);
  assert.equal((await stat(path.join(r.folder, '1.csv'))).mode & 0o777, 0o600);
  assert.deepEqual(await r.lines(), [
    ['exports.create', '1002', null],
    ['exports.done', '1002', '1'],
    ['exports.download', '1002', '1'],
  ]);
  assert.deepEqual(await r.detail('exports.download'), {
    format: 'csv',
    filter: '{"number":"+4930123456","direction":"in"}',
    rows: 1_200,
    made_by: '1002',
  });
});

test('exports - repeated downloads of a file within five minutes have one entry for each session', async (t) => {
  const r = await rig(t);
  const { id } = await r.make('supervisor');
  await r.settled('supervisor', id);
  const download = async (who: string) =>
    assert.equal((await r.call(who, 'GET', `/api/v1/exports/${id}/file`)).status, 200);
  const downloads = async () => (await r.lines()).filter(([action]) => action === 'exports.download');
  await Promise.all([download('supervisor'), download('supervisor'), download('supervisor')]);
  await download('supervisor');
  assert.equal((await downloads()).length, 1);
  await download('admin');
  assert.equal((await downloads()).length, 2);
  await r.clock.advance(SAME_READ_MS + 1);
  await download('supervisor');
  assert.equal((await downloads()).length, 3);
});

test("exports - another person's export is not found; an administrator sees all; a caller with fewer rights gets no file", async (t) => {
  const keys = {
    wide: { scopes: ['history:read'] as const, id: 2 },
    mute: { scopes: ['calls:read'] as const },
  };
  const r = await rig(t, { keys });
  const { id } = await r.make('supervisor');
  await r.settled('supervisor', id);
  for (const [method, url] of [
    ['GET', `/api/v1/exports/${id}`],
    ['GET', `/api/v1/exports/${id}/file`],
    ['DELETE', `/api/v1/exports/${id}`],
  ] as const) {
    assert.equal((await r.call('agent', method, url)).status, 404, `${method} ${url}`);
  }
  assert.deepEqual(
    ExportsReply.parse((await r.call('agent', 'GET', '/api/v1/exports')).body.json()).exports,
    [],
  );
  assert.equal(
    ExportsReply.parse((await r.call('admin', 'GET', '/api/v1/exports')).body.json()).exports.length,
    1,
  );
  assert.equal((await r.call('key-mute', 'POST', '/api/v1/exports', { format: 'csv' })).status, 403);
  const own = await r.make('key-wide');
  await r.settled('key-wide', own.id);
  Object.assign(keys.wide, { extensions: ['1001'] });
  const refused = await r.call('key-wide', 'GET', `/api/v1/exports/${own.id}/file`);
  assert.deepEqual([refused.status, (refused.body.json() as { code: string }).code], [403, 'forbidden']);
});

test('exports - an invalid request is refused with the name of the field', async (t) => {
  const r = await rig(t);
  for (const [body, field] of [
    [{ format: 'pdf' }, /format/],
    [{ format: 'csv', columns: ['id', 'id'] }, /columns/],
    [{ format: 'csv', columns: ['password'] }, /columns/],
    [{ format: 'csv', columns: [] }, /columns/],
    [{ format: 'csv', filter: { person: "1' or 1=1" } }, /person/],
    [{ format: 'csv', filter: { colour: 'red' } }, /filter/],
    [{ format: 'csv', filter: { from: 'yesterday' } }, /from/],
    [{ format: 'csv', sheet: 1 }, /sheet/],
  ] as const) {
    const { status, body: reply } = await r.call('admin', 'POST', '/api/v1/exports', body);
    const problem = reply.json() as { code: string; detail: string };
    assert.deepEqual([status, problem.code], [400, 'invalid_request'], JSON.stringify(body));
    assert.match(problem.detail, field);
  }
  assert.equal((await r.call('admin', 'GET', '/api/v1/exports/0')).status, 400);
  assert.equal((await r.call('admin', 'GET', '/api/v1/exports/99')).status, 404);
  assert.deepEqual(await r.lines(), []);
});

test('exports - three of one person wait or run, the fourth is refused; a cancelled one leaves no file', async (t) => {
  const r = await rig(t);
  const gate = Promise.withResolvers<void>();
  r.rows.holdOn(gate.promise);
  const made = [await r.make('user'), await r.make('user'), await r.make('user', { format: 'xlsx' })];
  const fourth = await r.call('user', 'POST', '/api/v1/exports', { format: 'csv' });
  assert.equal((fourth.body.json() as { code: string }).code, 'limit_reached');
  assert.equal((await r.make('agent')).state, 'queued', 'another person has room');
  await until('the first one runs', async () => (await r.one('user', made[0]!.id)).state === 'running');
  const early = await r.call('user', 'GET', `/api/v1/exports/${made[0]!.id}/file`);
  assert.equal((early.body.json() as { code: string }).code, 'file_not_ready');
  const removing = r.call('user', 'DELETE', `/api/v1/exports/${made[0]!.id}`);
  await until('it is cancelled', async () => (await r.one('user', made[0]!.id)).state === 'cancelled');
  gate.resolve();
  assert.equal((await removing).status, 200);
  for (const { id } of made.slice(1)) assert.equal((await r.settled('user', id)).state, 'done');
  await r.settled('agent', 4);
  assert.deepEqual(await r.files(), ['2.csv', '3.xlsx', '4.csv']);
  assert.equal((await r.one('user', made[0]!.id)).state, 'cancelled');
});

test('exports - the limits of one person hold for requests that come together', async (t) => {
  const r = await rig(t);
  const gate = Promise.withResolvers<void>();
  r.rows.holdOn(gate.promise);
  const asked = Array.from({ length: 10 }, () =>
    r.call('user', 'POST', '/api/v1/exports', { format: 'csv' }),
  );
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 202).length, 3, statuses.join(' '));
  gate.resolve();
});
test('exports - one that runs when the service ends is made anew and whole at the next start', async (t) => {
  const r = await rig(t);
  const gate = Promise.withResolvers<void>();
  const { id } = await r.make('supervisor');
  await r.settled('supervisor', id);
  r.rows.holdOn(gate.promise);
  const second = await r.make('supervisor');
  await until('it runs', async () => (await r.one('supervisor', second.id)).state === 'running');
  const ending = r.restart();
  gate.resolve();
  await ending;
  const done = await r.settled('supervisor', second.id);
  assert.deepEqual([done.state, done.rows.done], ['done', 1_200]);
  assert.deepEqual(await r.files(), [`${id}.csv`, `${second.id}.csv`]);
  const first = await r.one('supervisor', id);
  assert.equal(first.sha256, done.sha256, 'the same rows are the same bytes');
});

test('exports - one whose end could not be stored is made anew without a restart', async (t) => {
  const r = await rig(t);
  const { id } = await r.make('supervisor');
  await r.settled('supervisor', id);
  await r.store.db<Tables>().updateTable('exports').set({ state: 'running' }).execute();
  await until('it is made anew', async () => {
    await r.clock.advance(60_000);
    return (await r.one('supervisor', id)).state === 'done';
  });
});

test('exports - a file expires after its hours, with an error of its own', async (t) => {
  const r = await rig(t, { hours: 2 });
  const { id } = await r.make('supervisor');
  const done = await r.settled('supervisor', id);
  assert.equal(done.expires_at, '2026-11-21T11:00:00.000Z');
  await r.clock.advance(2 * 3_600_000);
  await until('it expired', async () => {
    await r.clock.advance(60_000);
    return (await r.one('supervisor', id)).state === 'expired';
  });
  const gone = await r.call('supervisor', 'GET', `/api/v1/exports/${id}/file`);
  assert.deepEqual([gone.status, (gone.body.json() as { code: string }).code], [410, 'file_gone']);
  await until('the file is deleted', async () => (await r.files()).length === 0);
});

test('exports - without room on the disk it fails with a reason and leaves nothing', async (t) => {
  const r = await rig(t, { diskFloor: Number.MAX_SAFE_INTEGER });
  const { id } = await r.make('supervisor');
  const failed = await r.settled('supervisor', id);
  assert.deepEqual([failed.state, failed.error], ['failed', 'the disk does not have enough free space']);
  assert.deepEqual(await r.files(), []);
});

test('exports - a database that is away for a while is waited for', async (t) => {
  const r = await rig(t);
  r.rows.fail(3);
  const { id } = await r.make('supervisor');
  for (let i = 0; i < 3; i += 1) {
    await until('it waits beside the sweep', () => r.clock.sleepers >= 2);
    await r.clock.advance(2_000);
  }
  const done = await r.settled('supervisor', id);
  assert.deepEqual([done.state, done.rows.done], ['done', 1_200]);
});

test('exports - after an erasure every file is gone, and running exports restart', async (t) => {
  const r = await rig(t);
  const { id } = await r.make('supervisor');
  await r.settled('supervisor', id);
  const gate = Promise.withResolvers<void>();
  r.rows.holdOn(gate.promise);
  const running = await r.make('supervisor');
  await until('it runs', async () => (await r.one('supervisor', running.id)).state === 'running');
  const expired = r.exports().expireAll();
  await r.requeued('supervisor', running.id);
  gate.resolve();
  assert.equal(await expired, 1);
  assert.equal((await r.one('supervisor', id)).state, 'expired');
  assert.equal((await r.settled('supervisor', running.id)).rows.done, 1_200);
  assert.deepEqual(await r.files(), [`${running.id}.csv`]);
});

test('exports - one that ends while all files are deleted for an erasure is made anew', async (t) => {
  const gate = Promise.withResolvers<void>();
  let made = 0;
  const audit: ExportsDeps['audit'] = {
    async record({ action }) {
      if (action === 'exports.done' && (made += 1) === 2) await gate.promise;
    },
  };
  const r = await rig(t, { audit });
  const { id } = await r.make('supervisor');
  await r.settled('supervisor', id);
  const ending = await r.make('supervisor');
  await until('it is nearly over', () => made === 2 || null);
  const expired = r.exports().expireAll();
  await r.requeued('supervisor', ending.id);
  gate.resolve();
  await expired;
  await r.settled('supervisor', ending.id);
  assert.equal(made, 3, 'the file from before the erasure is not the one that is given out');
  assert.deepEqual(await r.files(), [`${ending.id}.csv`]);
});
