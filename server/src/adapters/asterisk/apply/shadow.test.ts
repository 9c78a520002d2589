/** Throw-away engines: what they may not do, and that none is left. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../../../../test/support/ports.ts';
import { registerPhone } from '../../../../test/support/phone.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../core/clock.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { EngineConfig, EngineFiles } from '../../../ports/engine-config.ts';
import type { Site, SiteTrunk } from '../../../ports/site.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import { PASSWORD, company, extension, trunk } from '../../../../test/support/rendered-company.ts';
import { configOf, startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { celFile } from '../conf/instance.ts';
import { loadInstance } from '../process/instance-file.ts';
import { findLiving, lives } from '../process/living.ts';
import { startShadow, sweepShadows } from './shadow.ts';

/** Another exchange, and what it hears. Its address is not that of the phones, which would be taken for it. */
const HOST = '127.0.0.2';
interface Carrier extends AsyncDisposable {
  readonly heard: readonly string[];
  readonly trunk: SiteTrunk;
}
async function openCarrier(): Promise<Carrier> {
  const socket = dgram.createSocket('udp4');
  const heard: string[] = [];
  socket.on('message', (m) => heard.push(m.toString().split(' ')[0]!));
  socket.bind(0, HOST);
  await once(socket, 'listening');
  const login = { username: 'site', password: 'a-trunk-secret-of-ours' };
  const { port } = socket.address();
  return {
    heard,
    trunk: trunk({ name: 'north', host: HOST, port, login, register: true }),
    [Symbol.asyncDispose]: () => new Promise((done) => void socket.close(() => done())),
  };
}
let carrier: Carrier;
let site: Site;
let engine: TestEngine;
let config: EngineConfig;
let files: EngineFiles;
const make = (prove_ms?: number): EngineConfig => configOf(engine, prove_ms ? { prove_ms } : {});
const left = async (): Promise<string[]> =>
  (await readdir(engine.instance.folder)).filter((name) => name.startsWith('shadow-'));

before(async () => {
  carrier = await openCarrier();
  site = company({ feature_codes: FEATURE_CODES, trunks: [carrier.trunk] });
  engine = await startTestEngine(site);
  config = make();
  files = config.render(site);
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
  await carrier?.[Symbol.asyncDispose]();
});

test('apply/shadow - even told to, it sends nothing to a trunk, and it listens for no phone', async () => {
  await until('the living engine to be heard', () => carrier.heard.includes('OPTIONS'), {
    seen: () => carrier,
  });
  await using other = await openCarrier();
  const signal = AbortSignal.timeout(60_000);
  await using shadow = await startShadow(
    config.render({ ...site, trunks: [other.trunk] }),
    ['transport-udp', 'transport-tcp', 'transport-ws'],
    { home: engine.instance.folder, program: engine.program, clock: systemClock, signal },
  );
  await shadow.asked.console('pjsip qualify trunk-north');
  await shadow.asked.console('pjsip send register *all');
  await until('it to have tried', async () =>
    /EUNSUPTRANSPORT.* sending OPTIONS request/.test(await readFile(shadow.log, 'utf8')),
  );
  assert.match(await shadow.asked.console('pjsip show transports'), /transport-udp +ws/);
  assert.deepEqual(other.heard, []);
});

test('apply/shadow - a proof writes no call record of the living engine and touches nothing of its own', async () => {
  const kept = async (): Promise<string> => {
    const records = await readFile(celFile(engine.instance), 'utf8').catch(() => '');
    return `${records.length} ${(await readdir(engine.instance.folder)).sort().join()}`;
  };
  const before = await kept();
  assert.deepEqual((await config.prove(files)).problems, []);
  assert.equal(await kept(), before);
});

test('apply/shadow - a proof that is given up or takes too long leaves nothing', async () => {
  const changed = new Map([...files, ['queuerules.conf', '; another\n']]);
  const giveUp = new AbortController();
  const proof = assert.rejects(config.prove(changed, giveUp.signal), /enough/);
  await until('a throw-away engine', async () => (await left()).length > 0);
  giveUp.abort(new Error('enough'));
  await proof;
  assert.deepEqual(await left(), []);
  await assert.rejects(
    make(50).prove(changed),
    (error) => error instanceof ServiceError && error.code === 'engine_timeout',
  );
  assert.deepEqual(await left(), []);
});

test('apply/shadow - what a killed service left is ended and removed by the next', async () => {
  const { folder } = engine.instance;
  const given = path.join(folder, 'given.json');
  await writeFile(given, JSON.stringify({ files: [...files], home: folder, program: engine.program }));
  const code = `
    const { readFileSync } = await import('node:fs');
    const { startShadow } = await import(${JSON.stringify(new URL('shadow.ts', import.meta.url).href)});
    const { systemClock } = await import(${JSON.stringify(new URL('../../../core/clock.ts', import.meta.url).href)});
    const { files, home, program } = JSON.parse(readFileSync(${JSON.stringify(given)}, 'utf8'));
    const signal = AbortSignal.timeout(60_000);
    await startShadow(new Map(files), ['transport-udp'], { home, program, clock: systemClock, signal });
    console.log('up');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const [orphan] = await left();
  const living = findLiving(loadInstance(path.join(folder, orphan!))!);
  assert.ok(living !== null && lives(living));
  await sweepShadows(folder, systemClock);
  assert.ok(!lives(living));
  assert.deepEqual(await left(), []);
});

test('apply/reload - a call with sound, a paused member and who is registered live through a reload of everything', async () => {
  const phone = (number: string) =>
    registerPhone({ server: engine.server, extension: number, password: PASSWORD });
  await using agent = await phone('1003');
  await using caller = await phone('1002');
  await engine.dial(agent, '*81500');
  await engine.cli('queue pause member Local/1003@queue-agent queue support reason lunch');
  await until('the pause', async () =>
    (await engine.members('support')).includes('1003 paused:lunch Not in use'),
  );
  const call = await caller.invite('601');
  await call.answered();
  await call.hears(10);
  for (let i = 0; i < 3; i++) {
    const next = config.render({ ...site, extensions: [...site.extensions, extension(`102${i}`)] });
    const proof = await config.prove(next);
    assert.deepEqual(proof.problems, []);
    await config.write(next);
    await config.reload([...next.keys()]);
    assert.deepEqual(await config.verify(proof, [...next.keys()]), []);
    await call.hears(10);
  }
  assert.equal(call.state, 'up');
  assert.ok((await engine.members('support')).includes('1003 paused:lunch Not in use'));
  await call.hangup();
});

test('apply/reload - of an unchanged set nothing is written and the engine is not even asked', async () => {
  const now = config.render(site);
  const names = await config.write(now);
  await config.reload(names);
  assert.deepEqual(await config.verify(await config.prove(now), names), []);
  assert.deepEqual(await config.write(now), []);
  const nobody = configOf(engine, { instance: { ...engine.instance, ami_port: await freePort() } });
  await nobody.reload([]);
  await nobody.reload(['modules.conf']);
  const unavailable = (error: unknown): boolean =>
    error instanceof ServiceError && error.code === 'engine_unavailable';
  await assert.rejects(nobody.reload(['queues.conf']), unavailable);
  await assert.rejects(nobody.verify(await config.prove(now), ['queues.conf']), unavailable);
});
