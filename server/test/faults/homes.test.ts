/** Several engines in one site: the node that leads, and one whose engine has people and a queue of its own; two real processes. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { RecordingsReply } from '@offhook/contract/recordings.ts';
import { callsIn, eventsOf } from '../support/call-steps.ts';
import { apply, ask } from '../support/config-steps.ts';
import { registerPhone } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';
import { finishedCalls, onlyCall } from '../support/steps.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

describe('a node with people of its own', () => {
  let server: TestPostgres | undefined;
  let [a, b]: Site[] = [];
  const phones: Phone[] = [];
  before(async () => {
    server = await startPostgres();
    const url = await server.createDatabase();
    const settings = { OFFHOOK_DATABASE_URL: url, OFFHOOK_SITE_STORE: 'postgres' };
    a = await startSite({ host: '127.0.0.2', env: { ...settings, OFFHOOK_NODE: 'a' } });
    b = await startSite({
      host: '127.0.0.3',
      wait: 'answers',
      env: { ...settings, OFFHOOK_NODE: 'b', OFFHOOK_NODE_ROLE: 'home' },
    });
    await holds();
  });
  after(async () => {
    for (const phone of phones) await phone[Symbol.asyncDispose]();
    await b?.[Symbol.asyncDispose]();
    await a?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });
  afterEach(async (t) => {
    const { passed, diagnostic } = t as { passed?: boolean; diagnostic?: (text: string) => void };
    if (passed !== false) return;
    const queues = await b?.engineCli('queue show').catch(String);
    diagnostic?.call(t, `a said last:\n${a?.tail()}\nb said last:\n${b?.tail()}\nits queues:\n${queues}`);
  });
  /** Resolves once the engine of b runs with the applied configuration. */
  async function holds(): Promise<void> {
    let seen: unknown;
    await until(
      'the engine of b to hold the configuration',
      async () => {
        const response = await fetch(`${b!.base}/readyz`, { signal: AbortSignal.timeout(3_000) });
        const { checks } = (await response.json()) as { checks: Record<string, string> };
        seen = checks;
        return checks['engine'] === 'ok' && checks['configuration'] === 'ok';
      },
      { ms: 240_000, every: 100, seen: () => ({ seen, tail: b?.tail() }) },
    );
  }
  /** Of the last report of each engine, whether the service follows it. */
  const follows = (node: string): boolean => {
    const last = eventsOf(a!, 'engine.link_up', 'engine.link_down').findLast(
      (event) => (event.data as { node: string }).node === node,
    );
    return last?.type === 'engine.link_up';
  };
  /** Files of recordings on the machine of b. */
  const kept = (): Promise<string[]> => readdir(path.join(b!.dataDir, 'recordings'));
  const phone = async (site: Site, extension: string): Promise<Phone> => {
    const password = (await a!.credentials()).find((one) => one.extension === extension)!.sip_password;
    const made = await registerPhone({ server: site.sip, extension, password });
    phones.push(made);
    const admin = await a!.person('1001');
    await until(
      `${extension} to be shown as reachable`,
      async () => (await admin.contact(extension)).status !== 'offline',
    );
    return made;
  };

  test('homes - an apply gives an engine its people and its queue, and both engines hold what is theirs', async () => {
    const patch = (kind: string, key: string, body: object) => ({ op: 'patch', kind, key, patch: body });
    await ask(a!, 'POST', '/draft/changes', {
      changes: [
        { op: 'create', kind: 'engine', object: { node: 'b', title: 'Branch', ...b!.sip } },
        patch('queue', 'sales', { members: [] }),
        patch('queue', 'support', { engine: 'b', members: [{ extension: '1003', static: true }] }),
        patch('extension', '1003', { engine: 'b', devices: ['sip'], recording: 'always' }),
        patch('extension', '1004', { engine: 'b', devices: ['sip'] }),
      ],
    });
    const { state, detail, problems, files } = await apply(a!);
    assert.deepEqual([state, problems], ['applied', []], detail ?? '');
    assert.ok(files.includes('engines/b.json'), files.join());
    await until('the service to follow both engines', () => follows('a') && follows('b'), {
      seen: () => ({ a: a!.tail(), b: b!.tail() }),
    });
    await a!.ready();
    const at = (site: Site) => site.engineCli('pjsip show endpoints');
    assert.match(await at(b!), /Endpoint: +1003\b/);
    assert.doesNotMatch(await at(b!), /Endpoint: +1002\b/);
    assert.doesNotMatch(await at(a!), /Endpoint: +1003\b/);
    assert.match(await b!.engineCli('queue show support'), /1003/);
    await until('the trunk between the engines', async () =>
      (await Promise.all([a!, b!].map((one) => one.engineCli('pjsip show contacts')))).every((text) =>
        /Contact: +engine-\S+ +\S+ Avail /.test(text),
      ),
    );
  });

  test('homes - a call between people of two engines is one conversation, and so is a call to a queue of the other', async () => {
    const here = await phone(a!, '1002');
    const there = await phone(b!, '1003');
    const call = await here.invite('1003');
    const got = await there.incoming(call);
    got.ring();
    await got.answer();
    await call.answered();
    await call.bridged();
    call.play('tone');
    await got.hears();
    await got.hangup();
    await call.ended();
    const [mine, theirs] = [await onlyCall(await a!.person('1002')), await onlyCall(await a!.person('1003'))];
    assert.equal(mine.call_key, theirs.call_key);
    assert.deepEqual([mine.disposition, theirs.party], ['ANSWERED', '1002']);
    const waits = await here.invite('500');
    const offer = await there.incoming(waits);
    await offer.answer();
    await waits.bridged();
    await until('the agent', () => eventsOf(a!, 'agent.talking').length === 1);
    await waits.hangup();
    const [row] = await finishedCalls(await a!.person('1003'), 2);
    assert.deepEqual([row!.party, row!.queue], ['1002', 'support']);
    assert.equal(callsIn(a!).began, 2);
  });

  test('homes - a recording at an engine without a shared folder is missing after its call; the audio names the node', async () => {
    const { token } = await a!.person('1001');
    const ofRecordings = async (method: string, of = '') => {
      const headers = { authorization: `Bearer ${token}` };
      const signal = AbortSignal.timeout(PATIENCE_MS);
      return (await fetch(`${a!.base}/api/v1/recordings${of}`, { method, headers, signal })).json();
    };
    const all = async () => RecordingsReply.parse(await ofRecordings('GET')).recordings;
    const missing = await until(
      'the recordings at b to be missing',
      async () => {
        const found = await all();
        return found.length > 0 && found.every(({ state }) => state === 'missing') && found;
      },
      { seen: all },
    );
    assert.ok((await kept()).length > 0);
    for (const { id, leg_id, by } of missing) {
      assert.deepEqual([leg_id?.split(':')[0], by], ['b', 'extension']);
      assert.match(
        ((await ofRecordings('GET', `/${id}/audio`)) as { detail: string }).detail,
        /on node b only/,
      );
      await ofRecordings('DELETE', `/${id}`);
    }
    assert.ok((await kept()).every((file) => file.endsWith('-b.wav')));
  });

  test('homes - a change reaches both engines, and is refused while one of their nodes is away', async () => {
    const title = async (site: Site, name: string) =>
      /callerid *: *"([^"]*)"/.exec(await site.engineCli(`pjsip show endpoint ${name}`))?.[1] ?? '';
    await ask(a!, 'PATCH', '/extensions/1003', { name: 'New Name' });
    assert.equal((await apply(a!)).state, 'applied');
    assert.equal(await title(b!, '1003'), 'New Name');

    const engine = b!.enginePid();
    await b!.kill('SIGKILL');
    await until('the service to see that it is away', () => !follows('b'));
    assert.equal(follows('a'), true);
    await ask(a!, 'PATCH', '/extensions/1003', { name: 'Newer Name' });
    await ask(a!, 'PATCH', '/extensions/1002', { name: 'Other Name' });
    await assert.rejects(apply(a!), /503.*engine_unavailable.*"node":"b"/s);
    assert.notEqual(await title(a!, '1002'), 'Other Name');

    await b!.start('answers');
    await holds();
    await until('the service to follow it again', () => follows('b'));
    assert.equal(b!.enginePid(), engine);
    await until('the files of deleted recordings to be deleted', async () => (await kept()).length === 0);
    await until('the apply', async () => (await apply(a!).catch(() => null))?.state === 'applied');
    assert.deepEqual([await title(a!, '1002'), await title(b!, '1003')], ['Other Name', 'Newer Name']);
  });
});
