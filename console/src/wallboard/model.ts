/** A board and its contents. Pure. */
import type { CallState, QueueState } from '@offhook/client';
import type { AgentState, AgentSummary } from '@offhook/contract/agents.ts';
import type { Board, BoardMetric, NewBoard } from '@offhook/contract/boards.ts';
import type { QueueStats } from '@offhook/contract/wallboard.ts';
import { callerParty } from '../app/queue-names.ts';

/** Data of a shown board; one that is not saved has no id. */
export type Shown = Pick<Board, 'name' | 'queues' | 'layout'>;
export const DEFAULT_LAYOUT: Board['layout'] = {
  figures: ['waiting', 'longest_wait_seconds', 'service_level', 'abandon_rate', 'answered'],
  tiles: [],
  parts: ['queues', 'agents', 'callers', 'chart'],
  thresholds: [
    { metric: 'waiting', direction: 'above', warn: 3, alert: 6 },
    { metric: 'longest_wait_seconds', direction: 'above', warn: 60, alert: 180 },
    { metric: 'service_level', direction: 'below', warn: 0.8, alert: 0.6 },
    { metric: 'abandon_rate', direction: 'above', warn: 0.05, alert: 0.1 },
  ],
  columns: null,
  density: 'comfortable',
  caller_numbers: 'last_digits',
};
export const writable = ({ name, queues, layout, shared }: Board): Required<NewBoard> => ({
  name,
  queues,
  layout,
  shared,
});

const RATES: ReadonlySet<BoardMetric> = new Set([
  'service_level',
  'abandon_rate',
  'answer_rate',
  'occupancy',
]);
export const kindOf = (metric: BoardMetric): 'count' | 'seconds' | 'rate' =>
  RATES.has(metric) ? 'rate' : metric.endsWith('_seconds') ? 'seconds' : 'count';

type Queues = ReadonlyMap<string, QueueState>;
export interface NamedQueue {
  readonly name: string;
  readonly title: string;
}
/** The accessible queues of the board: those with a tile in order, the others by title. */
export function queuesOn({ queues, layout }: Shown, seen: readonly NamedQueue[], lang: string): NamedQueue[] {
  const wanted = queues === null ? null : new Set(queues);
  const left = new Map(
    seen.filter(({ name }) => wanted?.has(name) ?? true).map((queue) => [queue.name, queue]),
  );
  const placed = layout.tiles.flatMap(({ queue }) => {
    const found = left.get(queue);
    left.delete(queue);
    return found ?? [];
  });
  const { compare } = new Intl.Collator(lang, { numeric: true });
  return [...placed, ...[...left.values()].toSorted((a, b) => compare(a.title, b.title))];
}
export const figuresOf = ({ layout }: Shown, queue: string): readonly BoardMetric[] =>
  layout.tiles.find((tile) => tile.queue === queue)?.figures ?? layout.figures;

/** In the order of a legend: at work first, away last. */
export const AGENT_STATES = [
  'available',
  'offered',
  'talking',
  'held',
  'wrap_up',
  'busy_other',
  'not_ready',
  'not_responding',
  'unreachable',
] as const satisfies readonly AgentState[];
export type StaffState = (typeof AGENT_STATES)[number];
export type StateCounts = Readonly<Partial<Record<StaffState, number>>>;
/** Agents of one queue, whose pause can be another one than in the other queues. */
export const countsOf = ({ agents }: Pick<QueueStats, 'agents'>): StateCounts => {
  const { logged_in: _all, ...counts } = agents;
  return counts;
};
/** Totals count as `queue.stats` does, so that an agent has the same state in the totals and in the tile of its queue. */
const COUNTED_AS: Partial<Record<AgentState, StaffState>> = { held: 'talking', not_responding: 'not_ready' };
export function countStates(agents: Iterable<AgentSummary>): StateCounts {
  const counts: Partial<Record<StaffState, number>> = {};
  for (const { state } of agents) {
    if (state === 'logged_out') continue;
    const counted = COUNTED_AS[state] ?? state;
    counts[counted] = (counts[counted] ?? 0) + 1;
  }
  return counts;
}

/** Start of the longest wait, ms since 1970; null without a caller. */
export function waitsSince({ callers }: Pick<QueueState, 'callers'>): number | null {
  let first: number | null = null;
  for (const { joined_at } of callers) {
    const at = Date.parse(joined_at);
    if (first === null || at < first) first = at;
  }
  return first;
}
export interface WaitingCaller {
  readonly id: string;
  readonly queue: string;
  readonly title: string;
  readonly position: number;
  readonly priority: number | null;
  readonly joined_at: string;
  readonly number: string;
  readonly name: string;
}
/** Callers of these queues, the longest wait first. */
export function callersOf(records: Queues, names: readonly string[]): WaitingCaller[] {
  const all = names.flatMap((name) => {
    const queue = records.get(name);
    return (queue?.callers ?? []).map(({ id, position, priority, joined_at, ...who }) => ({
      id: `${name} ${id}`,
      queue: name,
      title: queue?.title || name,
      position,
      priority,
      joined_at,
      ...callerParty(who),
    }));
  });
  return all.toSorted((a, b) =>
    a.joined_at < b.joined_at ? -1 : a.joined_at > b.joined_at ? 1 : a.position - b.position,
  );
}

export interface Summary {
  readonly waiting: number;
  /** ms since 1970. */
  readonly since: number | null;
  readonly answered: number;
  readonly abandon_rate: number | null;
  readonly service_level: number | null;
}
const SUMS = [
  'offered',
  'answered',
  'answered_in_threshold',
  'abandoned',
  'abandoned_short',
  'abandoned_in_threshold',
  'flowed_out',
] as const;
/** Totals of the queues. They have a common service level only if all use the same formula: rates are never averaged. */
export function summaryOf(records: Queues, names: readonly string[]): Summary {
  let waiting = 0;
  let since: number | null = null;
  let alike: QueueStats | null = null;
  let differ = false;
  const sums = Object.fromEntries(SUMS.map((name) => [name, 0])) as Record<(typeof SUMS)[number], number>;
  for (const name of names) {
    const queue = records.get(name);
    if (queue === undefined) continue;
    waiting += queue.callers.length;
    const first = waitsSince(queue);
    if (first !== null && (since === null || first < since)) since = first;
    if (queue.stats === null) continue;
    for (const sum of SUMS) sums[sum] += queue.stats.sums[sum];
    alike ??= queue.stats;
    differ ||= formulaKey(alike) !== formulaKey(queue.stats);
  }
  const counted = sums.offered - sums.abandoned_short;
  return {
    waiting,
    since,
    answered: sums.answered,
    abandon_rate: counted === 0 ? null : (sums.abandoned - sums.abandoned_short) / counted,
    service_level: alike === null || differ ? null : serviceLevelOf(sums, alike),
  };
}
/** Grows with every figure of a chart. */
export const countedIn = (queue: QueueState | undefined): number => {
  const sums = queue?.stats?.sums;
  return sums === undefined ? 0 : sums.offered + sums.answered + sums.abandoned;
};
const formulaKey = (s: QueueStats): string =>
  `${s.service_level_formula} ${s.threshold_seconds} ${s.short_abandon_seconds} ${s.flow_outs}`;
/** The distinct formulas of these queues; with several, a tile refers to its own by its number in this list. */
export function formulasOf(records: Queues, names: readonly string[]): Map<string, QueueStats> {
  const found = new Map<string, QueueStats>();
  for (const name of names) {
    const stats = records.get(name)?.stats;
    if (stats != null && !found.has(formulaKey(stats))) found.set(formulaKey(stats), stats);
  }
  return found;
}
export const formulaPlace = (
  formulas: ReadonlyMap<string, QueueStats>,
  stats: QueueStats | null,
): number | null =>
  stats === null || formulas.size < 2 ? null : [...formulas.keys()].indexOf(formulaKey(stats)) + 1;

/** The other side of the agent's call in words; null where unknown. */
export function partnerOf(call: CallState | undefined, extension: string): string | null {
  if (call === undefined) return null;
  const own = call.legs.find((leg) => leg.extension === extension);
  const other = call.legs.find((leg) => leg !== own && leg.extension !== extension);
  if (other !== undefined) return other.name || other.number || other.extension;
  const isCaller = own !== undefined && own === call.legs[0];
  return isCaller ? call.dialled || null : call.caller.name || call.caller.number || null;
}

export type Formula = Pick<
  QueueStats,
  'service_level_formula' | 'threshold_seconds' | 'short_abandon_seconds' | 'flow_outs'
>;
type Sums = Pick<
  QueueStats['sums'],
  | 'offered'
  | 'answered'
  | 'answered_in_threshold'
  | 'abandoned'
  | 'abandoned_short'
  | 'abandoned_in_threshold'
  | 'flowed_out'
>;
/** The formulas of the service (domain.md 6.1) for summed queues; null where nothing is counted. */
export function serviceLevelOf(sums: Sums, level: Formula): number | null {
  const offered = sums.offered - (level.flow_outs === 'left_out' ? sums.flowed_out : 0);
  const {
    answered,
    answered_in_threshold: inTime,
    abandoned,
    abandoned_short,
    abandoned_in_threshold,
  } = sums;
  const ratio = (n: number, d: number): number | null => (d === 0 ? null : n / d);
  switch (level.service_level_formula) {
    case 'answered_only':
      return ratio(inTime, answered);
    case 'offered':
      return ratio(inTime, offered);
    case 'ignore_short':
      return ratio(inTime, offered - abandoned_short);
    case 'abandon_after_T':
      return ratio(inTime, answered + abandoned - abandoned_in_threshold);
    case 'credit_in_T':
      return ratio(inTime + abandoned_in_threshold, answered + abandoned);
    case 'exclude_all_abandons':
      return ratio(inTime, offered - abandoned);
  }
}

/**
 * The best rate the queue can still reach: a service level if all callers within its threshold are answered in time, an
 * answer rate if all callers are answered. Callers are in the denominator of both from the start, so that the rate
 * itself is low before their outcome. Any other figure is returned as it is. `second`: the service's time in seconds
 * since 1970.
 */
export function stillReachable(
  { stats, callers }: Pick<QueueState, 'stats' | 'callers'>,
  metric: BoardMetric,
  value: number | null,
  second: number,
): number | null {
  if (stats === null || value === null) return value;
  const { sums } = stats;
  if (metric === 'answer_rate') return (sums.answered + sums.open) / sums.offered;
  if (metric !== 'service_level') return value;
  const inTime = (since: string | null): boolean =>
    since === null || second - Math.floor(Date.parse(since) / 1000) <= stats.threshold_seconds;
  // Callers change before the sums that count them, so late callers are counted in both.
  const late = callers.filter(({ joined_at }) => !inTime(joined_at)).length;
  const open = inTime(stats.longest_waiting_since)
    ? sums.open
    : Math.max(0, Math.min(sums.open, callers.length) - late);
  return serviceLevelOf(
    {
      ...sums,
      answered: sums.answered + open,
      answered_in_threshold: sums.answered_in_threshold + open,
    },
    stats,
  );
}
