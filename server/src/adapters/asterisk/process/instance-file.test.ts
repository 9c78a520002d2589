import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../../core/clock.ts';
import { silent } from '../../../core/log.ts';
import { recordingsDir } from '../conf/instance.ts';
import { createInstance, loadInstance } from './instance-file.ts';
import { chooseRunDir, makeRunDir } from './run-dir.ts';
import { EngineProcess } from './supervise.ts';
import { configure, realProgram, temporary } from '../../../../test/support/engine-instance.ts';
import { PATIENCE_MS } from '../../../../test/support/until.ts';

test('instance - it is made once, for this user alone, and is the same from then on', async (t) => {
  const data = path.join(temporary(t), 'data');
  assert.equal(loadInstance(data), null);
  const made = await createInstance(data);
  const file = path.join(made.folder, 'instance.json');
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.equal(fs.statSync(made.run_dir).mode & 0o777, 0o700);
  assert.deepEqual(loadInstance(data), made);
  assert.deepEqual(await createInstance(data), made);
  const other = await createInstance(path.join(temporary(t), 'data'));
  assert.notEqual(other.ami_events.secret, made.ami_events.secret);
  assert.notEqual(made.ami_actions.secret, made.ami_events.secret);
  assert.notEqual(made.ami_port, made.http_port);
  assert.ok(made.ami_events.secret.length >= 32);
});

test('instance - recordings lie beside the engine, which finds them by a link; what lay in its own folder comes along', async (t) => {
  const data = path.join(temporary(t), 'data');
  const own = path.join(data, 'engine', 'spool', 'monitor');
  fs.mkdirSync(own, { recursive: true });
  fs.writeFileSync(path.join(own, 'op-1.wav'), 'sound');
  for (const _ of [1, 2]) {
    const made = await createInstance(data);
    assert.equal(recordingsDir(made), path.join(path.dirname(made.folder), 'recordings'));
    assert.equal(fs.statSync(recordingsDir(made)).mode & 0o777, 0o700);
    assert.equal(fs.readFileSync(path.join(recordingsDir(made), 'op-1.wav'), 'utf8'), 'sound');
    assert.equal(fs.realpathSync(own), fs.realpathSync(recordingsDir(made)));
  }
  const elsewhere = `${data}-moved`;
  fs.renameSync(data, elsewhere);
  assert.equal(
    fs.realpathSync(path.join(elsewhere, 'engine', 'spool', 'monitor')),
    fs.realpathSync(path.join(elsewhere, 'recordings')),
  );
});

test('instance - a port that somebody else has meanwhile is replaced, the rest stays', async (t) => {
  const data = temporary(t);
  const made = await createInstance(data);
  const squatter = net.createServer().listen(made.ami_port, '127.0.0.1');
  await once(squatter, 'listening');
  t.after(() => squatter.close());
  const again = await createInstance(data);
  assert.notEqual(again.ami_port, made.ami_port);
  assert.deepEqual({ ...again, ami_port: made.ami_port }, made);
  assert.deepEqual(loadInstance(data), again);
});

test('instance - its ports are none that an outgoing connection may get before the engine starts; earlier ones are replaced', async (t) => {
  const data = temporary(t);
  // Where Linux begins unless a machine was set otherwise.
  const first = 32_768;
  const made = await createInstance(data);
  assert.ok(made.ami_port < first && made.http_port < first, `${made.ami_port} and ${made.http_port}`);
  const file = path.join(made.folder, 'instance.json');
  fs.writeFileSync(file, JSON.stringify({ ...made, http_port: 40_000 }));
  const next = await createInstance(data);
  assert.ok(next.http_port < first, String(next.http_port));
  assert.deepEqual({ ...next, http_port: made.http_port }, made);
});

test('instance - while its engine lives its ports are kept, taken as they are', async (t) => {
  const program = await realProgram();
  const data = temporary(t);
  const made = await createInstance(data);
  configure(made, program);
  fs.writeFileSync(
    path.join(made.folder, 'etc', 'manager.conf'),
    `[general]\nenabled=yes\nport=${made.ami_port}\nbindaddr=127.0.0.1\n`,
  );
  await using engine = new EngineProcess({ program, instance: made, log: silent, clock: systemClock });
  engine.start();
  await engine.up(AbortSignal.timeout(PATIENCE_MS));
  const socket = net.connect(made.ami_port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  assert.deepEqual(await createInstance(data), made);
});

test('instance - a data folder reached by a link is the same; a copied one gets its own place', async (t) => {
  const folder = temporary(t);
  const data = path.join(folder, 'data');
  const made = await createInstance(data);
  fs.symlinkSync(data, path.join(folder, 'link'));
  assert.deepEqual(loadInstance(path.join(folder, 'link')), made);
  fs.cpSync(data, path.join(folder, 'copy'), { recursive: true });
  const copy = await createInstance(path.join(folder, 'copy'));
  assert.equal(copy.folder, path.join(folder, 'copy', 'engine'));
  assert.notEqual(copy.run_dir, made.run_dir);
  assert.deepEqual(loadInstance(path.join(folder, 'copy')), copy);
});

test('instance - a damaged file is named and not overwritten', async (t) => {
  const data = temporary(t);
  const { folder } = await createInstance(data);
  const file = path.join(folder, 'instance.json');
  for (const content of ['', '{"folder":', 'null', '{"folder":"/x","ami_port":70000}']) {
    fs.writeFileSync(file, content);
    await assert.rejects(createInstance(data), /instance\.json is damaged; move it away/);
    assert.equal(fs.readFileSync(file, 'utf8'), content);
  }
});

test('instance - a path too long for a socket moves to a private folder', (t) => {
  const folder = temporary(t);
  assert.equal(chooseRunDir(folder), path.join(folder, 'engine', 'run'));
  const long = path.join(folder, 'x'.repeat(100));
  const chosen = chooseRunDir(long);
  assert.ok(chosen.startsWith(path.join(os.tmpdir(), 'offhook-')));
  assert.ok(Buffer.byteLength(path.join(chosen, 'asterisk.ctl')) <= 107);
  assert.equal(chooseRunDir(long), chosen);
  assert.notEqual(chooseRunDir(`${long}y`), chosen);
  const mine = path.join(folder, 'private');
  makeRunDir(mine);
  assert.equal(fs.statSync(mine).mode & 0o777, 0o700);
  fs.chmodSync(mine, 0o777);
  makeRunDir(mine);
  assert.equal(fs.statSync(mine).mode & 0o777, 0o700);
  fs.symlinkSync(mine, path.join(folder, 'trap'));
  assert.throws(() => makeRunDir(path.join(folder, 'trap')), /not a folder of this user/);
});
