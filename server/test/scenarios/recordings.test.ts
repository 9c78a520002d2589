import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as talk } from 'node:timers/promises';
import { describe, test } from 'node:test';
import type { Recording } from '@offhook/contract/recordings.ts';
import { ApiError } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { ask, doneBy, eventsOf, recordingsOf } from '../support/call-steps.ts';
import { AuditPage } from '@offhook/contract/audit.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const HEAD = 44;
const RATE = 8000;

describe('recordings', () => {
  const site = useSite();
  const get = (person: Person, to: string, headers: Record<string, string> = {}) =>
    fetch(`${site().base}/api/v1/${to}`, {
      headers: { authorization: `Bearer ${person.token}`, ...headers },
      signal: AbortSignal.timeout(20_000),
    });
  /** 1003 talks to 1004, both with a tone. */
  async function call() {
    const [from, to] = [await site().phone('1003'), await site().phone('1004')];
    const before = eventsOf(site(), 'call.started').length;
    const atFrom = await from.invite('1004');
    const atTo = await to.incoming();
    atTo.ring();
    await atTo.answer();
    await atFrom.answered();
    atFrom.play('tone');
    atTo.play('tone');
    await atFrom.hears();
    await atTo.hears();
    const id = eventsOf(site(), 'call.started')[before]!.data['call_id'] as string;
    return {
      id,
      atFrom,
      atTo,
      async [Symbol.asyncDispose]() {
        await from[Symbol.asyncDispose]();
        await to[Symbol.asyncDispose]();
      },
    };
  }
  const stored = (person: Person, id: string): Promise<Recording> =>
    until(
      'the recording to be stored',
      async () => (await recordingsOf(site(), person, id)).find((r) => r.state === 'stored'),
      { ms: 15_000, seen: () => recordingsOf(site(), person, id) },
    );
  /** Mean amplitude of each tenth of a second. */
  function loudness(wav: Buffer): number[] {
    const tenths: number[] = [];
    for (let at = HEAD; at + 1_600 <= wav.length; at += 1_600) {
      let sum = 0;
      for (let i = 0; i < 1_600; i += 2) sum += Math.abs(wav.readInt16LE(at + i));
      tenths.push(sum / 800);
    }
    return tenths;
  }
  /** The longest stretch of silence, in seconds. */
  function silence(wav: Buffer): number {
    let [now, longest] = [0, 0];
    for (const level of loudness(wav)) {
      now = level < 50 ? now + 1 : 0;
      longest = Math.max(longest, now);
    }
    return longest / 10;
  }

  test('on demand: begun, paused, resumed and ended; played in parts by who may, and by nobody else', async () => {
    const zoe = await site().person('1003');
    await using talking = await call();
    const began = Date.now();
    const { operation } = await ask(site(), zoe, `/${talking.id}/record`, { on: true });
    await doneBy(site(), operation, 'call.recording_started');
    await talk(2_000);
    const { operation: pause } = await ask(site(), zoe, `/${talking.id}/record/pause`);
    const paused = await doneBy(site(), pause, 'call.recording_paused');
    await ask(site(), zoe, `/${talking.id}/record/pause`);
    assert.equal(eventsOf(site(), 'call.recording_paused').length, 1, 'once more changes nothing');
    await talk(3_000);
    const { operation: resume } = await ask(site(), zoe, `/${talking.id}/record/resume`);
    const resumed = await doneBy(site(), resume, 'call.recording_resumed');
    await talk(2_000);
    await ask(site(), zoe, `/${talking.id}/record`, { on: false });
    const took = (Date.now() - began) / 1000;
    const recording = await stored(zoe, talking.id);
    assert.equal(recording.by, 'on_demand');
    assert.equal(recording.call_id, talking.id);
    assert.equal(recording.extension, '1003');
    assert.ok(Math.abs(recording.duration - took) < 1, `${recording.duration} of ${took} s`);
    const [window] = recording.paused;
    assert.equal(recording.paused.length, 1);
    const near = (a: string, b: string) => Math.abs(Date.parse(a) - Date.parse(b)) < 500;
    assert.ok(near(window!.from, paused.time) && near(window!.to!, resumed.time), JSON.stringify(window));

    const whole = await get(zoe, `recordings/${recording.id}/audio`);
    assert.equal(whole.status, 200);
    const wav = Buffer.from(await whole.arrayBuffer());
    assert.equal(wav.length, recording.bytes);
    const seconds = (wav.length - HEAD) / 2 / RATE;
    assert.ok(Math.abs(seconds - recording.duration) < 1, `${seconds} s of ${recording.duration} s`);
    const asked = (Date.parse(window!.to!) - Date.parse(window!.from)) / 1000;
    assert.ok(
      Math.abs(silence(wav) - asked) < 0.5,
      `${silence(wav)} s of silence, ${asked} s were asked for`,
    );
    const loud = loudness(wav);
    assert.ok(loud[5]! > 1_000 && loud.at(-5)! > 1_000, 'before and after one hears the talk');

    const part = await get(zoe, `recordings/${recording.id}/audio`, { range: 'bytes=1000-1999' });
    assert.equal(part.status, 206);
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), wav.subarray(1000, 2000));
    const stranger = await site().person('1005');
    for (const to of [`recordings/${recording.id}`, `recordings/${recording.id}/audio`]) {
      assert.equal((await get(stranger, to)).status, 404);
    }
    assert.deepEqual(await recordingsOf(site(), stranger, talking.id), []);
    const boss = await site().person('1001');
    const played = await get(boss, 'audit?action=recordings.play');
    const { entries } = AuditPage.parse(await played.json());
    assert.deepEqual(
      entries.map((line) => [line.object, line.actor]),
      [[recording.id, zoe.login.user.username]],
    );
    const folder = path.join(site().dataDir, 'recordings');
    assert.deepEqual(await readdir(folder), [`${recording.id}.wav`]);
    assert.equal((await stat(folder)).mode & 0o777, 0o700);

    const deleted = await fetch(`${site().base}/api/v1/recordings/${recording.id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${boss.token}` },
    });
    assert.equal(deleted.status, 200);
    assert.deepEqual(await readdir(folder), []);
    assert.equal((await get(zoe, `recordings/${recording.id}/audio`)).status, 409);
    await assert.rejects(
      ask(site(), zoe, `/${talking.id}/record/pause`),
      (error) => error instanceof ApiError && error.code === 'wrong_call_state',
    );
    await talking.atFrom.hangup();
    await talking.atTo.ended();
  });

  test('the service is killed meanwhile: the engine goes on recording, and afterwards all of it is there', async () => {
    const zoe = await site().person('1003');
    await using talking = await call();
    await ask(site(), zoe, `/${talking.id}/record`, { on: true });
    await talk(1_000);
    await site().kill('SIGKILL');
    await talk(1_000);
    await site().start();
    const [running] = await recordingsOf(site(), zoe, talking.id);
    assert.equal(running?.state, 'running');
    await assert.rejects(
      ask(site(), zoe, `/${talking.id}/record`, { on: true }),
      (error) => error instanceof ApiError && error.code === 'wrong_call_state',
    );
    await talk(1_000);
    await talking.atFrom.hangup();
    const recording = await stored(zoe, talking.id);
    const seconds = (recording.bytes! - HEAD) / 2 / RATE;
    assert.ok(Math.abs(seconds - recording.duration) < 1, `${seconds} s of ${recording.duration} s`);

    await using another = await call();
    await ask(site(), zoe, `/${another.id}/record`, { on: true });
    await talk(1_000);
    await site().kill('SIGKILL');
    await talk(500);
    await another.atFrom.hangup();
    await another.atTo.ended();
    const over = Date.now();
    await site().start();
    const missed = await stored(zoe, another.id);
    assert.ok(Math.abs(Date.parse(missed.ended_at!) - over) < 1_000, `${missed.ended_at}`);
    const length = (missed.bytes! - HEAD) / 2 / RATE;
    assert.ok(Math.abs(length - missed.duration) < 1, `${length} s of ${missed.duration} s`);
  });
});
