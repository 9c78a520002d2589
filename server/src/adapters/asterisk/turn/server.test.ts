import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { until } from '../../../../test/support/until.ts';
import { createVirtualClock } from '../../memory/virtual-clock.ts';
import { systemClock } from '../../../core/clock.ts';
import { silent } from '../../../core/log.ts';
import type { Log } from '../../../core/log.ts';
import { etcDir } from '../conf/instance.ts';
import type { Instance } from '../conf/instance.ts';
import { TURN_FILE } from '../conf/turn-file.ts';
import { TurnServer } from './server.ts';
import { readStun, stunMessage } from './stun.ts';

/** A process that runs until it is ended. */
const PROGRAM = [process.execPath, '-e', 'setInterval(() => {}, 1_000)', '--'];

test('turn server - while its file cannot be read it stays as it is, and is followed again after that', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-test-'));
  const stun = dgram.createSocket('udp4').bind(0, '127.0.0.1');
  await once(stun, 'listening');
  stun.on('message', (data, { port, address }) => {
    const mapped = Buffer.from('0001a147e112a643', 'hex');
    stun.send(stunMessage(0x0101, readStun(data)!.id, [[0x0020, mapped]]), port, address);
  });
  const instance = { folder, run_dir: path.join(folder, 'run') } as Instance;
  const failures: string[] = [];
  const log: Log = { ...silent, error: (_, text) => void failures.push(text), child: () => log };
  const server = new TurnServer({ instance, command: async () => PROGRAM, clock: systemClock, log });
  t.after(async () => {
    await server.stop();
    stun.close();
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const file = path.join(etcDir(instance), TURN_FILE);
  const noted = (): number =>
    (JSON.parse(fs.readFileSync(path.join(folder, 'turn.json'), 'utf8')) as { pid: number }).pid;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `listening-ip=127.0.0.1\nlistening-port=${stun.address().port}\n`);
  server.begin(new AbortController().signal);
  await until('a server that answers', () => server.finding()?.ok);
  const pid = noted();

  // In one step: a missing file means that no server is wanted.
  fs.linkSync(file, `${file}.aside`);
  fs.symlinkSync(file, `${file}.loop`);
  fs.renameSync(`${file}.loop`, file);
  await until('two failed looks at the file', () => failures.length >= 2);
  for (const text of failures) assert.match(text, /configuration of the TURN server cannot be read/);
  assert.match(server.finding()?.detail ?? '', /ELOOP/);
  await assert.rejects(server.take(), /ELOOP/);
  assert.equal(process.kill(pid, 0), true, 'the server still runs');

  fs.renameSync(`${file}.aside`, file);
  await until('the server to be followed again', () => server.finding()?.ok);
  assert.equal(noted(), pid);
});

test('turn server - a start of the service that writes its file before the server begins does not wait for it', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const instance = { folder, run_dir: path.join(folder, 'run') } as Instance;
  const clock = createVirtualClock();
  const server = new TurnServer({ instance, command: async () => PROGRAM, clock, log: silent });
  const taken = server.take();
  await clock.advance(60_000);
  assert.equal(await taken, null);
});
