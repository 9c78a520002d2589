import type {
  AgentFigures,
  Figures,
  QueueSums,
  ServiceLevel,
  ServiceLevelFormula,
} from '@offhook/contract/wallboard.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { Span } from './days.ts';
import { waitAt, waitedLess } from './sums.ts';
import type { Sums } from './sums.ts';

const per = (numerator: number, denominator: number): number | null =>
  denominator === 0 ? null : numerator / denominator;

/** Terms of domain.md section 6.1. `o` excludes lost visits, and flow-outs if the site excludes them. */
interface Parts {
  readonly o: number;
  readonly a: number;
  readonly at: number;
  readonly b: number;
  readonly bs: number;
  readonly bt: number;
}
const FORMULAS: Readonly<Record<ServiceLevelFormula, (p: Parts) => number | null>> = {
  answered_only: ({ at, a }) => per(at, a),
  offered: ({ at, o }) => per(at, o),
  ignore_short: ({ at, o, bs }) => per(at, o - bs),
  abandon_after_T: ({ at, a, b, bt }) => per(at, a + b - bt),
  credit_in_T: ({ at, a, b, bt }) => per(at + bt, a + b),
  exclude_all_abandons: ({ at, o, b }) => per(at, o - b),
};
const seconds = (ms: number): number => Math.floor(ms / 1000);
/** Sum of all waits in seconds, exact to the millisecond. */
const waitOf = (sums: Sums, outcome: 'answered' | 'abandoned'): number =>
  (sums[`wait_${outcome}_seconds`] * 1000 + sums[`wait_${outcome}_rest_ms`]) / 1000;

function queueSums(sums: Sums, level: ServiceLevel): QueueSums {
  const { threshold_seconds, short_abandon_seconds } = level;
  const offered = sums.joined - sums.lost;
  return {
    offered,
    calls: sums.calls,
    answered: sums.answered,
    answered_in_threshold: waitedLess(sums.answered_waits, threshold_seconds + 1),
    abandoned: sums.abandoned,
    abandoned_short: waitedLess(sums.abandoned_waits, short_abandon_seconds),
    abandoned_in_threshold: waitedLess(sums.abandoned_waits, threshold_seconds + 1),
    flowed_out: sums.flowed_out,
    open: offered - sums.answered - sums.abandoned - sums.flowed_out,
    lost: sums.lost,
    ended_unobserved: sums.ended_unobserved,
    wait_answered_seconds: Math.floor(waitOf(sums, 'answered')),
    wait_abandoned_seconds: Math.floor(waitOf(sums, 'abandoned')),
    longest_wait_seconds: sums.longest_wait_seconds,
    handled: sums.handled,
    talk_seconds: sums.talk_seconds,
    hold_seconds: sums.hold_seconds,
    wrap_up_seconds: sums.wrap_up_seconds,
    transferred: sums.transferred,
    missed_offers: sums.missed_offers,
    busy_seconds: seconds(sums.busy_ms),
    available_seconds: seconds(sums.available_ms),
    staffed_seconds: seconds(sums.staffed_ms),
  };
}
/** `span` is null for today in `queue.stats`; `longestOpen`: longest wait of current callers, in seconds. */
export function figuresOf(sums: Sums, level: ServiceLevel, span: Span | null, longestOpen: number): Figures {
  const s = queueSums(sums, level);
  const parts: Parts = {
    o: level.flow_outs === 'counted' ? s.offered : s.offered - s.flowed_out,
    a: s.answered,
    at: s.answered_in_threshold,
    b: s.abandoned,
    bs: s.abandoned_short,
    bt: s.abandoned_in_threshold,
  };
  return {
    from: span && rfc3339(span.from),
    to: span && rfc3339(span.to),
    sums: s,
    service_level: FORMULAS[level.formula](parts),
    service_level_formula: level.formula,
    threshold_seconds: level.threshold_seconds,
    short_abandon_seconds: level.short_abandon_seconds,
    flow_outs: level.flow_outs,
    abandon_rate: per(s.abandoned - s.abandoned_short, s.offered - s.abandoned_short),
    answer_rate: per(s.answered, s.offered),
    transfer_rate: per(s.transferred, s.handled),
    average_speed_of_answer_seconds: per(waitOf(sums, 'answered'), s.answered),
    median_speed_of_answer_seconds: waitAt(sums.answered_waits, 0.5),
    p90_speed_of_answer_seconds: waitAt(sums.answered_waits, 0.9),
    average_time_to_abandon_seconds: per(waitOf(sums, 'abandoned'), s.abandoned),
    average_handling_seconds: per(s.talk_seconds + s.hold_seconds + s.wrap_up_seconds, s.handled),
    occupancy: per(sums.busy_ms, sums.busy_ms + sums.available_ms),
    longest_wait_seconds: Math.max(s.longest_wait_seconds, longestOpen),
  };
}
export function agentFigures(extension: string, sums: Sums): AgentFigures {
  const { handled, talk_seconds, hold_seconds, wrap_up_seconds, busy_ms, available_ms, staffed_ms } = sums;
  return {
    extension,
    handled,
    talk_seconds,
    hold_seconds,
    wrap_up_seconds,
    transferred: sums.transferred,
    offers_accepted: sums.offers_accepted,
    missed_offers: sums.missed_offers,
    busy_seconds: seconds(busy_ms),
    available_seconds: seconds(available_ms),
    staffed_seconds: seconds(staffed_ms),
    average_handling_seconds: per(talk_seconds + hold_seconds + wrap_up_seconds, handled),
    occupancy: per(busy_ms, busy_ms + available_ms),
    utilisation: per(busy_ms, staffed_ms),
  };
}

/** Handled calls below which no waiting time is announced. */
const FEWEST_SAMPLES = 5;
/** Expected wait of a caller who joins behind `waiting` others. */
export function expectedWait(
  newest: readonly number[],
  waiting: number,
  agents: { readonly atWork: number; readonly available: number },
): number | null {
  if (newest.length < FEWEST_SAMPLES || agents.atWork === 0) return null;
  if (agents.available > waiting) return 0;
  const mean = newest.reduce((sum, s) => sum + s, 0) / newest.length;
  return Math.round(((waiting + 1) * mean) / agents.atWork);
}
