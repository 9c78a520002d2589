/** Messages received by the clients: counted, checked for their order, and timed. */
import { setup } from './clients.ts';
import type { Client } from './clients.ts';
import { DAY_MS, isFigures, numberOf, prevOf, queueNumberOf, seqOf } from './event-fields.ts';
import { SCRIPT_MS } from './script.ts';

/** Totals of all clients since `resetTotals`. */
export const totals = { bytes: 0, received: 0, figures: 0, wrong: 0, closed: 0 };
export const resetTotals = (): void => {
  Object.assign(totals, { bytes: 0, received: 0, figures: 0, wrong: 0, closed: 0 });
};

/** Latencies in steps of 10 µs up to 20 s. */
const STEP_MS = 0.01;
const histogram = new Uint32Array(2_000_000);
let samples = 0;
function sample(ms: number): void {
  histogram[Math.min(histogram.length - 1, Math.max(0, Math.floor(ms / STEP_MS)))]! += 1;
  samples += 1;
}
const quantileOf = (share: number): number => {
  let left = Math.ceil(samples * share);
  for (let i = 0; i < histogram.length; i++) {
    left -= histogram[i]!;
    if (left <= 0) return (i + 1) * STEP_MS;
  }
  return Number.NaN;
};
export function resetLatencies(): void {
  samples = 0;
  histogram.fill(0);
}
/** In milliseconds, since `resetLatencies`. */
export const latencies = (): { p50: number; p99: number; max: number } => ({
  p50: quantileOf(0.5),
  p99: quantileOf(0.99),
  max: quantileOf(1),
});

/** Times at which the script's events were written, by number. */
let sentAt = new Float64Array(1 << 16);
let events = 0;
/** Number of the next event of the script, which is written now. */
export function nextNumber(): number {
  const n = events++;
  if (events > sentAt.length) {
    const longer = new Float64Array(sentAt.length * 2);
    longer.set(sentAt);
    sentAt = longer;
  }
  sentAt[n] = performance.now();
  return n;
}
/** More than any row writes to a journal. */
const WRITTEN = 1_000_000;
/** Events to be resumed were stored, and never played. */
export const expectStored = (): void => void (events = WRITTEN);

let now = 0;
/** Time of arrival of the following messages. */
export const markArrival = (): void => void (now = performance.now());

/** State of a flood of recorded calls, for which the due messages are unknown. */
export const flooding = {
  running: false,
  /** Newest figures of each queue at the first client. */
  last: {} as Record<string, unknown>,
  stats: 0,
};
/** One in so many clients measures the lag of a flood. */
const LAG_OF = 50;
function counted(client: Client, buffer: Buffer, from: number, to: number): void {
  ordered(client, buffer, from, to);
  client.received += 1;
  totals.received += 1;
  if (client.n % LAG_OF === 0) {
    const time = numberOf(buffer, from, to);
    // `numberOf` reads only the time of day.
    const ms = (Date.now() - SCRIPT_MS - time + DAY_MS) % DAY_MS;
    if (time >= 0 && ms < DAY_MS / 2) sample(ms);
  }
  if (!isFigures(buffer, from, to)) return;
  client.figures[queueNumberOf(buffer, from, to)] = client.last;
  if (client.n !== 0) return;
  const { event } = JSON.parse(buffer.toString('utf8', from, to)) as { event: { data: { queue: string } } };
  flooding.stats += 1;
  flooding.last[event.data.queue] = event.data;
}
/** Each event of our stream has a higher `seq` than the one before it, and names it as `prev`. */
function ordered(client: Client, buffer: Buffer, from: number, to: number): void {
  const seq = seqOf(buffer, from, to);
  if (!(seq > client.last) || (client.newest >= 0 && prevOf(buffer, to) !== client.newest)) totals.wrong += 1;
  client.last = client.newest = seq;
}
/** An event for a client, in these bytes. */
export function heard(client: Client, buffer: Buffer, from: number, to: number): void {
  if (flooding.running) return counted(client, buffer, from, to);
  if (setup.wire === 'offhook') ordered(client, buffer, from, to);
  else if (setup.wire !== 'offhook-sse') {
    const seq = seqOf(buffer, from, to);
    if (seq <= client.last) totals.wrong += 1;
    if (!Number.isNaN(seq)) client.last = seq;
  }
  if (isFigures(buffer, from, to)) {
    totals.figures += 1;
    return;
  }
  const n = numberOf(buffer, from, to);
  if (n < 0 || n >= events) {
    totals.wrong += 1;
    return;
  }
  client.received += 1;
  totals.received += 1;
  sample(now - sentAt[n]!);
}
