/** `flood`: the engine writes recorded calls at a rate; the received events are counted and their lag is measured. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FakeAmi } from '../../server/test/support/fake-ami.ts';
import { framesOf, stampedNow } from '../recording.ts';
import { queueOf } from '../site-data.ts';
import { clients, pending, setup } from './clients.ts';
import type { Client } from './clients.ts';
import { changeCaller, nextCaller } from './engine.ts';
import type { Flooded, LoadQuestion } from './questions.ts';
import { flooding, latencies, resetLatencies, resetTotals, totals } from './received.ts';
import { SCRIPT_MS, queueAt } from './script.ts';

/** 75 callers join or leave in a second of 3,000 frames: the peak of 500 and more agents. */
const FRAMES_PER_CALLER = 40;
/** Counted over all floods, because ended calls must not return. */
let copy = 0;
const ownDelay = monitorEventLoopDelay({ resolution: 1 });
export async function flood(
  ami: FakeAmi,
  { rate, seconds, settle = true }: LoadQuestion & { ask: 'flood' },
): Promise<Flooded> {
  const { site } = setup;
  if (pending.failure !== null) throw pending.failure;
  if (!flooding.running) {
    for (const client of clients) client.received = 0;
    resetTotals();
    [flooding.running, flooding.last, flooding.stats] = [true, {}, 0];
  }
  resetLatencies();
  let frames: string[] = [];
  let sent = 0;
  ownDelay.reset();
  ownDelay.enable();
  const cpu = process.cpuUsage();
  const began = performance.now();
  while (sent < rate * seconds) {
    const due = Math.min(Math.floor(((performance.now() - began) * rate) / 1000), rate * seconds) - sent;
    while (frames.length < due) {
      frames = [
        ...framesOf(copy++, site.extensions, (agent) => queueAt(agent, site.queues)).toReversed(),
        ...frames,
      ];
    }
    let text = '';
    for (let i = 0; i < due; i++) {
      if ((sent + i) % FRAMES_PER_CALLER !== 0) {
        text += stampedNow(frames.pop()!);
        continue;
      }
      // A caller joins or leaves, because the recording has few calls for its frames.
      text += changeCaller(Date.now() - SCRIPT_MS, nextCaller(site.queues));
    }
    if (due > 0) ami.raw(text);
    sent += due;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const took = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  ownDelay.disable();
  const load = { delay: ownDelay.percentile(99) / 1e6, core: (user + system) / 1e4 / took };
  // Waits until the last wrap-up is over and all its events are published.
  for (let before = -1; settle && before !== totals.received;) {
    before = totals.received;
    await new Promise((resolve) => setTimeout(resolve, 7_000));
  }
  if (settle) flooding.running = false;
  return {
    frames: sent,
    seconds: took,
    received: totals.received,
    wrong: totals.wrong,
    different: settle ? differing() : 0,
    lag: latencies(),
    load,
    last: flooding.last,
    stats: flooding.stats,
  };
}
/** Clients that lack the newest figures of a subscribed queue. */
function differing(): number {
  const { site, topics } = setup;
  const newest = new Int32Array(site.queues);
  for (const { figures } of clients)
    for (let q = 0; q < site.queues; q++) newest[q] = Math.max(newest[q]!, figures[q]!);
  const hears = ({ n }: Client, q: number): boolean =>
    topics !== 'narrow' || queueAt(n % site.extensions, site.queues) === queueOf(q);
  return clients.filter((client) => newest.some((seq, q) => hears(client, q) && client.figures[q] !== seq))
    .length;
}
