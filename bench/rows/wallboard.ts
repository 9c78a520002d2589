/** P6: a thousand wallboards of a busy call centre. */
import { QUICK, ROUNDS, ask, atMost, count, cpuOf, figure } from '../lib.ts';
import type { Row } from '../lib.ts';
import type { Flooded } from '../stream/questions.ts';
import { startSubject } from '../stream/subjects.ts';

const BOARDS = 1_000;
const QUEUES = 50;
const FRAMES_PER_SECOND = 3_000;
const SECONDS = QUICK ? 5 : 15;

/**
 * Leaves out values that change with time alone: they are published with the next change, and differ between clients.
 */
function settled(stats: unknown): string {
  const {
    occupancy: _o,
    longest_wait_seconds: _l,
    sums,
    ...rest
  } = stats as {
    occupancy: unknown;
    longest_wait_seconds: unknown;
    sums: Record<string, unknown>;
  };
  const { busy_seconds: _b, available_seconds: _a, staffed_seconds: _s, ...counted } = sums;
  return JSON.stringify({ ...rest, counted });
}

export async function p6(): Promise<Row> {
  const site = { extensions: 1_000, queues: QUEUES };
  await using ours = await startSubject('ours', site, { clients: BOARDS, level: 'supervisor' });
  await ours.connect({ count: BOARDS, topics: 'board' });
  const flood = { ask: 'flood', rate: FRAMES_PER_SECOND, seconds: SECONDS } as const;
  const core: number[] = [];
  const messages: number[] = [];
  const published: number[] = [];
  const check = (done: Flooded): Flooded => {
    if (done.wrong > 0 || done.seconds > SECONDS * 1.1) throw new Error(JSON.stringify(done).slice(0, 500));
    return done;
  };
  // Calls continue from one round to the next, as in a call centre; only the last flood waits for all its events.
  let before = check(await ours.ask<Flooded>({ ...flood, settle: false }));
  for (let round = 0; round < ROUNDS; round++) {
    const cpuBefore = cpuOf(ours.process.pid!);
    const done = check(await ours.ask<Flooded>({ ...flood, settle: false }));
    core.push((cpuOf(ours.process.pid!) - cpuBefore) / 1e4 / done.seconds);
    messages.push((done.received - before.received) / done.seconds);
    published.push((done.stats - before.stats) / done.seconds / QUEUES);
    before = done;
  }
  const last = check(await ours.ask<Flooded>(flood));
  const stats = await ask<Record<string, unknown>>(ours.process, { ask: 'stats' });
  const stale = Object.entries(last.last).filter(
    ([queue, shown]) => settled(shown) !== settled(stats[queue]),
  );
  const lost = stale.length + last.different;
  return {
    id: 'P6',
    title: `${count(BOARDS)} wallboards of ${QUEUES} queues, ${count(FRAMES_PER_SECOND)} frames of the engine a second`,
    figures: [
      figure('Offhook', '% of one core', 'ours', core, 'higher'),
      figure('messages to all wallboards', '/s', 'ours', messages),
      figure('figures of one queue told', '/s', 'ours', published),
    ],
    gates: [
      atMost('share of one core', 50, core, ' %'),
      atMost('final states that a wallboard lacks', 0, lost),
    ],
    notes: [
      'Recorded calls; the last figures of every queue are compared with those of the service, and every wallboard with the first.',
    ],
  };
}
