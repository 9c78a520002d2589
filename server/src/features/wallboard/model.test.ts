import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { createModel } from '../../pbx/model.ts';
import { MOVES, SimEngine } from '../../../test/support/simulated-engine.ts';
import type { Move } from '../../../test/support/simulated-engine.ts';
import { T0, checkpointOf, node } from '../../../test/support/model-scene.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import type { SiteEvent } from '../../ports/live.ts';
import { emptyBoard, readBoard, writeBoard } from './board.ts';
import { countedBy } from './handling.ts';
import { reduce } from './reduce.ts';
import { SumTable } from './sum-table.ts';
import { fold, noSums, take } from './sums.ts';
import type { Sums } from './sums.ts';

const PHONES = ['1001', '1002', '1003', '1004', '1005', '1006'];
const queue = (name: string, wrap_up_seconds: number) => ({
  name,
  agents: ['1002', '1003', '1004'],
  ring_seconds: 15,
  wrap_up_seconds,
  max_wait_seconds: 0,
});
const SITE: SiteEvent = {
  type: 'site.changed',
  at: T0,
  extensions: PHONES.map((extension) => ({
    extension,
    name: extension,
    endpoints: [{ kind: 'sip', name: extension }],
  })),
  queues: [queue('support', 0), queue('sales', 20)],
  trunks: [],
  pause_reasons: [],
  services: [],
};
const QUEUE_MOVES =
  'join_queue join_queue offer offer accept accept hangup release hold pause reject abandon leave_queue blind device logout login dial answer'.split(
    ' ',
  ) as Move['do'][];
const move = fc.record({ do: fc.constantFrom(...QUEUE_MOVES, ...MOVES), a: fc.nat(50), b: fc.nat(50) });
/** Faults of the engine's frames, with snapshots and restarts of the service in between. */
const flow = fc.record({
  moves: fc.array(move, { minLength: 10, maxLength: 80, size: 'max' }),
  drop: fc.array(fc.nat(600), { maxLength: 10 }),
  twice: fc.array(fc.nat(600), { maxLength: 10 }),
  snapshots: fc.array(fc.nat(80), { maxLength: 4 }),
  kills: fc.array(fc.nat(80), { maxLength: 3 }),
});

test('wallboard reducer - calls of the model at random, with lost and doubled frames, resyncs and kills: each visit has one outcome, no talk stays open', () => {
  fc.assert(
    fc.property(flow, ({ moves, drop, twice, snapshots, kills }) => {
      const sim = new SimEngine();
      let model = createModel();
      model.step(SITE);
      const published: DomainEvent[] = [];
      const step = (event: EngineEvent): void => {
        const out = model.step(event);
        model.committed(out);
        published.push(...out);
      };
      const begin = (): void => {
        step({ at: sim.at, type: 'engine.link', node, up: true, reason: '', boot_id: 'b' });
        step(sim.snapshotEvent());
      };
      begin();
      for (const a of [1, 2, 3]) for (const b of [1, 2]) sim.play({ do: 'login', a, b });
      let n = 0;
      const drain = (): void => {
        for (const event of sim.log.splice(0)) {
          n += 1;
          if (drop.includes(n)) continue;
          step(event);
          if (twice.includes(n)) step(event);
        }
      };
      for (const [i, one] of moves.entries()) {
        sim.play(one);
        drain();
        if (snapshots.includes(i)) step(sim.snapshotEvent());
        if (!kills.includes(i)) continue;
        const kept = checkpointOf(model);
        model = createModel();
        model.restore(kept, []);
        model.step(SITE);
        begin();
      }
      sim.hangupAll();
      drain();
      sim.at += 1000;
      step(sim.snapshotEvent());

      let board = emptyBoard();
      const table = new SumTable();
      for (const [i, event] of published.entries()) {
        if (i % 7 === 0) {
          const kept = readBoard(writeBoard(board))!;
          assert.deepEqual(board.agentsOf, kept.agentsOf, 'the index is that of the agents');
          board = kept;
        }
        for (const one of reduce(board, event)) take(table.at(one.of, one.name, one.slot), one);
      }
      for (const [extension, agent] of board.agents) {
        const { handling, beside } = agent;
        assert.equal(beside, undefined, `a call of ${extension} waits for ever`);
        assert.ok(handling === null || handling.wrap_up !== null, `${extension} talks for ever`);
      }
      const running = countedBy(board, sim.at + 3_600_000);
      for (const { name } of SITE.queues) {
        const [own, all] = [new SumTable(), new SumTable()];
        for (const one of countedBy(board, sim.at + 3_600_000, name))
          take(own.at(one.of, one.name, one.slot), one);
        for (const one of running) if (one.name === name) take(all.at(one.of, one.name, one.slot), one);
        assert.deepEqual(total(own, 'queue', name), total(all, 'queue', name), 'as among all queues');
      }
      for (const one of running) take(table.at(one.of, one.name, one.slot), one);
      const of = (type: DomainEvent['type'], name: string, reason?: string): number =>
        published.filter(({ type: t, data }) => {
          const { queue: q, reason: r } = data as { queue?: string; reason?: string };
          return t === type && q === name && (reason === undefined || r === reason);
        }).length;
      for (const { name } of SITE.queues) {
        const sums = total(table, 'queue', name);
        assert.equal(sums.joined, of('queue.caller_joined', name));
        assert.equal(sums.abandoned, of('queue.caller_abandoned', name));
        assert.equal(sums.answered, of('queue.caller_left', name, 'answered'));
        assert.equal(sums.lost, of('queue.caller_left', name, 'engine_lost'));
        assert.equal(
          sums.joined,
          sums.answered + sums.abandoned + sums.flowed_out + sums.lost,
          'one outcome each',
        );
        assert.ok(sums.handled <= of('agent.talking', name), 'no more handled than talked');
        assert.ok(sums.calls <= sums.joined);
      }
      assert.equal(board.visits.size, 0);
      for (const extension of PHONES) {
        const { staffed_ms, busy_ms, available_ms } = total(table, 'agent', extension);
        assert.ok(busy_ms + available_ms <= staffed_ms, `${extension} works no longer than it is there`);
      }
    }),
    { numRuns: 150 },
  );
});
function total(table: SumTable, of: 'queue' | 'agent', name: string): Sums {
  const all = noSums();
  for (const sums of table.slots(of, name)?.values() ?? []) fold(all, sums);
  return all;
}
