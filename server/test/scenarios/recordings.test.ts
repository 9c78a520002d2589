import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as talk } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { ConversationReply } from '@offhook/contract/conversation-list.ts';
import { RecordingsReply } from '@offhook/contract/recordings.ts';
import type { Recording } from '@offhook/contract/recordings.ts';
import { openSqliteStore } from '../../src/adapters/sqlite/store.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { ApiError } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { ask, doneBy, eventsOf, recordingsOf } from '../support/call-steps.ts';
import { AuditPage } from '@offhook/contract/audit.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { prepareCompany } from '../support/company.ts';
import type { PhoneCall } from '../support/phone.ts';
import type { Site } from '../support/site.ts';
import { useSite } from '../support/use-site.ts';

const HEAD = 44;
const RATE = 8000;
/** Packets of a second of talk; on a busy machine the phones send fewer, and a recording has only what was sent. */
const PACKETS = 50;

const get = (site: Site, person: Person, to: string, headers: Record<string, string> = {}) =>
  fetch(`${site.base}/api/v1/${to}`, {
    headers: { authorization: `Bearer ${person.token}`, ...headers },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
/** One extension calls a number that `taker` answers; both play a tone. */
async function call(site: Site, from = '1003', number = '1004', taker = number) {
  await using phones = new AsyncDisposableStack();
  const own = phones.use(await site.phone(from));
  const other = phones.use(await site.phone(taker));
  const before = eventsOf(site, 'call.answered').length;
  const atFrom = await own.invite(number);
  const atTo = await other.incoming();
  atTo.ring();
  await atTo.answer();
  await atFrom.answered();
  atFrom.play('tone');
  atTo.play('tone');
  await atFrom.hears();
  await atTo.hears();
  const { data } = await until('call.answered', () => eventsOf(site, 'call.answered')[before]);
  const id = data['call_id'] as string;
  const used = phones.move();
  return { id, atFrom, atTo, [Symbol.asyncDispose]: () => used.disposeAsync() };
}
/** A moment in a call: seconds of sound that a phone has sent, and of the clock. */
interface Moment {
  readonly sent: number;
  readonly clock: number;
}
const momentOf = ({ media }: PhoneCall): Moment => ({
  sent: media.sent / PACKETS,
  clock: performance.now() / 1000,
});
/** Seconds of a recording between two moments: of sound that was sent, or with silence where a phone sent too late. */
const least = (from: Moment, to: Moment): number => Math.min(to.sent - from.sent, to.clock - from.clock);
const most = (from: Moment, to: Moment): number => Math.max(to.sent - from.sent, to.clock - from.clock);
/** Checks a length: from the reply to the first request until the second one, or longer by what both requests took. */
function assertLasts(seconds: number, shortest: number, longest: number, spare = 1): void {
  const isWithin = seconds > shortest - spare && seconds < longest + spare;
  assert.ok(isWithin, `${seconds} s of ${shortest} to ${longest} s`);
}
const stored = (site: Site, person: Person, id: string): Promise<Recording> =>
  until(
    'the recording to be stored',
    async () => (await recordingsOf(site, person, id)).find((r) => r.state === 'stored'),
    { seen: () => recordingsOf(site, person, id) },
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
/** The longest silence, in seconds. */
function silence(wav: Buffer): number {
  let [now, longest] = [0, 0];
  for (const level of loudness(wav)) {
    now = level < 50 ? now + 1 : 0;
    longest = Math.max(longest, now);
  }
  return longest / 10;
}

/** Checks that the recording is in its conversation, in the list and on the phone, and within the conversation's time. */
async function insideConversation(site: Site, person: Person, id: string, over: boolean): Promise<void> {
  const { conversation } = await until('the conversation with its recording', async () => {
    const response = await get(site, person, `conversations/${encodeURIComponent(id)}`);
    if (!response.ok) return false;
    const reply = ConversationReply.parse(await response.json());
    const { state, has_recording } = reply.conversation;
    return has_recording && (state === 'open') === !over && reply;
  });
  const [recording] = conversation.recordings;
  assert.equal(recording?.state, 'stored');
  assert.ok(Date.parse(recording.started_at) >= Date.parse(conversation.started_at));
  assert.ok(Date.parse(recording.ended_at!) <= Date.parse(conversation.ended_at ?? '9999-01-01'));
  assert.ok(conversation.legs.some((leg) => leg.leg_id === recording.leg_id));
  if (!over) return;
  const { calls } = await person.history();
  assert.equal(calls.find((row) => row.call_key === id)?.has_recording, true);
}

describe('recordings', () => {
  const site = useSite();

  test('on demand: started, paused, resumed and ended; played in parts with permission only', async () => {
    const zoe = await site().person('1003');
    await using talking = await call(site());
    const [began, asked] = [Date.now(), momentOf(talking.atFrom)];
    const { operation } = await ask(site(), zoe, `/${talking.id}/record`, { on: true });
    await doneBy(site(), operation, 'call.recording_started');
    const started = momentOf(talking.atFrom);
    await talk(2_000);
    const pausing = momentOf(talking.atFrom);
    const { operation: pause } = await ask(site(), zoe, `/${talking.id}/record/pause`);
    const paused = await doneBy(site(), pause, 'call.recording_paused');
    const silent = momentOf(talking.atFrom);
    await ask(site(), zoe, `/${talking.id}/record/pause`);
    assert.equal(eventsOf(site(), 'call.recording_paused').length, 1, 'once more changes nothing');
    await talk(3_000);
    const resuming = momentOf(talking.atFrom);
    const { operation: resume } = await ask(site(), zoe, `/${talking.id}/record/resume`);
    const resumed = await doneBy(site(), resume, 'call.recording_resumed');
    const loudAgain = momentOf(talking.atFrom);
    await talk(2_000);
    const ending = momentOf(talking.atFrom);
    await ask(site(), zoe, `/${talking.id}/record`, { on: false });
    const took = (Date.now() - began) / 1000;
    const ended = momentOf(talking.atFrom);
    const recording = await stored(site(), zoe, talking.id);
    assert.equal(recording.by, 'on_demand');
    assert.equal(recording.call_id, talking.id);
    assert.equal(recording.extension, '1003');
    // Three waits of seven seconds together.
    assertLasts(recording.duration, 7, took);
    const [window] = recording.paused;
    assert.equal(recording.paused.length, 1);
    // Between a pause and its end are three seconds.
    const near = (a: string, b: string) => Math.abs(Date.parse(a) - Date.parse(b)) < 1_500;
    assert.ok(near(window!.from, paused.time) && near(window!.to!, resumed.time), JSON.stringify(window));

    const whole = await get(site(), zoe, `recordings/${recording.id}/audio`);
    assert.equal(whole.status, 200);
    const wav = Buffer.from(await whole.arrayBuffer());
    assert.equal(wav.length, recording.bytes);
    const seconds = (wav.length - HEAD) / 2 / RATE;
    assertLasts(seconds, least(started, ending), most(asked, ended));
    assertLasts(silence(wav), least(silent, resuming), most(pausing, loudAgain), 0.5);
    const loud = loudness(wav);
    assert.ok(loud[5]! > 1_000 && loud.at(-5)! > 1_000, 'before and after one hears the talk');

    const part = await get(site(), zoe, `recordings/${recording.id}/audio`, { range: 'bytes=1000-1999' });
    assert.equal(part.status, 206);
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), wav.subarray(1000, 2000));
    const stranger = await site().person('1005');
    for (const to of [`recordings/${recording.id}`, `recordings/${recording.id}/audio`]) {
      assert.equal((await get(site(), stranger, to)).status, 404);
    }
    assert.deepEqual(await recordingsOf(site(), stranger, talking.id), []);
    await insideConversation(site(), zoe, talking.id, false);
    const boss = await site().person('1001');
    const played = await get(site(), boss, 'audit?action=recordings.play');
    const { entries } = AuditPage.parse(await played.json());
    assert.deepEqual(
      entries.map((line) => [line.object, line.actor]),
      [[recording.id, zoe.login.user.extension]],
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
    assert.equal((await get(site(), zoe, `recordings/${recording.id}/audio`)).status, 409);
    await assert.rejects(
      ask(site(), zoe, `/${talking.id}/record/pause`),
      (error) => error instanceof ApiError && error.code === 'wrong_call_state',
    );
    await talking.atFrom.hangup();
    await talking.atTo.ended();
  });

  test('the service is killed meanwhile: the engine continues to record, and the recording is complete', async () => {
    const zoe = await site().person('1003');
    await using talking = await call(site());
    const [began, asked] = [Date.now(), momentOf(talking.atFrom)];
    await ask(site(), zoe, `/${talking.id}/record`, { on: true });
    const started = momentOf(talking.atFrom);
    await talk(1_000);
    await site().kill('SIGKILL');
    await talk(1_000);
    await site().start();
    await until(
      'the running recording',
      async () => (await recordingsOf(site(), zoe, talking.id))[0]?.state === 'running',
    );
    await assert.rejects(
      ask(site(), zoe, `/${talking.id}/record`, { on: true }),
      (error) => error instanceof ApiError && error.code === 'wrong_call_state',
    );
    await talk(1_000);
    await talking.atFrom.hangup();
    const took = (Date.now() - began) / 1000;
    const whole = momentOf(talking.atFrom);
    const recording = await stored(site(), zoe, talking.id);
    assertLasts((recording.bytes! - HEAD) / 2 / RATE, least(started, whole), most(asked, whole));
    // Three waits of a second each.
    assertLasts(recording.duration, 3, took);

    await using another = await call(site());
    const before = momentOf(another.atFrom);
    await ask(site(), zoe, `/${another.id}/record`, { on: true });
    const first = momentOf(another.atFrom);
    await talk(1_000);
    await site().kill('SIGKILL');
    await talk(500);
    const hungUp = Date.now();
    await another.atFrom.hangup();
    await another.atTo.ended();
    const over = Date.now();
    const last = momentOf(another.atFrom);
    await site().start();
    const missed = await stored(site(), zoe, another.id);
    const ended = Date.parse(missed.ended_at!);
    assert.ok(ended > hungUp - 1_000 && ended < over + 1_000, `${missed.ended_at}`);
    assertLasts((missed.bytes! - HEAD) / 2 / RATE, least(first, last), most(before, last));
  });
});

describe('recordings by rule', () => {
  const site = useSite({
    async prepare(dataDir) {
      await prepareCompany({
        people: ['1002', '1003', '1004'],
        queues: [{ number: '500', name: 'support', agents: ['1004'], recording: 'always' }],
      })(dataDir);
      const store = await openSqliteStore(path.join(dataDir, 'offhook.db'));
      await putObjects(store, { extension: [{ extension: '1002', recording: 'always' }] });
      await store.close();
    },
  });

  test('an extension: either side pauses it, only a supervisor ends it, both may play it afterwards', async () => {
    const [owner, caller, boss] = [
      await site().person('1002'),
      await site().person('1003'),
      await site().person('1001'),
    ];
    await using talking = await call(site(), '1003', '1002');
    const running = await until(
      'the recording',
      async () => (await recordingsOf(site(), boss, talking.id))[0],
    );
    assert.deepEqual([running.by, running.extension, running.state], ['extension', '1002', 'running']);
    await assert.rejects(
      ask(site(), owner, `/${talking.id}/record`, { on: false }),
      (error) => error instanceof ApiError && error.code === 'forbidden',
    );
    await talk(1_000);
    const around: (readonly [Moment, Moment])[] = [];
    for (const does of ['pause', 'resume']) {
      const asked = momentOf(talking.atFrom);
      await ask(site(), caller, `/${talking.id}/record/${does}`);
      around.push([asked, momentOf(talking.atFrom)]);
      await talk(1_500);
    }
    const [pause, resume] = around as [readonly [Moment, Moment], readonly [Moment, Moment]];
    await talking.atFrom.hangup();
    const spoken = momentOf(talking.atFrom);
    const answered = { sent: 0, clock: talking.atFrom.times.answered / 1000 };
    const recording = await stored(site(), boss, talking.id);
    assert.equal(recording.paused.length, 1);
    await insideConversation(site(), caller, talking.id, true);
    for (const person of [owner, caller]) {
      const audio = await get(site(), person, `recordings/${recording.id}/audio`);
      const wav = Buffer.from(await audio.arrayBuffer());
      assertLasts(silence(wav), least(pause[1], resume[0]), most(pause[0], resume[1]), 0.5);
      assertLasts((wav.length - HEAD) / 2 / RATE, least(answered, spoken), most(answered, spoken));
    }
    const stranger = await site().person('1004');
    assert.equal((await get(site(), stranger, `recordings/${recording.id}`)).status, 404);
  });

  test('a queue: the caller is recorded for any answering agent', async () => {
    const [caller, boss] = [await site().person('1003'), await site().person('1001')];
    await using talking = await call(site(), '1003', '500', '1004');
    await talk(1_000);
    await talking.atFrom.hangup();
    const recording = await stored(site(), boss, talking.id);
    assert.deepEqual([recording.by, recording.queue, recording.extension], ['queue', 'support', null]);
    for (const person of [caller, await site().person('1004')]) {
      const { recordings } = RecordingsReply.parse(await (await get(site(), person, 'recordings')).json());
      assert.ok(recordings.some(({ id }) => id === recording.id));
    }
    await insideConversation(site(), caller, talking.id, true);
  });

  test('the service is away: recordings made meanwhile are found, and running ones can be paused', async () => {
    const [owner, boss] = [await site().person('1002'), await site().person('1001')];
    await using caller = await site().phone('1003');
    await using called = await site().phone('1002');
    await using other = await site().phone('1004');
    await site().kill('SIGKILL');
    const missed = await caller.invite('1002');
    await (await called.incoming()).answer();
    await missed.answered();
    missed.play('tone');
    await talk(1_000);
    await missed.hangup();
    const goesOn = await other.invite('1002');
    const there = await called.incoming();
    await there.answer();
    await goesOn.answered();
    for (const side of [goesOn, there]) side.play('tone');
    await talk(1_000);
    await site().start();
    const all = await until('both recordings', async () => {
      const response = await get(site(), boss, 'recordings?extension=1002&limit=2');
      const { recordings } = RecordingsReply.parse(await response.json());
      return recordings[1]?.state === 'stored' && recordings[0]?.state === 'running' && recordings;
    });
    const talked = (missed.times.ended - missed.times.answered) / 1000;
    assert.ok(Math.abs(all[1]!.duration - talked) < 1.5, `${all[1]!.duration} s of ${talked} s`);
    const id = all[0]!.call_id;
    await until('it can be paused', () =>
      ask(site(), owner, `/${id}/record/pause`).catch((error: unknown) => {
        if (error instanceof ApiError && error.code === 'wrong_call_state') return false;
        throw error;
      }),
    );
    await goesOn.hangup();
    assert.equal((await stored(site(), boss, id)).paused.length, 1);
  });
});
