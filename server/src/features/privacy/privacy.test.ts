import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import path from 'node:path';
import type { AuditRow } from '@offhook/contract/audit.ts';
import { ErasureProof, ErasureReply, PrivacyExportReply } from '@offhook/contract/privacy.ts';
import type { Erasure } from '@offhook/contract/privacy.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { numberSubject } from '../../numbers/subject.ts';
import { addOperations } from '../../http/operations.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import { directoryFixture } from '../../../test/support/directory-fixture.ts';
import { authenticatorWithKeys, hostFixture } from '../../../test/support/host-fixture.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { until } from '../../../test/support/until.ts';
import { createAudit } from '../audit/service.ts';
import { hashOf } from './ledger.ts';
import { privacyOperations } from './operations.ts';
import { remainsOf } from './remains.ts';
import { Privacy } from './service.ts';
import type { Tables } from './store.ts';

const NUMBER = '030 / 901820';

/** A table of texts; `gate` delays an erasure before its last row. */
function tableOf(texts: string[]): PersonalData & { gate: Promise<void>; readonly texts: string[] } {
  const table = {
    name: 'table',
    texts,
    gate: Promise.resolve(),
    count: (subject: Parameters<PersonalData['count']>[0]) => {
      const n = texts.filter((text) => subject.isIn(text)).length;
      return Promise.resolve(n === 0 ? {} : { table: n });
    },
    async erase(subject: Parameters<PersonalData['erase']>[0], placeholder: string, signal: AbortSignal) {
      let n = 0;
      for (const [i, text] of texts.entries()) {
        if (i === texts.length - 1) await table.gate;
        signal.throwIfAborted();
        if (!subject.isIn(text)) continue;
        texts[i] = subject.without(text, placeholder);
        n += 1;
      }
      return n === 0 ? {} : { table: n };
    },
    async *collect(subject: Parameters<PersonalData['count']>[0]) {
      for (const text of texts) if (subject.isIn(text)) yield { kind: 'text', value: text };
    },
  };
  return table;
}
async function rig(
  t: TestContext,
  texts = ['+4930901820 called', 'nothing', 'asked 030901820 and 030901821'],
) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  const audit = await createAudit(temp.store, clock, silent);
  const table = tableOf(texts);
  let forgotten = 0;
  const traces = { gone: true };
  const unreached: string[] = [];
  const recordings: string[] = [];
  const lacking = { audio: 0 };
  const open = (): Promise<Privacy> =>
    Privacy.open({
      store: temp.store,
      holders: [table, audit.data],
      directory: directoryFixture(),
      audit,
      clock,
      log: silent,
      folder: path.join(temp.folder, 'privacy'),
      diskFloor: 0,
      hours: 1,
      country: 'DE',
      forget: () => Promise.resolve(void (forgotten += 1)),
      forgetRows: () => Promise.resolve(traces.gone),
      unreached: () => unreached,
      lackingAudio: () => lacking.audio,
      recordingNodes: () => Promise.resolve(recordings),
      remains: remainsOf(7),
    });
  let privacy = await open();
  const host = await hostFixture({
    authenticator: authenticatorWithKeys({ all: { scopes: ['history:read', 'config:read'] } }),
  });
  const now: Privacy = new Proxy({} as Privacy, {
    get: (_, name) => (Reflect.get(privacy, name) as () => unknown).bind(privacy),
  });
  addOperations(host.app, [privacyOperations(now)]);
  await host.app.ready();
  t.after(async () => {
    await privacy.close();
    await host.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const call = async (who: string, method: 'GET' | 'POST', url: string, body?: object) => {
    const authorization = `Bearer ${who.startsWith('key-') ? who : `token-${who}`}`;
    return await host.app.inject({
      method,
      url,
      headers: { authorization },
      ...(body === undefined ? {} : { payload: body }),
    });
  };
  const proof = async (id: number) =>
    ErasureProof.parse((await call('admin', 'GET', `/api/v1/privacy/erasures/${id}`)).json());
  return {
    store: temp.store,
    audit,
    table,
    call,
    proof,
    forgotten: () => forgotten,
    traces,
    unreached,
    recordings,
    lacking,
    async erase(body: object): Promise<Erasure> {
      const reply = await call('admin', 'POST', '/api/v1/privacy/erasures', body);
      assert.equal(reply.statusCode, 202, reply.payload);
      return ErasureReply.parse(reply.json()).erasure;
    },
    done: (id: number): Promise<Erasure> =>
      until(`erasure ${id} is over`, async () => {
        const { erasure } = await proof(id);
        return erasure.state === 'done' || erasure.state === 'failed' ? erasure : null;
      }),
    async restart(): Promise<void> {
      await privacy.close();
      privacy = await open();
    },
  };
}

test('privacy - an erasure reports the former places, that none is left, the remains, and not the number', async (t) => {
  const r = await rig(t);
  await r.audit.record({
    action: 'calls.originate',
    actor: '1001',
    object: '030901820',
    outcome: 'ok',
    ip: null,
  });
  const { id } = await r.erase({ number: NUMBER, reason: 'Request 17' });
  const erasure = await r.done(id);
  assert.deepEqual(
    [erasure.state, erasure.before, erasure.erased, erasure.after, erasure.verified],
    ['done', { table: 2, audit: 1 }, { table: 2, audit: 1 }, {}, true],
  );
  assert.deepEqual(r.table.texts, ['erased-1 called', 'nothing', 'asked erased-1 and 030901821']);
  assert.equal(r.forgotten(), 1);
  assert.deepEqual(
    erasure.remains.map(({ where, until: end }) => [where, end]),
    [
      ['journal', '2026-11-28T09:00:00.000Z'],
      ['deliveries that a webhook parks later', '2026-12-28T09:00:00.000Z'],
      ['replies kept for Idempotency-Key', '2026-11-22T09:00:00.000Z'],
      ["the engine's own call records", null],
      ['directory, call forwards, trunks and routes', null],
      ['logs, backups, and systems that were sent events or files', null],
    ],
  );
  assert.equal(erasure.subject.hash, await hashOf(numberSubject('+4930901820', '')!, erasure.subject.salt));
  const jobs = await r.store.db<Tables>().selectFrom('privacy_jobs').selectAll().execute();
  const lines = await r.audit.page({ limit: 50 });
  assert.ok(!/90.?18.?20/.test(JSON.stringify([jobs, lines])), 'the number is kept nowhere');
  assert.equal((await r.proof(id)).ledger_intact, true);
});

test('privacy - a proof reports where the database keeps former bytes', async (t) => {
  const r = await rig(t);
  r.traces.gone = false;
  const { id } = await r.erase({ number: NUMBER, reason: 'Request' });
  const { state, remains } = await r.done(id);
  assert.deepEqual([state, remains[4]?.where], ['done', 'the files and the log of the database']);
});

test('privacy - a proof names the nodes on whose machines recordings stay', async (t) => {
  const r = await rig(t);
  r.recordings.push('b', 'x');
  const { id } = await r.erase({ number: NUMBER, reason: 'Request' });
  const { remains } = await r.done(id);
  assert.deepEqual(
    remains.map(({ where }) => where).filter((where) => where.includes('recordings')),
    ['files of recordings at the nodes b, x'],
  );
});

test('privacy - an erasure and an export name the engines whose voicemail was not searched', async (t) => {
  const r = await rig(t);
  r.unreached.push('b', 'c');
  const missing = {
    where: 'voicemail at the engines of the nodes b, c',
    why: 'The node was away, or its files could not be read: see its log. A home node is searched while it runs, a standby only once it leads: repeat the request then.',
  };
  const { id } = await r.erase({ number: NUMBER, reason: 'Request' });
  const { remains } = await r.done(id);
  assert.deepEqual(
    remains.filter(({ where }) => where.startsWith('voicemail')),
    [{ ...missing, until: null }],
  );
  const url = '/api/v1/privacy/exports';
  const exported = async (): Promise<{ missing: unknown; file: unknown }> => {
    const { export: asked } = PrivacyExportReply.parse(
      (await r.call('admin', 'POST', url, { number: NUMBER })).json(),
    );
    assert.deepEqual(asked.missing, []);
    return await until('it is made', async () => {
      const { export: now } = PrivacyExportReply.parse(
        (await r.call('admin', 'GET', `${url}/${asked.id}`)).json(),
      );
      if (now.state !== 'done') return null;
      const file = (await r.call('admin', 'GET', `${url}/${asked.id}/file`)).json() as { missing: unknown };
      return { missing: now.missing, file: file.missing };
    });
  };
  assert.deepEqual(await exported(), { missing: [missing], file: [missing] });
  r.unreached.length = 0;
  r.lacking.audio = 2;
  const mute = {
    where: 'audio of 2 voicemail messages',
    why: 'The owner moved or deleted it meanwhile, the engine keeps its folder locked, or its file cannot be read: request the export again.',
  };
  assert.deepEqual(await exported(), { missing: [mute], file: [mute] });
  r.lacking.audio = 0;
  assert.deepEqual(await exported(), { missing: [], file: [] });
});

test('privacy - the ledger detects a changed entry, and a removed one', async (t) => {
  const r = await rig(t);
  const db = r.store.db<Tables>();
  const ids: number[] = [];
  for (const number of [NUMBER, '030901821', '030901822']) {
    const { id } = await r.erase({ number, reason: 'Request' });
    await r.done(id);
    ids.push(id);
  }
  const [first, second, third] = await Promise.all(ids.map(async (id) => (await r.proof(id)).erasure));
  assert.deepEqual([first!.place, second!.place, third!.place], [1, 2, 3]);
  assert.deepEqual([second!.previous_hash, third!.previous_hash], [first!.hash, second!.hash]);
  await db.updateTable('privacy_jobs').set({ reason: 'Another' }).where('id', '=', ids[0]!).execute();
  assert.equal((await r.proof(ids[2]!)).ledger_intact, false);
  await db.updateTable('privacy_jobs').set({ reason: 'Request' }).where('id', '=', ids[0]!).execute();
  assert.equal((await r.proof(ids[2]!)).ledger_intact, true);
  await db.deleteFrom('privacy_jobs').where('id', '=', ids[1]!).execute();
  assert.equal((await r.proof(ids[2]!)).ledger_intact, false);
});

test('privacy - an interrupted erasure continues at the next start and counts from its beginning', async (t) => {
  const r = await rig(t);
  const gate = Promise.withResolvers<void>();
  r.table.gate = gate.promise;
  const { id } = await r.erase({ number: NUMBER, reason: 'Request' });
  await until('half of it is erased', () => r.table.texts[0] === 'erased-1 called');
  const restarted = r.restart();
  gate.resolve();
  await restarted;
  const erasure = await r.done(id);
  assert.deepEqual([erasure.before, erasure.after, erasure.verified], [{ table: 2 }, {}, true]);
  assert.deepEqual(r.table.texts, ['erased-1 called', 'nothing', 'asked erased-1 and 030901821']);
});

test('privacy - all data of a person as a file, deleted after its time and by the next erasure', async (t) => {
  const r = await rig(t);
  const url = '/api/v1/privacy/exports';
  const { export: asked } = PrivacyExportReply.parse(
    (await r.call('admin', 'POST', url, { number: NUMBER })).json(),
  );
  const made = await until('it is made', async () => {
    const { export: now } = PrivacyExportReply.parse(
      (await r.call('admin', 'GET', `${url}/${asked.id}`)).json(),
    );
    return now.state === 'done' ? now : null;
  });
  assert.equal(made.items, 2);
  const file = await r.call('admin', 'GET', `${url}/${asked.id}/file`);
  assert.equal(file.headers['content-disposition'], 'attachment; filename="about-1.json"');
  assert.deepEqual((file.json() as { items: unknown[] }).items, [
    { kind: 'text', value: '+4930901820 called' },
    { kind: 'text', value: 'asked 030901820 and 030901821' },
  ]);
  const { id } = await r.erase({ number: NUMBER, reason: 'Request' });
  await r.done(id);
  const gone = await r.call('admin', 'GET', `${url}/${asked.id}/file`);
  assert.equal((gone.json() as { code: string }).code, 'file_gone');
  const actions = (await r.audit.page({ limit: 50 })).entries.map((line) => line.action);
  assert.deepEqual(actions.toReversed(), ['privacy.export', 'privacy.download', 'privacy.erasure']);
});

test('privacy - the file about a person includes actions under its user name', async (t) => {
  const r = await rig(t);
  const line = { action: 'recordings.play', object: 'r1', outcome: 'ok', ip: null } as const;
  for (const actor of ['bea', '1003', 'cem']) await r.audit.record({ ...line, actor });
  const url = '/api/v1/privacy/exports';
  const { export: asked } = PrivacyExportReply.parse(
    (await r.call('admin', 'POST', url, { extension: '1003' })).json(),
  );
  const file = await until('it is made', async () => {
    const reply = await r.call('admin', 'GET', `${url}/${asked.id}/file`);
    return reply.statusCode === 200 ? (reply.json() as { items: { kind: string; value: AuditRow }[] }) : null;
  });
  const plays = file.items.filter(({ value }) => value.action === 'recordings.play');
  assert.deepEqual(
    plays.map(({ value }) => value.actor),
    ['bea', '1003'],
  );
});

test('privacy - only for administrators in person; an invalid request is refused with the name of the field', async (t) => {
  const r = await rig(t);
  const url = '/api/v1/privacy/erasures';
  for (const who of ['user', 'agent', 'supervisor', 'key-all']) {
    assert.equal(
      (await r.call(who, 'POST', url, { number: NUMBER, reason: 'Request' })).statusCode,
      403,
      who,
    );
    assert.equal((await r.call(who, 'GET', url)).statusCode, 403, who);
  }
  for (const [body, field] of [
    [{ reason: 'Request' }, /number/],
    [{ number: NUMBER, extension: '1001', reason: 'Request' }, /number/],
    [{ number: "' or 1=1; --", reason: 'Request' }, /number/],
    [{ number: '()/', reason: 'Request' }, /number/],
    [{ extension: '%', reason: 'Request' }, /extension/],
    [{ extension: '1', reason: 'Request' }, /extension/],
    [{ number: NUMBER }, /reason/],
    [{ number: NUMBER, reason: 'call +49 30 901820' }, /reason/],
    [{ number: NUMBER, reason: 'Request', name: 'Anna' }, /name/],
  ] as const) {
    const reply = await r.call('admin', 'POST', url, body);
    const problem = reply.json() as { code: string; detail: string };
    assert.deepEqual([reply.statusCode, problem.code], [400, 'invalid_request'], JSON.stringify(body));
    assert.match(problem.detail, field);
  }
  assert.deepEqual((await r.audit.page({ limit: 50 })).entries, []);
  assert.equal(r.table.texts[0], '+4930901820 called');
});
