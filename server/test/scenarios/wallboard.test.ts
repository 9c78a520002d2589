import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { DEFAULT_SERVICE_LEVEL, QueueStatsReply } from '@offhook/contract/wallboard.ts';
import type { QueueStats } from '@offhook/contract/wallboard.ts';
import { emptyBoard } from '../../src/features/wallboard/board.ts';
import { figuresOf } from '../../src/features/wallboard/figures.ts';
import { reduce } from '../../src/features/wallboard/reduce.ts';
import { noSums, take } from '../../src/features/wallboard/sums.ts';
import { readJournal } from '../support/journal.ts';
import { conversation, conversationsOf, lasting } from '../support/conversation-stage.ts';
import type { Site } from '../support/site.ts';
import { steadyZone } from '../support/steady-zone.ts';
import { statusIs } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

async function stats(site: Site, queue: string): Promise<QueueStatsReply> {
  const { token } = await site.person('1002');
  const response = await fetch(`${site.base}/api/v1/queues/${queue}/stats`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(response.status, 200, await response.clone().text());
  return QueueStatsReply.parse(await response.json());
}
const statsOf = (site: Site, queue: string): QueueStats[] =>
  readJournal(site)
    .filter((event) => event.type === 'queue.stats' && event.subject === `queues/${queue}`)
    .map((event) => event.data as unknown as QueueStats);

/** Figures that do not change with time alone. */
function counted({ stats: { sums } }: QueueStatsReply) {
  const { busy_seconds: _b, available_seconds: _a, staffed_seconds: _s, ...rest } = sums;
  return rest;
}

/** The figures of a queue that the same reducer builds from the journal, up to this event. */
function replayed(site: Site, queue: string, end = Infinity): ReturnType<typeof figuresOf> {
  const board = emptyBoard();
  const all = noSums();
  for (const event of readJournal(site)) {
    if (event.seq >= end) break;
    const at = Date.parse((event as unknown as { time: string }).time);
    for (const one of reduce(board, { ...event, at } as unknown as DomainEvent)) {
      if (one.of === 'queue' && one.name === queue) take(all, one);
    }
  }
  return figuresOf(all, DEFAULT_SERVICE_LEVEL, null, 0);
}
function assertReplayed(site: Site, shown: QueueStatsReply): void {
  const figures = replayed(site, shown.stats.queue);
  assert.deepEqual(counted({ ...shown, stats: { ...shown.stats, ...figures } }), counted(shown));
}

/** Checks that each wait of this caller in queue sales is as long in the history as in its event, to half a second. */
async function assertSameWaits(site: Site, extension: string, visits: number): Promise<void> {
  const final = await until('the conversations to be final', async () => {
    const all = await conversationsOf(site, extension);
    return all.length >= visits && all.every((c) => c.state === 'final') && all;
  });
  const records = await Promise.all(final.map(({ id }) => conversation(site, id)));
  const known = new Map(records.flatMap((c) => c.queue_visits.map((v) => [v.leg_id, v.wait_time * 1000])));
  const events = readJournal(site).flatMap(({ type, data }) =>
    /^queue\.caller_(left|abandoned)$/.test(type) ? [data as { leg_id: string; waited_ms: number }] : [],
  );
  assert.equal(events.length, visits);
  for (const { leg_id, waited_ms } of events) {
    const ms = known.get(leg_id);
    assert.ok(ms !== undefined && Math.abs(ms - waited_ms) < 500, `${waited_ms} ms, ${ms} in the history`);
  }
}

describe('wallboard', () => {
  // Its figures are those of a day.
  const site = useSite({ env: { OFFHOOK_SITE_ZONE: steadyZone() } });

  test('wallboard - one call is answered and one abandoned: figures and queue.stats change, and survive kill -9 of the service', async () => {
    await using caller = await site().phone('1001');
    await using agent = await site().phone('1003');
    const zoe = await site().person('1003');
    await statusIs(zoe, 'READY');
    assert.equal((await stats(site(), 'sales')).stats.service_level, null, 'nothing to divide by');

    const call = await caller.invite('510');
    const incoming = await agent.incoming();
    incoming.ring();
    await until(
      'the caller to be published as waiting',
      () => statsOf(site(), 'sales').at(-1)?.waiting === 1,
    );
    await incoming.answer();
    await until('an answer in queue.stats', () => statsOf(site(), 'sales').at(-1)?.sums.answered === 1);
    await call.hangup();
    await incoming.ended();

    // It lasts five seconds, which a slow machine may look away from.
    await until('the wrap-up in queue.stats', () =>
      statsOf(site(), 'sales').some(({ agents }) => agents.wrap_up === 1),
    );
    const finished = await fetch(`${site().base}/api/v1/agents/1003/wrap-up`, {
      method: 'POST',
      headers: { authorization: `Bearer ${zoe.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ finish: true }),
    });
    // On a slow machine the five seconds may be over.
    const { code } = (await finished.json()) as { code?: string };
    assert.ok(finished.status === 200 || code === 'not_in_wrap_up', `${finished.status} ${code}`);
    await until('a handled call in queue.stats', () => statsOf(site(), 'sales').at(-1)?.sums.handled === 1);

    const second = await caller.invite('510');
    (await agent.incoming()).ring();
    await second.answered();
    await second.hangup();
    await until(
      'an abandoned caller in queue.stats',
      () => statsOf(site(), 'sales').at(-1)?.sums.abandoned === 1,
    );

    const before = await stats(site(), 'sales');
    const { sums, service_level, service_level_formula, threshold_seconds } = before.stats;
    assert.deepEqual(
      [
        sums.offered,
        sums.calls,
        sums.answered,
        sums.answered_in_threshold,
        sums.abandoned,
        sums.open,
        sums.lost,
      ],
      [2, 2, 1, 1, 1, 0, 0],
    );
    assert.deepEqual([service_level_formula, threshold_seconds], ['ignore_short', 20]);
    assert.equal(service_level, 1 / (2 - sums.abandoned_short));
    assert.equal(before.stats.waiting, 0);
    assert.equal(sums.handled, 1);
    assert.ok(sums.busy_seconds <= sums.staffed_seconds && sums.wrap_up_seconds <= 5);

    await assertSameWaits(site(), '1001', 2);

    const killed = Date.now();
    await site().kill('SIGKILL');
    await site().start();
    const after = await stats(site(), 'sales');
    assert.deepEqual(counted(after), counted(before));
    const [gap, ...others] = after.gaps;
    assert.deepEqual([gap?.reason, others], ['unheard', []], 'whoever called meanwhile is not counted');
    assert.ok(Date.parse(gap!.from) <= killed && Date.parse(gap!.to) > killed);
    assertReplayed(site(), after);
  });

  test('wallboard - an agent consults another queue and joins the calls: the rest of the talk is handling time of the consulted agent, as in the history', async () => {
    await using customer = await site().phone('1001');
    await using first = await site().phone('1003');
    await statusIs(await site().person('1003'), 'READY');
    const before = (await stats(site(), 'sales')).stats.sums;
    const call = await customer.invite('500');
    const at = await first.incoming();
    at.ring();
    await at.answer();
    await call.answered();
    await at.hold();
    await using second = await site().phone('1004');
    const asked = await site().person('1004');
    await statusIs(asked, 'READY');
    const consult = await first.invite('510');
    const further = await second.incoming();
    further.ring();
    await further.answer();
    await consult.answered();
    await until('the second agent to talk', () =>
      readJournal(site()).some((e) => e.type === 'agent.talking' && e.subject === 'agents/1004'),
    );
    await lasting(1000);
    await at.join(consult);
    await at.transferred();
    await lasting(2200);
    assert.equal((await stats(site(), 'sales')).stats.sums.handled, before.handled);
    await call.hangup();
    await further.ended();
    const { talk_seconds } = await until('the handling time of the consulted agent', async () => {
      const { sums } = (await stats(site(), 'sales')).stats;
      return sums.handled === before.handled + 1 && sums;
    });
    const row = await until('the row of the consulted agent', async () =>
      (await asked.history()).calls.find(({ ended_at }) => ended_at !== null),
    );
    const board = talk_seconds - before.talk_seconds;
    assert.ok(
      Math.abs(board - row.talk_seconds) <= 1 && board >= 3,
      `${board} s on the board, ${row.talk_seconds} s in the history`,
    );
  });

  test('wallboard - waits that end while the service is killed are lost until the call records show their outcome', async () => {
    await using first = await site().phone('1001');
    await using second = await site().phone('1007');
    await using third = await site().phone('1008');
    await using agent = await site().phone('1003');
    await statusIs(await site().person('1003'), 'READY');
    const before = (await stats(site(), 'sales')).stats.sums;
    const answered = await first.invite('510');
    const incoming = await agent.incoming();
    incoming.ring();
    const gaveUp = await second.invite('510');
    await until('two callers', async () => (await stats(site(), 'sales')).stats.waiting === 2);
    await site().kill('SIGKILL');
    const head = readJournal(site()).at(-1)!.seq;
    await incoming.answer();
    await gaveUp.answered();
    await gaveUp.hangup();
    const unseen = await third.invite('510');
    await unseen.answered();
    await lasting(1200);
    await unseen.hangup();
    await answered.hangup();
    await incoming.ended();
    await site().start();
    const outcomes = (sums: QueueStats['sums']) => [
      sums.offered - before.offered,
      sums.calls - before.calls,
      sums.answered - before.answered,
      sums.abandoned - before.abandoned,
      sums.flowed_out - before.flowed_out,
      sums.lost - before.lost,
      sums.open,
    ];
    const settled = await until('the gap to be settled', async () => {
      const reply = await stats(site(), 'sales');
      return reply.gaps.length > 0 && reply.gaps.every((gap) => gap.settled) && reply;
    });
    assert.deepEqual(outcomes(settled.stats.sums), [3, 3, 1, 2, 0, 0, 0]);
    const first_outcome = readJournal(site()).find(
      ({ seq, type }) => seq > head && type === 'queue.caller_settled',
    );
    const { sums: lost } = replayed(site(), 'sales', first_outcome?.seq);
    assert.deepEqual(outcomes(lost), [0, 2, 0, 0, 0, 2, 0], 'nobody saw how they ended');
    const published = await until('queue.stats with it', () => {
      const newest = statsOf(site(), 'sales').at(-1);
      return newest?.sums.lost === before.lost && newest;
    });
    assert.deepEqual(outcomes(published.sums), outcomes(settled.stats.sums));
    await site().kill('SIGKILL');
    await site().start();
    const after = await stats(site(), 'sales');
    assert.deepEqual(counted(after), counted(settled));
    assertReplayed(site(), after);
  });

  test('wallboard - the engine restarts during a queue call: nothing is counted twice', async () => {
    await using caller = await site().phone('1007');
    await using waiting = await site().phone('1008');
    await using agent = await site().phone('1003');
    const before = (await stats(site(), 'sales')).stats.sums;
    await statusIs(await site().person('1003'), 'READY');
    await caller.invite('510');
    const incoming = await agent.incoming();
    incoming.ring();
    await incoming.answer();
    await until(
      'the answer',
      async () => (await stats(site(), 'sales')).stats.sums.answered === before.answered + 1,
    );
    await waiting.invite('510');
    await until('a waiting caller', async () => (await stats(site(), 'sales')).stats.waiting === 1);
    process.kill(site().enginePid()!, 'SIGKILL');
    const after = await until(
      'the caller to be given up, and the engine to be back',
      async () => {
        const reply = await stats(site(), 'sales');
        return reply.stats.sums.lost === before.lost + 1 && !reply.stale && reply.stats;
      },
      { ms: 60_000 },
    );
    assert.equal(after.waiting, 0);
    assert.deepEqual(
      [after.sums.offered, after.sums.answered, after.sums.abandoned, after.sums.flowed_out, after.sums.open],
      [before.offered + 1, before.answered + 1, before.abandoned, before.flowed_out, 0],
      'the one who waited is lost and in no denominator',
    );
    await site().ready();
  });
});
