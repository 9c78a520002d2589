/** Metrics of a tile: reading, text and formula. */
import type { QueueState } from '@offhook/client';
import type { BoardMetric } from '@offhook/contract/boards.ts';
import type { QueueStats } from '@offhook/contract/wallboard.ts';
import { formatNumber, formatPercent, formatSpan } from '../app/format.ts';
import { kindOf, waitsSince } from './model.ts';
import type { Formula } from './model.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('wallboard');

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
/** In the order of the contract, whose own list would load its schemas too. */
export const METRICS = ['waiting', 'longest_wait_seconds', ...Object.keys(ofStats)] as readonly BoardMetric[];

/** `second`: the service's time in seconds since 1970. Null without a value. */
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

/** The formula of a service level in words, with its times. */
export const formulaText = (level: Formula): string =>
  t(`formula_${level.service_level_formula}`, {
    within: level.threshold_seconds,
    short: level.short_abandon_seconds,
  }) + (level.flow_outs === 'left_out' ? t('formula_left_out') : '');
/** Every metric as a choice of a list. */
export const metricChoices = (): { value: BoardMetric; label: string }[] =>
  METRICS.map((value) => ({ value, label: metricName(value) }));
