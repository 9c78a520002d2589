/** What a tile can show of its queue: how it is read, written, and added up. */
import type { QueueState } from '@offhook/client';
import type { BoardMetric } from '@offhook/contract/boards.ts';
import type { QueueStats } from '@offhook/contract/wallboard.ts';
import { formatNumber, formatPercent, formatSpan } from '../app/format.ts';
import { t } from './words.ts';

export type MetricKind = 'count' | 'seconds' | 'rate';
type Reader = (stats: QueueStats) => number | null;
const ofStats: Readonly<Record<Exclude<BoardMetric, 'waiting' | 'longest_wait_seconds'>, Reader>> = {
  service_level: (s) => s.service_level,
  abandon_rate: (s) => s.abandon_rate,
  answer_rate: (s) => s.answer_rate,
  offered: (s) => s.sums.offered,
  answered: (s) => s.sums.answered,
  abandoned: (s) => s.sums.abandoned,
  average_speed_of_answer_seconds: (s) => s.average_speed_of_answer_seconds,
  average_handling_seconds: (s) => s.average_handling_seconds,
  expected_wait_seconds: (s) => s.expected_wait_seconds,
  occupancy: (s) => s.occupancy,
  agents_available: (s) => s.agents.available,
  agents_logged_in: (s) => s.agents.logged_in,
};
const RATES: ReadonlySet<BoardMetric> = new Set([
  'service_level',
  'abandon_rate',
  'answer_rate',
  'occupancy',
]);
export const kindOf = (metric: BoardMetric): MetricKind =>
  RATES.has(metric) ? 'rate' : metric.endsWith('_seconds') ? 'seconds' : 'count';

/** Since when the caller who waits longest does, ms since 1970; null where nobody waits. */
export function waitsSince({ callers }: Pick<QueueState, 'callers'>): number | null {
  let first: number | null = null;
  for (const { joined_at } of callers) {
    const at = Date.parse(joined_at);
    if (first === null || at < first) first = at;
  }
  return first;
}
/** `second`: the service's time in seconds since 1970. Null where there is nothing to say. */
export function readMetric(queue: QueueState, metric: BoardMetric, second: number): number | null {
  if (metric === 'waiting') return queue.callers.length;
  if (metric === 'longest_wait_seconds') {
    const since = waitsSince(queue);
    return since === null ? null : Math.max(0, second - Math.floor(since / 1000));
  }
  return queue.stats === null ? null : ofStats[metric](queue.stats);
}
export function metricText(metric: BoardMetric, value: number | null): string {
  switch (kindOf(metric)) {
    case 'count':
      return formatNumber(value);
    case 'rate':
      return formatPercent(value);
    case 'seconds':
      return formatSpan(value);
  }
}
export const metricName = (metric: BoardMetric): string => t(metric);

type Level = Pick<
  QueueStats,
  'service_level_formula' | 'threshold_seconds' | 'short_abandon_seconds' | 'flow_outs'
>;
/** The formula of a service level in words, with its times. */
export const formulaText = (level: Level): string =>
  t(`formula_${level.service_level_formula}`, {
    within: level.threshold_seconds,
    short: level.short_abandon_seconds,
  }) + (level.flow_outs === 'left_out' ? t('formula_left_out') : '');

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
/** The same formulas as the service computes by (domain.md 6.1), for queues that are added up; null of nothing. */
export function serviceLevelOf(sums: Sums, level: Level): number | null {
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
