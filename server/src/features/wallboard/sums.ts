import { INTERVAL_SECONDS, LONGEST_THRESHOLD_SECONDS } from '@offhook/contract/wallboard.ts';

/**
 * Fields that grow by addition. `_ms` are milliseconds, so that many short slices lose nothing by rounding;
 * `_rest_ms` are the milliseconds beyond the whole seconds of the same waits, which events of earlier
 * versions lack.
 */
const ADDED = [
  'joined',
  'calls',
  'answered',
  'abandoned',
  'flowed_out',
  'lost',
  'ended_unobserved',
  'wait_answered_seconds',
  'wait_abandoned_seconds',
  'wait_answered_rest_ms',
  'wait_abandoned_rest_ms',
  'handled',
  'talk_seconds',
  'hold_seconds',
  'wrap_up_seconds',
  'transferred',
  'offers_accepted',
  'missed_offers',
  'busy_ms',
  'available_ms',
  'staffed_ms',
] as const;
type Added = (typeof ADDED)[number];
/** Number of visits by whole seconds waited. */
export type Waits = Map<number, number>;
const WAITS = ['answered_waits', 'abandoned_waits'] as const;

/** All counts of one queue or agent in one interval, in integers. The order of counting does not matter. */
export type Sums = Record<Added, number> &
  Record<(typeof WAITS)[number], Waits> & { longest_wait_seconds: number };

export interface Count {
  readonly of: 'queue' | 'agent';
  /** Name of the queue, or the agent's extension. */
  readonly name: string;
  readonly slot: number;
  readonly add: Partial<Record<Added, number>>;
  /** For a finished visit. */
  readonly waited?: {
    readonly outcome: 'answered' | 'abandoned' | 'flowed_out';
    readonly seconds: number;
    /** Milliseconds beyond the whole seconds, if known. */
    readonly rest_ms?: number;
  };
}

/** Milliseconds of a slot, the base interval. Every zone's offset is a multiple, so slots fit every zone's clock. */
export const SLOT_MS = INTERVAL_SECONDS * 1000;
export const slotOf = (ms: number): number => Math.floor(ms / SLOT_MS);

export const noSums = (): Sums => ({
  joined: 0,
  calls: 0,
  answered: 0,
  abandoned: 0,
  flowed_out: 0,
  lost: 0,
  ended_unobserved: 0,
  wait_answered_seconds: 0,
  wait_abandoned_seconds: 0,
  wait_answered_rest_ms: 0,
  wait_abandoned_rest_ms: 0,
  handled: 0,
  talk_seconds: 0,
  hold_seconds: 0,
  wrap_up_seconds: 0,
  transferred: 0,
  offers_accepted: 0,
  missed_offers: 0,
  busy_ms: 0,
  available_ms: 0,
  staffed_ms: 0,
  longest_wait_seconds: 0,
  answered_waits: new Map(),
  abandoned_waits: new Map(),
});

/** Adds one count to `sums`; O(1). */
export function take(sums: Sums, { add, waited }: Count): void {
  for (const field in add) sums[field as Added] += add[field as Added]!;
  if (waited === undefined) return;
  const { outcome, seconds, rest_ms = 0 } = waited;
  sums[outcome] += 1;
  if (seconds > sums.longest_wait_seconds) sums.longest_wait_seconds = seconds;
  if (outcome === 'flowed_out') return;
  sums[`wait_${outcome}_seconds`] += seconds;
  sums[`wait_${outcome}_rest_ms`] += rest_ms;
  const waits = sums[`${outcome}_waits`];
  const kept = Math.min(seconds, LONGEST_THRESHOLD_SECONDS + 1);
  waits.set(kept, (waits.get(kept) ?? 0) + 1);
}

/** Adds `more` to `sums`; missing fields count as zero. */
export function fold(sums: Sums, more: Partial<Sums>): void {
  for (const field of ADDED) sums[field] += more[field] ?? 0;
  sums.longest_wait_seconds = Math.max(sums.longest_wait_seconds, more.longest_wait_seconds ?? 0);
  for (const field of WAITS) {
    const waits = sums[field];
    for (const [seconds, visits] of more[field] ?? []) waits.set(seconds, (waits.get(seconds) ?? 0) + visits);
  }
}

/** Visits whose wait was `below` this many seconds; exact up to the longest threshold. */
export function waitedLess(waits: Waits, below: number): number {
  let visits = 0;
  for (const [seconds, n] of waits) if (seconds < below) visits += n;
  return visits;
}
/** Wait that the share `p` of the visits did not exceed, by nearest rank; null without visits. */
export function waitAt(waits: Waits, p: number): number | null {
  let all = 0;
  for (const n of waits.values()) all += n;
  let rank = Math.ceil(p * all);
  for (const [seconds, n] of [...waits].sort((a, b) => a[0] - b[0])) {
    rank -= n;
    if (rank <= 0) return Math.min(seconds, LONGEST_THRESHOLD_SECONDS);
  }
  return null;
}

/** The same text for the same sums, in any order of counting; zeros are left out. */
export function writeSums(sums: Sums): string {
  const kept: Record<string, unknown> = {};
  for (const field of [...ADDED, 'longest_wait_seconds'] as const) {
    if (sums[field] !== 0) kept[field] = sums[field];
  }
  for (const field of WAITS) {
    if (sums[field].size > 0) kept[field] = [...sums[field]].sort((a, b) => a[0] - b[0]);
  }
  return JSON.stringify(kept);
}
/** Partial sums, for `fold`. */
export const readSums = (text: string): Partial<Sums> => JSON.parse(text) as Partial<Sums>;
