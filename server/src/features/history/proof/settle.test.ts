import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { e164In } from '../../../numbers/e164.ts';
import { recordedIn } from '../../../../test/support/call-records.ts';
import { historyScene, recorded } from '../../../../test/support/history-scene.ts';
import { manualClock } from '../../../../test/support/sessions-fixture.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { Store } from '../../../ports/store.ts';
import { buildRecord } from '../record/build.ts';
import type { ConversationRecord } from '../record/record.ts';
import { withDirectory } from '../record/records.ts';
import type { Tables } from '../store/tables.ts';
import { concerns, createAbsences } from './gaps.ts';
import { createSettler, settledIn } from './settle.ts';
import type { Heard } from './settle.ts';

const S = 1_000;
const row = (type: string, at: number, node = 'ast1') => ({ seq: 1, type, subject: `engine/${node}`, at });

async function record(name: string): Promise<ConversationRecord> {
  await using scene = await historyScene();
  const records = recorded(name).map((r) => withDirectory(r, scene.directory));
  return buildRecord(records, { e164: e164In('DE') }) ?? assert.fail(`${name} is no conversation`);
}

test('settle - a visit that ended during an absence is published with its outcome, once it is over', async () => {
  const abandoned = await record('queue-abandoned');
  const [visit] = abandoned.visits;
  assert.ok(visit);
  const { queue, leg_id, from, to } = visit;
  const known = [`${queue} ${leg_id}`];
  const gist = (absence: { from: number; to: number }, known: readonly string[], of = abandoned) =>
    settledIn(of, { ...absence, known }, 7, [], new Map()).map(({ data }) => data);
  const data = {
    call_id: abandoned.id,
    queue,
    leg_id,
    joined_at: new Date(from).toISOString(),
    outcome: 'abandoned',
    waited_seconds: Math.floor((to - from) / 1000),
    waited_ms: to - from,
  };
  const around = { from: from - 60_000, to: to + 60_000 };
  assert.deepEqual(gist({ from: from + 1, to: to + 60_000 }, known), [{ ...data, told: true }]);
  assert.deepEqual(gist(around, []), [{ ...data, told: false }]);
  // Visits with their start or end in the journal are reported by its own events.
  assert.deepEqual(gist({ from: from + 1, to: to + 60_000 }, []), []);
  assert.deepEqual(gist({ from: from - 60_000, to: to - 1 }, []), []);
  assert.deepEqual(gist({ from: to + 5_000, to: to + 60_000 }, known), []);
  assert.deepEqual(gist({ from: from - 60_000, to: to - 5_000 }, known), []);
  assert.deepEqual(
    gist(around, known, { ...abandoned, ended_by: 'engine_lost' }),
    [],
    'nobody knows who hung up',
  );
  const waits = { ...abandoned, visits: [{ ...visit, outcome: 'waiting' as const }] };
  assert.deepEqual(gist(around, known, waits), []);
});

test('settle - the visit of a transferee is known by the leg that joined the queue', async () => {
  const passedOn = await record('attended-into-queue');
  const [{ queue, leg_id, from, to }] = passedOn.visits as [ConversationRecord['visits'][number]];
  const joined = passedOn.legs.find(({ disposition }) => disposition === 'diverted')!.leg_id;
  assert.notEqual(joined, leg_id);
  const absence = { from: from + 1, to: to + 60_000, known: [`${queue} ${joined}`] };
  assert.deepEqual(
    settledIn(passedOn, absence, 7, [], new Map()).map(({ data }) => [
      (data as { leg_id: string }).leg_id,
      (data as { told: boolean }).told,
      (data as { outcome: string }).outcome,
    ]),
    [[joined, true, 'answered']],
  );
});

test('settle - an absence begins with the last event of the engine, not with a finding of the service', () => {
  const absences = createAbsences({ heard: 5 });
  for (const [at, type] of [
    [10, 'queue.caller_joined'],
    [50, 'conversation.finalised'],
    [51, 'queue.stats'],
    [52, 'queue.caller_settled'],
  ] as const)
    assert.equal(absences.take(row(type, at)), null);
  assert.deepEqual(absences.take(row('engine.link_up', 60)), { from: 10, to: 60, node: 'ast1' });
  assert.equal(absences.take(row('engine.resynced', 61)), null);
  const restarted = createAbsences({ heard: 5 });
  assert.deepEqual(restarted.take(row('engine.link_up', 60)), { from: 5, to: 60, node: 'ast1' });
});

test('settle - an absence of one engine is not ended by another one, and does not concern its calls', () => {
  const absences = createAbsences({ others: ['b'] });
  const away = (from: number, id: string): boolean => absences.overlaps({ from, to: from + 1 }, [id]);
  absences.take(row('engine.link_up', 10 * S));
  absences.take(row('engine.resynced', 11 * S));
  assert.deepEqual(absences.take(row('engine.link_up', 11 * S, 'b')), { from: S, to: 11 * S, node: 'b' });
  assert.ok(!away(20 * S, 'b:1.1'), 'its link is followed by no resync of its own');
  // The call is one of the first engine: b is silent since at most 10 s before it.
  absences.take(row('call.started', 30 * S));
  absences.take(row('engine.link_down', 32 * S, 'b'));
  absences.take(row('engine.resynced', 40 * S));
  assert.deepEqual([away(50 * S, 'b:1.1'), away(50 * S, 'ast1:1.1')], [true, false]);
  assert.deepEqual([away(22 * S, 'b:1.1'), away(15 * S, 'b:1.1')], [true, false]);
  const absence = { from: 20 * S, to: 60 * S, node: 'b' };
  assert.deepEqual(absences.take(row('engine.link_up', 60 * S, 'b')), absence);
  assert.deepEqual([away(50 * S, 'b:1.1'), away(50 * S, 'ast1:1.1')], [true, false]);
  assert.ok(!away(70 * S, 'b:1.1'));
});

test('settle - an absence that lasts over a start of the service began before it', () => {
  const before = createAbsences({ others: ['b'] });
  before.take(row('engine.link_up', 10 * S, 'b'));
  before.take(row('engine.link_down', 30 * S, 'b'));
  const lasting = JSON.parse(JSON.stringify(before.lasting)) as typeof before.lasting;
  assert.deepEqual(lasting, [['b', 10 * S]]);
  const after = createAbsences({ lasting, heard: 90 * S, head: 0, others: ['b'] });
  const own = { from: 80 * S, to: 91 * S, node: 'ast1' };
  assert.deepEqual(after.take(row('engine.link_up', 91 * S)), own);
  assert.ok(after.overlaps({ from: 50 * S, to: 51 * S }, ['b:1.1']));
  const absence = { from: 10 * S, to: 99 * S, node: 'b' };
  assert.deepEqual(after.take(row('engine.link_up', 99 * S, 'b')), absence);
  assert.deepEqual(after.lasting, []);
  assert.deepEqual(createAbsences({ lasting, others: [] }).lasting, [], 'b is no engine of the site');
});

test('settle - after a start of the service each engine was away since 10 s before the newest event before it', () => {
  const absences = createAbsences({ heard: 15 * S, head: 2, others: ['b'] });
  const rows = [
    row('engine.link_up', 20 * S, 'b'),
    row('call.ended', 30 * S),
    row('engine.link_up', 60 * S),
    row('call.started', 70 * S),
    row('engine.link_up', 90 * S, 'b'),
    row('engine.link_down', 95 * S, 'b'),
    row('engine.link_up', 99 * S, 'b'),
  ].map((one, i) => ({ ...one, seq: i + 1 }));
  assert.deepEqual(
    rows.flatMap((one) => absences.take(one) ?? []),
    [
      { from: 5 * S, to: 20 * S, node: 'b' },
      { from: 20 * S, to: 60 * S, node: 'ast1' },
      { from: 20 * S, to: 90 * S, node: 'b' },
      { from: 90 * S, to: 99 * S, node: 'b' },
    ],
  );
});

test('settle - an absence that began while the service was dead keeps its start over the next start', () => {
  const before = createAbsences({ heard: 15 * S, head: 0, others: ['b'] });
  const first = { from: 5 * S, to: 20 * S, node: 'ast1' };
  assert.deepEqual(before.take(row('engine.link_up', 20 * S)), first);
  before.take(row('call.ended', 50 * S));
  const linked = JSON.parse(JSON.stringify(before.linked)) as typeof before.linked;
  const after = createAbsences({ linked, heard: 50 * S, head: 0, others: ['b'] });
  const own = { from: 40 * S, to: 60 * S, node: 'ast1' };
  assert.deepEqual(after.take(row('engine.link_up', 60 * S)), own);
  assert.ok(after.overlaps({ from: 30 * S, to: 31 * S }, ['b:1.1']), 'it lasts');
  const absence = { from: 5 * S, to: 70 * S, node: 'b' };
  assert.deepEqual(after.take(row('engine.link_up', 70 * S, 'b')), absence);
  assert.deepEqual(after.linked, [
    [null, null],
    ['b', null],
  ]);
});

test('settle - the first link of an engine ends no absence, the next one does', () => {
  const absences = createAbsences({ linked: [[null, null]], heard: 15 * S, others: ['b'] });
  assert.equal(absences.take(row('engine.link_up', 20 * S, 'b')), null);
  assert.ok(absences.overlaps({ from: S, to: 2 * S }, ['b:1.1']), 'no call before it was reported');
  absences.take(row('engine.link_down', 30 * S, 'b'));
  const absence = { from: 20 * S, to: 40 * S, node: 'b' };
  assert.deepEqual(absences.take(row('engine.link_up', 40 * S, 'b')), absence);
  const { linked } = absences;
  assert.deepEqual(
    createAbsences({ linked, others: [] }).linked,
    [[null, null]],
    'b is no engine of the site',
  );
});

test('settle - an absence of a former leading node is one of the engine that leads now, or of the node if it is one of the site', () => {
  const absence = { from: S, to: 2 * S, node: 'a' };
  assert.deepEqual([concerns(absence, 'a', []), concerns(absence, 'b', [])], [true, true]);
  assert.deepEqual([concerns(absence, 'a', ['a']), concerns(absence, 'b', ['a'])], [true, false]);
});

test('settle - a visit is settled in an absence of the engine of its queue', async () => {
  await using scene = await historyScene();
  const fixture = (node: string) =>
    recordedIn(nodeId(node), new URL(`../fixtures/engines/${node}.cel`, import.meta.url));
  await scene.feed(...fixture('a'), ...fixture('b'));
  const [, { record: answered } = assert.fail('no call')] = await scene.conversations();
  const [visit = assert.fail('no visit')] = answered.visits;
  assert.equal(visit.leg_id.split(':')[0], 'a', 'its caller is at the other engine');
  const around = { from: visit.from - 60_000, to: visit.to + 60_000, known: [] };
  const found = (node: object, of = answered, heard: readonly Heard[] = []) =>
    settledIn(of, { ...around, ...node }, 7, ['b'], new Map(heard.map(([of, end]) => [of, [end]]))).length;
  assert.deepEqual([found({ node: 'b' }), found({})], [1, 0]);
  // Without an offer only the call of the other half shows the other engine.
  const abandoned: ConversationRecord = {
    ...answered,
    legs: answered.legs.filter(({ leg_id }) => leg_id === visit.leg_id),
    visits: [{ ...visit, outcome: 'abandoned', agent: null, agent_leg: null, offers: [] }],
  };
  assert.deepEqual([found({ node: 'b' }, abandoned), found({}, abandoned)], [1, 1]);
  const calls = [answered.id, ...answered.merged_from];
  assert.deepEqual(new Set(calls.map((call) => call.split(':')[0])), new Set(['a', 'b']));
  for (const call of calls) {
    const heard = (at: number) => found({ node: 'b' }, abandoned, [[`${visit.queue} ${call}`, at]]);
    assert.deepEqual([heard(visit.to + 500), heard(visit.to - 60_000)], [0, 1], call);
  }
});

test('settle - a visit of the silence before a lost link is settled, unless an event reported its end', async () => {
  await using scene = await historyScene();
  await scene.feed(...recorded('queue-abandoned'));
  const [{ record: abandoned } = assert.fail('no call')] = await scene.conversations();
  const [visit = assert.fail('no visit')] = abandoned.visits;
  const lost = visit.to + S;
  for (const told of [false, true]) {
    await scene.store.db<Tables>().deleteFrom('history_findings').execute();
    const absences = createAbsences({ others: ['b'] });
    const clock = manualClock(visit.to + 120_000);
    const before = createSettler({ store: scene.store, clock, others: ['b'] });
    absences.take(row('engine.link_up', visit.from - 60_000));
    // An event of engine b hides that the first engine is silent.
    absences.take(row('call.started', lost, 'b'));
    // A later visit of the call to the queue does not hide the end of the first.
    for (const at of told ? [visit.to, visit.to + 3 * S] : [])
      before.take({
        type: 'queue.caller_abandoned',
        at,
        observed: 'live',
        data: { queue: visit.queue, leg_id: visit.leg_id, call_id: abandoned.id },
      } as unknown as DomainEvent);
    absences.take(row('engine.link_down', lost + S));
    const absence = absences.take(row('engine.link_up', lost + 60_000)) ?? assert.fail('it was not away');
    before.add(absence);
    // A restart of the service keeps both.
    const after = createSettler({ store: scene.store, clock, others: ['b'] });
    after.begin(before.unsettled, before.heard);
    assert.equal(await after.catchUp(() => clock.now()), true);
    const findings = await scene.store.db<Tables>().selectFrom('history_findings').select('kind').execute();
    assert.deepEqual(
      findings.map(({ kind }) => kind),
      told ? ['settled'] : ['visit', 'settled'],
    );
  }
});

test('settle - a visit that a resync ended is known to the absence before it, and to one of another engine', async () => {
  await using scene = await historyScene();
  const settler = createSettler({ store: scene.store, clock: manualClock(0), others: ['b'] });
  const known = () => settler.unsettled.map((absence) => absence.known);
  settler.add({ from: 5, to: 10 });
  settler.take({
    type: 'queue.caller_left',
    at: 10,
    observed: 'resync',
    data: { queue: 'support', leg_id: 'b:1.1' },
  } as unknown as DomainEvent);
  settler.add({ from: 5, to: 12, node: 'b' });
  settler.add({ from: 20, to: 30 });
  assert.deepEqual(known(), [['support b:1.1'], ['support b:1.1'], []]);
});

test('settle - a failed write loses no visit of an absence', async () => {
  await using scene = await historyScene();
  await scene.feed(...recorded('queue-abandoned'));
  const [visit = assert.fail('no visit')] = (await scene.conversations())[0]!.record.visits;
  const clock = manualClock(visit.to + 120_000);
  let broken = true;
  const store: Store = {
    ...scene.store,
    transaction: async (work) => {
      if (broken) throw new ServiceError('store_unavailable', 'the disk is full');
      return await scene.store.transaction(work);
    },
  };
  const settler = createSettler({ store, clock, others: [] });
  settler.add({ from: visit.from - 60_000, to: visit.to + 60_000 });
  await assert.rejects(
    settler.catchUp(() => clock.now()),
    { code: 'store_unavailable' },
  );
  broken = false;
  clock.advance(2_000);
  assert.equal(await settler.catchUp(() => clock.now()), true);
  const findings = await scene.store.db<Tables>().selectFrom('history_findings').select('kind').execute();
  assert.deepEqual(
    findings.map(({ kind }) => kind),
    ['visit', 'settled'],
  );
});
