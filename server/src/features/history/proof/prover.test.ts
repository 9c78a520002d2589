import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kysely } from 'kysely';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { e164In } from '../../../numbers/e164.ts';
import { dying, historyScene, recorded } from '../../../../test/support/history-scene.ts';
import type { HistoryScene } from '../../../../test/support/history-scene.ts';
import { manualClock } from '../../../../test/support/sessions-fixture.ts';
import { openMemoryJournal } from '../../../adapters/memory/journal-store.ts';
import { rfc3339 } from '../../../core/clock.ts';
import { ServiceError } from '../../../core/errors.ts';
import { silent } from '../../../core/log.ts';
import { eventOf, openJournal } from '../../../journal/journal.ts';
import type { CallRecord } from '../../../ports/call-records.ts';
import type { Store } from '../../../ports/store.ts';
import type { ConversationRecord } from '../record/record.ts';
import { buildRecord } from '../record/build.ts';
import { withDirectory } from '../record/records.ts';
import { spokenMs } from '../record/figures.ts';
import { pack } from '../store/packs.ts';
import { readFact } from '../store/store.ts';
import { NO_SIP } from '../store/tables.ts';
import type { Tables } from '../store/tables.ts';
import { gapsOf, lostIn, keepTestChannels } from './gaps.ts';
import type { Channels } from './gaps.ts';
import { merged } from './merge.ts';
import { OTHERS_MS, Prover } from './prover.ts';
import { Stories } from './stories.ts';
import { recordsOfStory, talkOfStory } from './story-records.ts';

const e164 = e164In('DE');
/** Events that the model emits for a call. */
function eventsOf(record: ConversationRecord): readonly DomainEvent[] {
  const [call_id, extensions] = [record.id, record.extensions];
  const [first] = record.legs;
  const found: { at: number; order: number; type: string; data: object }[] = [];
  const add = (order: number, at: number, type: string, data: object): void => {
    found.push({ at, order, type, data: { call_id, direction: 'internal', extensions, ...data } });
  };
  for (const l of record.legs) {
    const { extension, number, name } = l.participant;
    const leg = { leg_id: l.leg_id, extension, endpoint: l.endpoint, number, name };
    if (l === first) add(0, l.from, 'call.started', { leg, dialled: record.dialled });
    else {
      add(1, l.from, 'call.ringing', { leg, caller: {} });
      if (l.answered !== null) add(2, l.answered, 'call.answered', { leg, caller: {} });
    }
    const held = l.segments.filter((s) => s.state === 'held' && s.held_by === 'this_leg');
    for (const s of held) {
      add(3, s.from, 'call.held', { leg });
      add(3, s.to, 'call.retrieved', { leg });
    }
    if (l !== first) {
      const reason = l.disposition === 'answered' ? 'hangup' : l.disposition;
      add(4, l.to, 'call.left', { leg, cause: l.cause, reason });
    }
  }
  for (const v of record.visits) {
    const data = { queue: v.queue, leg_id: v.leg_id, caller: {} };
    add(1, v.from, 'queue.caller_joined', data);
    const reason = v.outcome === 'answered' ? 'answered' : 'timeout';
    if (v.outcome === 'abandoned') add(3, v.to, 'queue.caller_abandoned', data);
    else add(3, v.to, 'queue.caller_left', { ...data, reason });
  }
  add(5, record.ended, 'call.ended', { cause: 16, cause_text: '', reason: 'hangup', merged_into: null });
  return found
    .sort((a, b) => a.at - b.at || a.order - b.order)
    .map(
      ({ at, type, data }) =>
        ({ type, subject: `calls/${call_id}`, at, observed: 'live', data }) as DomainEvent,
    );
}
const recordedIn = (scene: HistoryScene, records: readonly CallRecord[]): ConversationRecord =>
  buildRecord(
    records.map((r) => withDirectory(r, scene.directory)),
    { e164 },
  )!;
function storyOf(record: ConversationRecord) {
  const stories = new Stories();
  eventsOf(record).forEach((event, i) => stories.take(event, i + 1));
  return stories.ended()[0]!;
}
const gist = (record: ConversationRecord) => ({
  id: record.id,
  disposition: record.disposition,
  extensions: record.extensions,
  agents: record.agents,
  visits: record.visits.map((v) => [v.queue, v.outcome, v.agent]),
  legs: record.legs
    .map((l) => [l.leg_id, l.participant.extension, l.role, l.answered !== null].join(' '))
    .sort(),
});

const CALLS = ['internal-answered', 'hold', 'no-answer', 'busy', 'queue-abandoned', 'three-devices'];
for (const name of CALLS) {
  test(`proof - ${name}: the journal alone has the parties, the outcome and the talk time`, async () => {
    await using scene = await historyScene();
    const real = recordedIn(scene, recorded(name));
    const story = storyOf(real);
    const rebuilt = recordedIn(scene, recordsOfStory(story));
    assert.deepEqual(gist(rebuilt), gist(real));
    assert.ok(
      Math.abs(spokenMs(rebuilt) - spokenMs(real)) < 200,
      `${spokenMs(rebuilt)} ms of ${spokenMs(real)}`,
    );
    assert.ok(
      Math.abs(talkOfStory(story, 'held too') - spokenMs(real)) < 200,
      `${talkOfStory(story, 'held too')} ms of ${spokenMs(real)}`,
    );
  });

  test(`proof - ${name}: whatever call records are missing, the journal fills in, in any order`, async () => {
    await using scene = await historyScene();
    const records = recorded(name);
    const real = recordedIn(scene, records);
    const journal = recordsOfStory(storyOf(real)).map((r) => withDirectory(r, scene.directory));
    const known = records.map((r) => withDirectory(r, scene.directory));
    let seed = 7;
    const chance = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    for (let round = 0; round < 60; round += 1) {
      // A full disk loses consecutive records, a damaged one any record.
      const [from, to] = [Math.floor(chance() * known.length), Math.floor(chance() * (known.length + 1))];
      const left =
        round % 2 === 0 ? known.filter((_, i) => i < from || i >= to) : known.filter(() => chance() > 0.4);
      const both = merged([...left, ...journal]);
      const rebuilt = buildRecord(both.records, { e164, journal: both.journal })!;
      assert.equal(rebuilt.complete, true, `round ${round}`);
      assert.equal(rebuilt.disposition, real.disposition, `round ${round}`);
      assert.deepEqual(rebuilt.extensions, real.extensions, `round ${round}`);
      assert.ok(
        Math.abs(spokenMs(rebuilt) - spokenMs(real)) < 400,
        `round ${round}: ${spokenMs(rebuilt)} ms of ${spokenMs(real)}`,
      );
      assert.ok(rebuilt.ended - rebuilt.started <= real.ended - real.started + 200, `round ${round}`);
      const again = merged([...journal.toReversed(), ...left.toReversed()]);
      assert.deepEqual(
        buildRecord(again.records, { e164, journal: again.journal }),
        rebuilt,
        `round ${round}, backwards`,
      );
    }
    const whole = merged([...journal, ...known]);
    assert.equal(whole.journal, false, 'nothing of the journal is needed');
    assert.deepEqual(buildRecord(whole.records, { e164 }), real);
  });
}

function rig(scene: HistoryScene, now: number) {
  const clock = manualClock(now);
  const store = openMemoryJournal();
  const journal = openJournal({ store, node: nodeId('ast1') });
  const published: DomainEvent[] = [];
  const prover = (
    over: Store = scene.store,
    others: readonly string[] = [],
    caughtUpAt: (node?: string) => number | null = () => clock.now(),
  ) =>
    new Prover({
      others,
      store: over,
      clock,
      log: silent,
      journal,
      eventOf,
      ingest: scene.restart(over),
      caughtUpAt,
      publish(events) {
        published.push(...events);
        journal.append(events);
      },
    });
  return { clock, journal, trim: (below: number) => store.trim(below), published, prover };
}

const conversation = (id: string, from: number) => ({
  id,
  merged_from: [],
  revision: 1,
  parties: [{}],
  observed: 'call_records',
  started_at: new Date(from).toISOString(),
  ended_at: new Date(from + 5_000).toISOString(),
});
const event = (type: string, at: number, data: object = {}): DomainEvent =>
  ({
    type,
    subject: 'x/1',
    at,
    observed: 'live',
    data: { extensions: [], ...data },
  }) as unknown as DomainEvent;

test('proof - killed at any step of completing: one conversation and one finding, each published once', async () => {
  await using scene = await historyScene();
  const real = recordedIn(scene, recorded('internal-answered'));
  let steps = 0;
  for (let n = 1; ; n += 1) {
    await scene.clear();
    await scene.store.db<Tables>().deleteFrom('history_findings').execute();
    const { journal, published, prover } = rig(scene, real.ended + 60_000);
    journal.append(eventsOf(real));
    const store = dying(scene.store, n);
    await prover(store.store)
      .catchUp()
      .catch(() => undefined);
    for (let i = 0; i < 3; i += 1) await prover().catchUp();
    const rebuilt = await scene.conversations();
    assert.deepEqual(
      rebuilt.map((c) => [c.state, c.revision, c.record.observed]),
      [['final', 1, 'journal']],
      `killed at step ${n}`,
    );
    const own = published.filter((e) => e.type === 'history.difference');
    assert.equal(own.length, 1, `killed at step ${n}`);
    // The call records arrive late.
    await scene.feed(...recorded('internal-answered'));
    const amended = (await scene.conversations())[0]!;
    assert.deepEqual([amended.state, amended.revision, amended.record], ['amended', 2, real]);
    steps = n;
    if (!store.died()) break;
  }
  assert.ok(steps > 10, `${steps} steps`);
});

test('proof - a conversation unknown to the journal is a difference, unless it was during an absence', async () => {
  await using scene = await historyScene();
  const records = recorded('internal-answered');
  const real = recordedIn(scene, records);
  const { journal, published, prover } = rig(scene, real.ended + 60_000);
  const start = real.started - 3_600_000;
  journal.append([
    event('engine.link_up', start),
    event('engine.resynced', start + 1),
    event('engine.link_down', start + 60_000),
    event('engine.link_up', start + 120_000),
    event('engine.resynced', start + 121_000),
    ...eventsOf(real),
    event('conversation.finalised', real.ended + 1, { conversation: conversation(real.id, real.started) }),
    event('conversation.finalised', real.ended + 2, { conversation: conversation('ast1:1.1', real.started) }),
    event('conversation.finalised', real.ended + 3, {
      conversation: conversation('ast1:1.2', start + 70_000),
    }),
    event('conversation.finalised', real.ended + 4, {
      conversation: conversation('ast1:1.3', start - 70_000),
    }),
  ]);
  await scene.feed(...records);
  const it = prover();
  for (let i = 0; i < 3; i += 1) await it.catchUp();
  assert.deepEqual(
    published.map((e) => [e.type, e.type === 'history.difference' ? e.data.conversation_id : e.subject]),
    [
      ['history.difference', 'ast1:1.1'],
      ['history.settled', 'history/2'],
    ],
  );
  assert.equal((await scene.conversations())[0]!.revision, 1);
});

for (const end of ['its link is lost', 'the service is killed'] as const)
  test(`proof - an absence that lasts over a start of the service explains its conversations before and after it: ${end}`, async () => {
    await using scene = await historyScene();
    const start = 1_795_000_000_000;
    const { clock, journal, published, prover } = rig(scene, start + 70_000);
    journal.append([event('engine.link_up', start), event('engine.resynced', start + 1)]);
    if (end === 'its link is lost') journal.append([event('engine.link_down', start + 60_000)]);
    const before = prover();
    await before.catchUp();
    clock.advance(31_000);
    await before.catchUp();
    const after = prover();
    const finalised = (id: string, from: number): DomainEvent =>
      event('conversation.finalised', clock.now(), { conversation: conversation(id, start + from) });
    journal.append([finalised('ast1:1.1', 70_000)]);
    clock.advance(20_000);
    await after.catchUp();
    await after.catchUp();
    journal.append([event('engine.link_up', clock.now()), finalised('ast1:1.2', 75_000)]);
    clock.advance(20_000);
    for (let i = 0; i < 3; i += 1) await after.catchUp();
    assert.deepEqual(
      published.filter(({ type }) => type === 'history.difference'),
      [],
    );
  });

for (const reads of ['new rows', 'all rows again, because a call lasts'] as const)
  test(`proof - an absence that began while the service was dead is settled from its start, also after two short starts that read ${reads}`, async () => {
    await using scene = await historyScene();
    const start = 1_795_000_000_000;
    const { clock, journal, published, prover } = rig(scene, start);
    const link = (node: string) => ({
      ...event('engine.link_up', clock.now()),
      subject: `engine/${node}`,
    });
    const id = 'ast1:1.1';
    const lasting = event('call.started', start, { call_id: id, leg: { leg_id: id, extension: '1001' } });
    journal.append([...(reads === 'new rows' ? [] : [lasting]), link('ast1'), link('b')]);
    const before = prover(scene.store, ['b']);
    await before.catchUp();
    clock.advance(31_000);
    await before.catchUp();
    // Engine b is not reached, and the service is killed right after its start.
    for (let i = 0; i < 2; i += 1) {
      const it = prover(scene.store, ['b']);
      clock.advance(60_000);
      journal.append([link('ast1')]);
      await it.catchUp();
    }
    const after = prover(scene.store, ['b']);
    clock.advance(60_000);
    journal.append([link('ast1'), link('b')]);
    const to = rfc3339(clock.now());
    clock.advance(20_000);
    for (let i = 0; i < 3; i += 1) await after.catchUp();
    const settled = published.flatMap((one) =>
      one.type === 'history.settled' && one.data.to === to ? [one.data.from] : [],
    );
    // The silence is counted from the link of the engine if its row is read again.
    const from = reads === 'new rows' ? start - 10_000 : start;
    assert.ok(settled.includes(rfc3339(from)), settled.join());
  });

test('proof - the start of an absence is stored at the next pass if its first write fails', async () => {
  await using scene = await historyScene();
  const { clock, journal, prover } = rig(scene, 1_795_000_000_000);
  const id = 'ast1:1.1';
  const lasting = event('call.started', clock.now(), { call_id: id, leg: { leg_id: id, extension: '1001' } });
  journal.append([lasting, event('engine.link_up', clock.now())]);
  let broken = true;
  const it = prover({
    ...scene.store,
    transaction: async (work) => {
      if (broken) throw new ServiceError('store_unavailable', 'the disk is full');
      return await scene.store.transaction(work);
    },
  });
  journal.append([event('engine.link_up', clock.now())]);
  await assert.rejects(it.catchUp(), { code: 'store_unavailable' });
  broken = false;
  await it.catchUp();
  assert.notEqual(await readFact(scene.store.db<Tables>(), 'proof'), null);
});

test('proof - the first link of an engine that is added to a site settles nothing', async () => {
  await using scene = await historyScene();
  const { clock, journal, published, prover } = rig(scene, 1_795_000_000_000);
  const link = (node: string) => ({ ...event('engine.link_up', clock.now()), subject: `engine/${node}` });
  journal.append([link('ast1')]);
  const before = prover();
  await before.catchUp();
  clock.advance(31_000);
  await before.catchUp();
  const after = prover(scene.store, ['b']);
  journal.append([link('ast1')]);
  clock.advance(1_000);
  journal.append([link('b')]);
  clock.advance(20_000);
  for (let i = 0; i < 3; i += 1) await after.catchUp();
  assert.deepEqual(
    published.map(({ type }) => type),
    ['history.settled'],
    'the service was away from ast1 only',
  );
});

test('proof - absences of two engines at the same time are settled by two events, each with its node', async () => {
  await using scene = await historyScene();
  const start = 1_795_000_000_000;
  const { clock, journal, published, prover } = rig(scene, start);
  const links = () =>
    ['ast1', 'b'].map((node) => ({
      ...event('engine.link_up', clock.now()),
      subject: `engine/${node}`,
    }));
  journal.append(links());
  const before = prover(scene.store, ['b']);
  await before.catchUp();
  clock.advance(31_000);
  await before.catchUp();
  const after = prover(scene.store, ['b']);
  journal.append(links());
  clock.advance(20_000);
  for (let i = 0; i < 3; i += 1) await after.catchUp();
  const span = [rfc3339(start - 10_000), rfc3339(start + 31_000)];
  assert.deepEqual(
    published.map(({ type, data }) => {
      const { node, from, to } = data as EventData<'history.settled'>;
      return [type, node, from, to];
    }),
    [
      ['history.settled', 'ast1', ...span],
      ['history.settled', 'b', ...span],
    ],
  );
});

test('proof - with several engines, the ends of visits that events reported are kept over a start of the service', async () => {
  await using scene = await historyScene();
  const { clock, journal, prover } = rig(scene, 1_795_000_000_000);
  const heard = async () =>
    (JSON.parse((await readFact(scene.store.db<Tables>(), 'proof')) ?? '{}') as { heard?: unknown }).heard;
  const at = clock.now();
  journal.append([
    event('queue.caller_left', at, { queue: 'support', leg_id: 'b:1.2', call_id: 'b:1.1', reason: 'key' }),
  ]);
  for (let start = 0; start < 2; start += 1) {
    const it = prover(scene.store, ['b']);
    await it.catchUp();
    journal.append([event('conversation.finalised', clock.now(), { conversation: conversation('a:1', at) })]);
    clock.advance(31_000);
    for (let i = 0; i < 2; i += 1) await it.catchUp();
    assert.deepEqual(await heard(), [['support b:1.1', at]]);
    await scene.store.db<Tables>().deleteFrom('history_findings').execute();
  }
});

test('proof - the position in the journal is stored even while a conversation waits for its comparison', async () => {
  await using scene = await historyScene();
  const real = recordedIn(scene, recorded('internal-answered'));
  const { clock, journal, prover } = rig(scene, real.ended + 60_000);
  journal.append(eventsOf(real));
  await scene.feed(...recorded('internal-answered'));
  const it = prover();
  for (let i = 0; i < 5; i += 1) {
    clock.advance(8_000);
    journal.append([
      event('conversation.finalised', clock.now(), { conversation: conversation(real.id, real.started) }),
    ]);
    await it.catchUp();
  }
  const place = JSON.parse((await readFact(scene.store.db<Tables>(), 'proof')) ?? 'null') as {
    seq: number;
  } | null;
  assert.ok(place !== null && place.seq >= journal.head - 1, `stored ${place?.seq} of ${journal.head}`);
});

test('proof - a failed write loses no difference, and no difference is published a second time', async () => {
  await using scene = await historyScene();
  const real = recordedIn(scene, recorded('internal-answered'));
  const { clock, journal, published, prover } = rig(scene, real.ended + 60_000);
  journal.append([
    event('engine.link_up', real.started - 60_000),
    event('conversation.finalised', real.ended + 2, { conversation: conversation('ast1:1.1', real.started) }),
  ]);
  let broken = true;
  const fail = (): void => {
    if (broken) throw new ServiceError('store_unavailable', 'the disk is full');
  };
  const plugin = {
    transformQuery<A extends { node: N }, N extends { kind: string }>({ node }: A): N {
      if (node.kind === 'UpdateQueryNode') fail();
      return node;
    },
    transformResult: <R>({ result }: { result: R }): Promise<R> => Promise.resolve(result),
  };
  const it = prover({
    ...scene.store,
    db: (() => (scene.store.db() as Kysely<never>).withPlugin(plugin as never)) as Store['db'],
    transaction: async (work) => {
      fail();
      return await scene.store.transaction(work);
    },
  });
  const differences = () => published.filter(({ type }) => type === 'history.difference').length;
  await assert.rejects(it.catchUp(), { code: 'store_unavailable' });
  broken = false;
  await it.catchUp();
  assert.equal(differences(), 1);
  broken = true;
  await assert.rejects(it.catchUp(), { code: 'store_unavailable' });
  broken = false;
  clock.advance(60_000);
  await it.catchUp();
  assert.equal(differences(), 1);
});

test('proof - a call of another engine waits for the records of that engine, unless the engine is away or its records stay unread', async () => {
  for (const then of ['read', 'away', 'unreadable'] as const) {
    await using scene = await historyScene();
    const real = recordedIn(scene, recorded('internal-answered'));
    await scene.clear();
    const { clock, journal, published, prover } = rig(scene, real.ended + 60_000);
    let read: number | null = null;
    // The ids of these calls are those of `ast1`.
    const it = prover(scene.store, ['ast1'], (node) => (node === undefined ? clock.now() : read));
    const differences = () => published.filter(({ type }) => type === 'history.difference').length;
    journal.append(eventsOf(real));
    await it.catchUp();
    read = real.ended + 9_000;
    await it.catchUp();
    assert.equal(differences(), 0);
    if (then === 'read') read = real.ended + 11_000;
    else if (then === 'away')
      journal.append([{ ...event('engine.link_down', clock.now()), subject: 'engine/ast1' }]);
    else clock.advance(OTHERS_MS);
    await it.catchUp();
    assert.equal(differences(), 1, then);
  }
});

for (const then of ['its records stay unread', 'it is away again'] as const)
  test(`proof - an absence of another engine is settled only after its records were read, also if ${then}`, async () => {
    await using scene = await historyScene();
    const start = 1_795_000_000_000;
    const { clock, journal, published, prover } = rig(scene, start + 60_000);
    let read: number | null = null;
    const it = prover(scene.store, ['b'], (node) => (node === undefined ? clock.now() : read));
    const append = (type: string, at: number) =>
      journal.append([{ ...event(type, at), subject: 'engine/b' }]);
    append('engine.link_up', start);
    append('engine.link_down', start + 30_000);
    append('engine.link_up', start + 60_000);
    if (then === 'it is away again') append('engine.link_down', clock.now());
    const settled = async (): Promise<number> => {
      for (let i = 0; i < 2; i += 1) await it.catchUp();
      return published.filter(({ type }) => type === 'history.settled').length;
    };
    assert.equal(await settled(), 0);
    clock.advance(2 * OTHERS_MS);
    assert.equal(await settled(), 0, 'the visits of the absence may be in these records');
    read = clock.now();
    clock.advance(20_000);
    assert.equal(await settled(), 1);
  });

test('proof - the end of a visit after the end of its call begins no other story', async () => {
  await using scene = await historyScene();
  const stories = new Stories();
  const events = eventsOf(recordedIn(scene, recorded('queue-abandoned')));
  const left = events.find(({ type }) => type === 'queue.caller_abandoned') ?? assert.fail('nobody left');
  for (const [i, one] of events.entries()) stories.take(one, i + 1);
  for (const story of stories.ended()) stories.drop(story);
  stories.take(left, events.length + 1);
  assert.equal(stories.oldest(), null);
});

const S = 1_795_000_000;
const away = { from: (S + 500) * 1000, to: (S + 560) * 1000 };

/** Channels `[second after S, number among the SIP channels]`. */
const numbered = (...channels: (readonly [number, number | null])[]): Channels =>
  new Map(channels.map(([second, serial], i) => [`ast1:${S + second}.${100 + 7 * i}`, serial]));

test('proof - channels without a known number are no gap', () => {
  const around = (...seconds: number[]): Channels =>
    numbered([499, 8], ...seconds.map((second) => [second, null] as const), [570, 13]);
  const gap = { node: 'ast1', from: (S + 499) * 1000, to: (S + 571) * 1000 };
  assert.deepEqual(lostIn(away, around(566, 566, 569, 569), []), []);
  assert.deepEqual(lostIn(away, around(566, 566), []), [{ ...gap, channels: 2 }]);
  assert.deepEqual(lostIn(away, around(490, 490), []), [{ ...gap, channels: 4 }], 'before it');
  const chosen = [566, 490].map((second) => [`ast1:health-0a-${S + second}.1`, null] as const);
  assert.deepEqual(lostIn(away, new Map([...around(), ...chosen]), []), [{ ...gap, channels: 3 }]);
});
test('proof - missing channels between two known ones are a gap with its time', () => {
  const of = (...channels: (readonly [number, number | null])[]) => lostIn(away, numbered(...channels), []);
  assert.equal(of([490, 7], [499, 8]), null, 'nothing after it yet');
  assert.equal(
    of([490, 7], [499, 8], [570, null], [571, NO_SIP]),
    null,
    'nothing with a number after it yet',
  );
  assert.deepEqual(of([499, 8], [530, 9], [570, 10]), []);
  assert.deepEqual(of([499, 8], [530, NO_SIP], [570, 9]), [], 'only ids have numbers between them');
  const gap = { node: 'ast1', from: (S + 499) * 1000, to: (S + 571) * 1000 };
  assert.deepEqual(of([499, 8], [570, 13]), [{ ...gap, channels: 4 }]);
  assert.deepEqual(of([499, 8], [530, NO_SIP], [570, 13]), [{ ...gap, channels: 4 }]);
  assert.deepEqual(of([400, 1], [450, 5], [499, 8], [570, 9]), [], 'before it');
  assert.deepEqual(of([499, 80], [570, 3]), [], 'a new life of the engine counts anew');
  assert.deepEqual(of([570, 3], [570, 4], [480, 3], [499, 4]), [], 'numbers of both lives');
});

test('proof - the channels of an engine are compared with no others', () => {
  const around = new Map([
    [`ast1:${S + 499}.1`, 8],
    [`ast1:${S + 570}.2`, 9],
    [`b:${S + 499}.1`, 12],
    [`b:${S + 571}.2`, 17],
  ]);
  const gap = { node: 'b', from: (S + 499) * 1000, to: (S + 572) * 1000, channels: 4 };
  assert.deepEqual(lostIn(away, around, ['b']), []);
  assert.deepEqual(lostIn({ ...away, node: 'b' }, around, ['b']), [gap]);
  const before = new Map([...around].slice(0, 3));
  assert.equal(lostIn({ ...away, node: 'b' }, before, ['b']), null, 'nothing after it at b yet');
});

/** Channels of one call in the call records, with the time of its last record in seconds after S. */
async function recordCall(
  db: Kysely<Tables>,
  last: number,
  channels: Iterable<readonly [string, number | null]>,
): Promise<void> {
  const rows = [...channels].map(([channel, sip_serial]) => ({ channel, call: `${channel} `, sip_serial }));
  for (const { channel, call, sip_serial } of rows) {
    await db.insertInto('history_channels').values({ channel, call, sip_serial }).execute();
    await db.insertInto('history_calls').values({ call, root: call }).execute();
    await db
      .insertInto('history_conversations')
      .values({ root: call, last_us: (S + last) * 1_000_000, closing: 1, built: 1, built_by: 1 })
      .execute();
  }
}
test('proof - calls during a long one, hours before the next one, or already packed, are no gap', async () => {
  await using scene = await historyScene();
  const db = scene.store.db<Tables>();
  const gaps = (legs: readonly string[] = [], until = Infinity) =>
    gapsOf(db, away, legs, () => Promise.resolve([]), [], until);
  await recordCall(db, 565, [[`ast1:${S - 20_000}.1`, 1]]);
  await recordCall(db, -10_000, [[`ast1:${S - 11_000}.2`, 2]]);
  assert.equal(await gaps(), null);
  const next = `ast1:${S + 9_000}.9`;
  await recordCall(db, 9_010, [[next, 5]]);
  const gap = { node: 'ast1', from: (S - 11_000) * 1000, to: (S + 9_001) * 1000, channels: 2 };
  assert.equal(await gaps(), null);
  assert.equal(
    await gaps([next], (S + 8_999) * 1000),
    null,
    'the records of its neighbours may still arrive',
  );
  assert.deepEqual(await gaps([next]), [gap]);
  assert.deepEqual(
    await gaps([next, `ast1:${S + 8_000}.7`]),
    [{ ...gap, channels: 1 }],
    'its records are lost',
  );
  await recordCall(db, 12_000, [[`ast1:${S + 400}.3`, 3]]);
  const packed = { root: 'packed', last_us: (S + 8_010) * 1_000_000, closing: 1, built: 2, built_by: 1 };
  await db.insertInto('history_conversations').values(packed).execute();
  const channel = `ast1:${S + 8_000}.4`;
  const records = pack(
    JSON.stringify([
      { channel, sip_serial: 4, key: '1' },
      { channel, key: '2' },
    ]),
  );
  await db.insertInto('history_packs').values({ root: 'packed', records }).execute();
  assert.deepEqual(await gaps([next]), []);
});

test('proof - equal gaps of two engines are two events, and each names its node', async () => {
  await using scene = await historyScene();
  const { journal, published, prover } = rig(scene, (S + 900) * 1000);
  const both = (type: string, at: number, serial?: number): readonly DomainEvent[] =>
    ['ast1', 'b'].map((node) => {
      const id = `${node}:${S + at}.${serial}`;
      const data = serial === undefined ? {} : { call_id: id, leg: { leg_id: id, extension: '1001' } };
      return { ...event(type, (S + at) * 1000, data), subject: `engine/${node}` } as DomainEvent;
    });
  journal.append([
    ...both('call.started', 499, 8),
    ...both('engine.link_down', 500),
    ...both('engine.link_up', 505),
    ...both('call.started', 540, 12),
  ]);
  for (const node of ['ast1', 'b'])
    await recordCall(scene.store.db<Tables>(), 540, [
      [`${node}:${S + 499}.8`, 3],
      [`${node}:${S + 540}.12`, 7],
    ]);
  const it = prover(scene.store, ['b']);
  for (let i = 0; i < 3; i += 1) await it.catchUp();
  const span = { from: rfc3339((S + 499) * 1000), to: rfc3339((S + 541) * 1000), channels: 3 };
  assert.deepEqual(
    published.flatMap(({ type, data }) => (type === 'history.gap' ? [data] : [])),
    ['ast1', 'b'].map((node, i) => ({ finding_id: i + 1, node, ...span })),
  );
});

/** The store, and a count of the statements with the table's name. */
function counted(store: Store, table: string): { readonly store: Store; readonly count: () => number } {
  let n = 0;
  const plugin = {
    transformQuery<A extends { node: N }, N>({ node }: A): N {
      if (JSON.stringify(node).includes(table)) n += 1;
      return node;
    },
    transformResult: <R>({ result }: { result: R }): Promise<R> => Promise.resolve(result),
  };
  const over: Store = {
    ...store,
    db: (() => (store.db() as Kysely<never>).withPlugin(plugin as never)) as Store['db'],
  };
  return { store: over, count: () => n };
}

test('proof - test channels are read once, only if numbers are missing and a later call is known', async () => {
  await using scene = await historyScene();
  const { clock, journal, published, prover } = rig(scene, (S + 900) * 1000);
  const call = (n: number, at: number): DomainEvent =>
    event('call.started', (S + at) * 1000, {
      call_id: `ast1:${S + at}.${n}`,
      leg: { leg_id: `ast1:${S + at}.${n}`, extension: '1001' },
    });
  const absent = (from: number): readonly DomainEvent[] => [
    event('engine.link_down', (S + from) * 1000),
    event('engine.link_up', (S + from + 5) * 1000),
    event('engine.resynced', (S + from + 6) * 1000),
  ];
  const db = scene.store.db<Tables>();
  await keepTestChannels(db, [`ast1:${S + 505}.9`, `ast1:health-0a-${S + 505}.1`], clock.now());
  await recordCall(db, 499, [[`ast1:${S + 499}.8`, 3]]);
  journal.append([call(8, 499), ...absent(500), ...absent(520)]);
  const { store, count } = counted(scene.store, 'history_test_channels');
  const it = prover(store);
  for (let i = 0; i < 3; i += 1) await it.catchUp();
  assert.equal(count(), 0, 'no later call');
  await recordCall(db, 540, [[`ast1:${S + 540}.12`, 7]]);
  journal.append([call(12, 540)]);
  for (let i = 0; i < 3; i += 1) await it.catchUp();
  assert.equal(count(), 1);
  assert.deepEqual(
    published.flatMap((e) => (e.type === 'history.gap' ? [e.data.channels] : [])),
    [1],
  );
});

test('proof - a finding is kept while the journal can lead to it again, and until its event is published', async () => {
  await using scene = await historyScene();
  const { clock, journal, trim, published, prover } = rig(scene, (S + 900) * 1000);
  const finalised = (id: string): DomainEvent =>
    event('conversation.finalised', clock.now(), { conversation: conversation(id, clock.now() - 5_000) });
  const findings = async () =>
    (await scene.store.db<Tables>().selectFrom('history_findings').select('key').execute()).map((r) => r.key);
  let it = prover();
  journal.append([
    event('engine.link_up', clock.now() - 60_000),
    event('engine.resynced', clock.now() - 59_000),
  ]);
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await it.catchUp();
    await it.catchUp();
  };
  await pass(0);
  journal.append([finalised('ast1:1.1')]);
  await pass(20_000);
  assert.deepEqual(await findings(), ['not_in_journal ast1:1.1']);
  await pass(8 * 86_400_000);
  assert.deepEqual(await findings(), ['not_in_journal ast1:1.1'], 'the journal still has its rows');
  const before = journal.head;
  journal.append([finalised('ast1:1.2')]);
  await pass(20_000);
  trim(before + 1);
  it = prover();
  await pass(3_600_000);
  assert.deepEqual(await findings(), ['not_in_journal ast1:1.2'], 'less than a day old');
  it = prover();
  await pass(60_000);
  assert.deepEqual(
    published.map((e) => e.type),
    ['history.difference', 'history.difference'],
  );
});
