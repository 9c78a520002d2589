import assert from 'node:assert/strict';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { PathCheckReply } from '@offhook/contract/path-check.ts';
import type { PathFinding, PathWay } from '@offhook/contract/path-check.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { authenticatorWithKeys, hostFixture, jsonCaller } from '../../../test/support/host-fixture.ts';
import { until } from '../../../test/support/until.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { ServiceError } from '../../core/errors.ts';
import { addOperations } from '../../http/operations.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { PathProbe } from '../../ports/paths.ts';
import type { SipCredentials } from '../../ports/sip.ts';
import { pathCheckOperations } from './operations.ts';
import { browserPassword, withCheckPhone } from './phone.ts';
import { PathChecks } from './service.ts';

const good = (way: PathWay): PathFinding => ({
  way,
  ok: true,
  detail: 'heard itself',
  fault: null,
  values: {},
});
const bad = (way: PathWay): PathFinding => ({
  way,
  ok: false,
  detail: `${way} is blocked`,
  fault: 'no_answer',
  values: { address: '203.0.113.7:5060' },
});
const SECRET = 'secret-of-the-doctor';

async function rig(t: { after(work: () => Promise<void>): void }) {
  const { store, ...temp } = await temporaryStore();
  const folder = await mkdtemp(path.join(os.tmpdir(), 'path-check-'));
  const clock = createVirtualClock();
  const events: DomainEvent[] = [];
  const rows: AuditEntry[] = [];
  const engine = { up: true };
  /** Each check waits for its findings. */
  const runs: { found: (finding: PathFinding) => void; end: (error?: Error) => void; signal: AbortSignal }[] =
    [];
  const probe: PathProbe = {
    account: 'doctor-web',
    number: 'echo',
    try: ({ found, signal }) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return resolve();
        signal.addEventListener('abort', () => resolve());
        runs.push({ found, signal, end: (error) => (error === undefined ? resolve() : reject(error)) });
      }),
    pass: async ({ host, web }) => {
      if (host === null) throw new ServiceError('invalid_request', 'host: name or address of the site');
      return {
        pass: { host, web: web(host, false), password: SECRET },
        hosts: [host, '2001:db8::2'],
        expires_at: 86_400_000,
      };
    },
  };
  const file = path.join(folder, 'doctor.json');
  const open = () =>
    PathChecks.open({
      store,
      clock,
      log: silent,
      audit: { record: async (entry) => void rows.push(entry) },
      publish: (all) => void events.push(...all),
      probe,
      up: () => engine.up,
      file,
    });
  const checks = await open();
  const host = await hostFixture({
    authenticator: authenticatorWithKeys({ watch: { scopes: ['system:read'] } }),
  });
  addOperations(host.app, [
    pathCheckOperations({
      checks,
      probe,
      secret: SECRET,
      now: () => clock.now(),
      web: (name) => `https://${name}`,
      relay: () => null,
    }),
  ]);
  await host.app.ready();
  t.after(async () => {
    await checks.close();
    await host.close();
    await temp[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const ask = jsonCaller(host, '/api/v1/path-check');
  const post = (url: string, body?: object, token = 'token-admin') => ask('POST', url, body, token);
  const state = async () => PathCheckReply.parse((await ask('GET', '', undefined, 'token-admin')).json);
  /** Runs a check that finds this. */
  async function check(...findings: readonly PathFinding[]): Promise<void> {
    const before = runs.length;
    assert.equal((await post('')).status, 202);
    const run = await until('the check', () => runs[before]);
    for (const finding of findings) run.found(finding);
    run.end();
    await until('its end', async () => (await state()).running === null);
  }
  return { checks, clock, events, rows, engine, runs, file, open, ask, post, state, check };
}
const namesOf = (events: readonly DomainEvent[]) => events.map(({ type, subject }) => `${type} ${subject}`);

test('path check - only administrators start it and create passes; a key may read the results', async (t) => {
  const { ask, post, runs } = await rig(t);
  for (const token of ['token-user', 'token-agent', 'token-supervisor']) {
    assert.equal((await ask('GET', '', undefined, token)).status, 403, token);
    for (const url of ['', '/pass', '/phone', '/browser'])
      assert.equal((await post(url, url === '' ? undefined : {}, token)).status, 403, `${token} ${url}`);
  }
  assert.equal((await ask('GET', '', undefined, 'key-watch')).status, 200);
  for (const url of ['', '/pass', '/phone'])
    assert.equal((await post(url, url === '/pass' ? {} : undefined, 'key-watch')).status, 403, url);
  assert.equal(runs.length, 0);
});

test('path check - one at a time with its progress; none without an engine; an engine that goes away ends it', async (t) => {
  const { post, state, runs, engine, rows } = await rig(t);
  const first = await post('');
  assert.equal(first.status, 202);
  const run = await until('the check', () => runs[0]);
  run.found(good('udp'));
  assert.deepEqual((await state()).running?.done, ['udp']);
  const second = await post('');
  assert.deepEqual([second.status, second.json.code], [409, 'check_running']);
  run.end(new ServiceError('engine_unavailable', 'the engine closed the connection'));
  const ended = await until('its end', async () => {
    const now = await state();
    return now.running === null ? now : null;
  });
  assert.deepEqual([ended.failed, ended.ways], ['the engine closed the connection', []]);
  engine.up = false;
  const away = await post('');
  assert.deepEqual([away.status, away.json.code], [503, 'engine_unavailable']);
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['path_check.start'],
  );
});

test('path check - a way that fails and works again is an event once each; results outlive the service', async (t) => {
  const { check, events, state, clock, open, checks } = await rig(t);
  await check(good('udp'), good('turn'));
  assert.deepEqual(namesOf(events.splice(0)), ['path_check.completed paths']);
  assert.match((await checks.finding()).detail, /^all ways work \(udp, turn\), /);
  await clock.advance(1_000);
  await check(good('udp'), bad('turn'));
  assert.deepEqual(namesOf(events), ['path_check.way_failed paths/turn', 'path_check.completed paths']);
  const [, completed] = events.splice(0);
  assert.deepEqual(completed?.data, {
    ways: ['udp', 'turn'],
    failed: [{ way: 'turn', detail: 'turn is blocked', fault: 'no_answer' }],
  });
  const since = (await state()).ways.find(({ way }) => way === 'turn')!.since;
  await clock.advance(1_000);
  await check(good('udp'), bad('turn'));
  assert.deepEqual(namesOf(events.splice(0)), ['path_check.completed paths']);
  const now = (await state()).ways.find(({ way }) => way === 'turn')!;
  assert.equal(now.since, since);
  assert.ok(now.checked_at > since);
  const next = await open();
  assert.deepEqual((await next.state()).ways, (await state()).ways);
  assert.match((await next.finding()).detail, /^turn: turn is blocked, /);
  await next.close();
  // The site has no TURN server any more.
  await check(good('udp'));
  assert.deepEqual(
    (await state()).ways.map(({ way }) => way),
    ['udp'],
  );
  await check(good('udp'), good('turn'));
  assert.deepEqual(namesOf(events.splice(0)), ['path_check.completed paths', 'path_check.completed paths']);
});

test('path check - the service checks by itself every hour, while the engine is there', async (t) => {
  const { checks, clock, runs, engine } = await rig(t);
  checks.begin(['http://127.0.0.1:8080']);
  await clock.advance(3_599_000);
  assert.equal(runs.length, 0);
  await clock.advance(1_000);
  await until('the check', () => runs.length === 1);
  runs[0]!.end();
  engine.up = false;
  await clock.advance(3_600_000);
  assert.equal(runs.length, 1);
});

test('path check - what a browser found is kept beside, bounded, and is no part of the health check', async (t) => {
  const { post, state, check, checks, events, rows } = await rig(t);
  await check(good('udp'));
  events.length = 0;
  const finding = {
    way: 'browser',
    ok: false,
    detail: 'no media',
    fault: 'no_media',
    values: { media: 'x' },
  };
  assert.equal((await post('/browser', { findings: [finding] })).status, 200);
  assert.deepEqual(namesOf(events), ['path_check.way_failed paths/browser', 'path_check.completed paths']);
  assert.deepEqual(
    (await state()).ways.map(({ way, ok }) => [way, ok]),
    [
      ['udp', true],
      ['browser', false],
    ],
  );
  assert.equal((await checks.finding()).ok, true);
  assert.deepEqual(rows.at(-1)?.detail, { failed: 'browser' });
  for (const wrong of [
    {},
    { findings: [] },
    { findings: [{ ...finding, way: 'udp' }] },
    { findings: [finding, finding, finding] },
    { findings: [{ ...finding, detail: 'x'.repeat(1_001) }] },
    { findings: [{ ...finding, fault: 'mischief' }] },
    { findings: [{ ...finding, values: { 'a b': 'x' } }] },
    { findings: [{ ...finding, values: { a: 'x'.repeat(301) } }] },
    { findings: [finding], more: 1 },
  ])
    assert.equal((await post('/browser', wrong)).status, 400, JSON.stringify(wrong).slice(0, 80));
});

test('path check - results of the command are taken in once; a file that is none is removed', async (t) => {
  const { state, file, events } = await rig(t);
  await writeFile(file, JSON.stringify({ at: 1_000, ways: [good('udp'), bad('web')] }));
  await Promise.all([state(), state()]);
  assert.equal((await state()).ways.length, 2);
  assert.deepEqual(namesOf(events), ['path_check.way_failed paths/web', 'path_check.completed paths']);
  await assert.rejects(access(file));
  await writeFile(file, '{"at":2000,"ways":[{"way":"elsewhere"}]}');
  assert.equal((await state()).ways.length, 2);
  await assert.rejects(access(file));
});

test('path check - a pass has its line in the trail without the password; a wrong host is refused', async (t) => {
  const { post, rows } = await rig(t);
  for (const host of ['', 'a b', '-x', 'x'.repeat(254), '<img>'])
    assert.equal((await post('/pass', { host })).status, 400, host);
  assert.equal((await post('/pass', {})).status, 400);
  const { status, json } = await post('/pass', { host: 'pbx.example.com' });
  assert.equal(status, 200);
  assert.deepEqual((json as { pass?: unknown }).pass, {
    host: 'pbx.example.com',
    web: 'https://pbx.example.com',
    password: SECRET,
  });
  assert.deepEqual(
    rows.map(({ action, detail }) => [action, detail]),
    [['path_check.pass', { host: 'pbx.example.com 2001:db8::2' }]],
  );
});

test('path check - the phone of a browser signs in with a password of its own that ends', async () => {
  const clock = createVirtualClock();
  const phone = { account: 'doctor-web', secret: SECRET, now: () => clock.now() };
  const asked: string[] = [];
  const sessions: SipCredentials = {
    prove: (device) => (asked.push(device), null),
    endsAt: (id) => (id === 7 ? 70 : null),
    onSessionEnded: () => () => undefined,
  };
  const credentials = withCheckPhone(sessions, phone);
  const grant = { session_id: 0, secret: SECRET };
  const proves = (device: string, password: string) => credentials.prove(device, (one) => one === password);
  const password = browserPassword(phone);
  assert.notEqual(password, SECRET);
  assert.deepEqual(proves('doctor-web', password), grant);
  assert.deepEqual(proves('doctor-web', SECRET), grant);
  assert.equal(proves('doctor-web', 'guess'), null);
  assert.equal(proves('1001-web', password), null);
  assert.equal(proves('doctor', SECRET), null);
  assert.deepEqual(asked, ['1001-web', 'doctor']);
  await clock.advance(10 * 60_000);
  assert.deepEqual(proves('doctor-web', password), grant);
  await clock.advance(10 * 60_000);
  assert.equal(proves('doctor-web', password), null);
  assert.ok(credentials.endsAt(0)! > clock.now());
  assert.deepEqual([credentials.endsAt(7), credentials.endsAt(8)], [70, null]);
});

test('path check - a service that stops ends the check and stores nothing of it', async (t) => {
  const { post, runs, checks, events } = await rig(t);
  assert.equal((await post('')).status, 202);
  const run = await until('the check', () => runs[0]);
  run.found(bad('udp'));
  await checks.close();
  assert.equal(run.signal.aborted, true);
  assert.deepEqual(events, []);
  assert.deepEqual((await checks.state()).ways, []);
});
