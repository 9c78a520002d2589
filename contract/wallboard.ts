import { z } from 'zod';
import { wholeNumber } from './paging.ts';

/** Waits are counted in whole seconds up to here, so that figures for any threshold up to it can be computed later. */
export const LONGEST_THRESHOLD_SECONDS = 7200;
/** Shortest interval of a series; others are multiples of it that divide a day. */
export const INTERVAL_SECONDS = 900;

/** The named service-level formulas of domain.md section 6.1; there is no single standard. */
export const ServiceLevelFormula = z.enum([
  'answered_only',
  'offered',
  'ignore_short',
  'abandon_after_T',
  'credit_in_T',
  'exclude_all_abandons',
]);
export type ServiceLevelFormula = z.infer<typeof ServiceLevelFormula>;
/** Whether visits that left the queue for elsewhere count as offered in the service level. */
export const FlowOuts = z.enum(['counted', 'left_out']);
const Seconds = z.int().min(0).max(LONGEST_THRESHOLD_SECONDS);
/**
 * How the service level of a queue is computed. Figures are computed from what was counted, so a change holds for the past
 * too. A wait of exactly `threshold_seconds` is within it; one of exactly `short_abandon_seconds` is not short.
 */
export const ServiceLevel = z.strictObject({
  formula: ServiceLevelFormula,
  threshold_seconds: Seconds,
  short_abandon_seconds: Seconds,
  flow_outs: FlowOuts,
});
export type ServiceLevel = z.infer<typeof ServiceLevel>;
/** Default of a queue without its own. */
export const DEFAULT_SERVICE_LEVEL: ServiceLevel = {
  formula: 'ignore_short',
  threshold_seconds: 20,
  short_abandon_seconds: 5,
  flow_outs: 'counted',
};

/** A rate from 0 to 1; null if the denominator is 0. */
const Rate = z.number().nullable();
/**
 * Sums of one queue over a span: visits in the interval of the join, handled time in that of its end. A visit has one
 * outcome: `offered` = `answered` + `abandoned` + `flowed_out` + `open`.
 */
export const QueueSums = z.object({
  offered: z
    .int()
    .describe('Visits that joined, without those that were `lost`. A caller who joins again is a new visit.'),
  calls: z.int().describe('Calls with at least one visit in this queue, counted with the first.'),
  answered: z.int(),
  answered_in_threshold: z.int(),
  abandoned: z.int(),
  abandoned_short: z.int(),
  abandoned_in_threshold: z.int(),
  flowed_out: z
    .int()
    .describe(
      'Left for elsewhere before an answer: time-out, key, moved, withdrawn, or the last agent went. Whom a full or empty queue did not let in never joined and is in no figure, but is a visit of its conversation (`full`, `empty_join`).',
    ),
  open: z.int().describe('Still waiting.'),
  lost: z
    .int()
    .describe(
      'Ended without a known result (the engine restarted or was unreachable); in no other sum. A visit whose end is found later in the call records leaves this sum.',
    ),
  ended_unobserved: z.int().describe('Visits whose end was found later: their wait is an upper bound.'),
  wait_answered_seconds: z.int(),
  wait_abandoned_seconds: z.int(),
  longest_wait_seconds: z.int().describe('Sum over finished visits.'),
  handled: z.int().describe('Agents’ parts in queue calls that are over, wrap-up included.'),
  talk_seconds: z
    .int()
    .describe(
      'Connected and not on hold, to the end of the agent’s own part: also where an agent of another queue asked this one and joined the calls.',
    ),
  hold_seconds: z.int(),
  wrap_up_seconds: z.int(),
  transferred: z.int().describe('Handled calls that their agent transferred.'),
  missed_offers: z.int().describe('Offers that were not answered or were rejected.'),
  busy_seconds: z
    .int()
    .describe(
      'Time of the queue’s agents within the span, whole seconds: handling its calls, free for them, and signed in.',
    ),
  available_seconds: z.int(),
  staffed_seconds: z.int(),
});
export type QueueSums = z.infer<typeof QueueSums>;
/** Figures over a span; every rate is computed from the sums and names its formula. */
const Figures = z.object({
  from: z
    .string()
    .nullable()
    .describe('Both null in `queue.stats`, where the span is today in the site’s zone.'),
  to: z.string().nullable(),
  sums: QueueSums,
  service_level: Rate,
  service_level_formula: ServiceLevelFormula,
  threshold_seconds: z.int(),
  short_abandon_seconds: z.int(),
  flow_outs: FlowOuts,
  abandon_rate: Rate.describe('(abandoned − abandoned_short) ÷ (offered − abandoned_short).'),
  answer_rate: Rate.describe('answered ÷ offered.'),
  transfer_rate: Rate.describe('transferred ÷ handled.'),
  average_speed_of_answer_seconds: z.number().nullable(),
  median_speed_of_answer_seconds: z
    .int()
    .nullable()
    .describe('By nearest rank, exact up to two hours; longer waits count as two hours here.'),
  p90_speed_of_answer_seconds: z.int().nullable(),
  average_time_to_abandon_seconds: z.number().nullable(),
  average_handling_seconds: z.number().nullable().describe('(talk + hold + wrap-up) ÷ handled.'),
  occupancy: Rate.describe(
    'busy ÷ (busy + available). Both count by the clock, so it runs during the first call and its wrap-up, while `handled`, talk, hold and wrap-up count a call once it is over with its wrap-up.',
  ),
  longest_wait_seconds: z.int().describe('Of all visits, those still waiting too.'),
});
export const QueueFigures = z.object({ queue: z.string(), ...Figures.shape });
export type QueueFigures = z.infer<typeof QueueFigures>;
/** Current state of the queue. */
const QueueNow = z.object({
  waiting: z.int(),
  longest_waiting_since: z
    .string()
    .nullable()
    .describe(
      'Joining time of the longest-waiting caller; null without one. A display counts the seconds itself.',
    ),
  expected_wait_seconds: z
    .number()
    .nullable()
    .describe(
      'Of a caller who joins now: place × mean of the 20 newest handling times ÷ agents at work; 0 while more agents are free than callers wait, null below 5 handled calls or without agents.',
    ),
  agents: z.object({
    logged_in: z.int(),
    available: z.int(),
    offered: z.int(),
    talking: z.int().describe('On hold too.'),
    wrap_up: z.int(),
    busy_other: z.int().describe('In a call that is no queue’s.'),
    not_ready: z.int(),
    unreachable: z.int(),
  }),
});
/** `data` of `queue.stats`: today's figures and what is in the queue now. */
export const QueueStats = z.object({
  ...QueueFigures.shape,
  day: z.string(),
  ...QueueNow.shape,
});
export type QueueStats = z.infer<typeof QueueStats>;

/** One agent over a span, in all its queues. */
export const AgentFigures = z.object({
  extension: z.string(),
  handled: z.int(),
  talk_seconds: z.int(),
  hold_seconds: z.int(),
  wrap_up_seconds: z.int(),
  transferred: z.int(),
  offers_accepted: z.int(),
  missed_offers: z.int(),
  busy_seconds: z.int(),
  available_seconds: z.int(),
  staffed_seconds: z.int(),
  average_handling_seconds: z.number().nullable(),
  occupancy: Rate.describe(
    'busy ÷ (busy + available); time that is not ready is in neither. Both count by the clock, so it runs during the first call, which `handled`, talk, hold and wrap-up count once its wrap-up is over.',
  ),
  utilisation: Rate.describe('busy ÷ staffed.'),
});
export type AgentFigures = z.infer<typeof AgentFigures>;

const DIGITS = /^\d{1,5}$/;
const threshold = wholeNumber(0, LONGEST_THRESHOLD_SECONDS, DIGITS);
const IN_PLACE = `Seconds, from 0 to ${LONGEST_THRESHOLD_SECONDS}, instead of the setting of the queue.`;
const Span = {
  day: z.iso
    .date()
    .optional()
    .describe('A day of the site’s zone, `YYYY-MM-DD`; without it and `from`, today.'),
  from: z.iso.datetime({ offset: true }).optional().describe('Both on a quarter of an hour.'),
  to: z.iso.datetime({ offset: true }).optional(),
  formula: ServiceLevelFormula.optional().describe('Instead of the setting of the queue.'),
  threshold_seconds: threshold.optional().describe(IN_PLACE),
  short_abandon_seconds: threshold.optional().describe(IN_PLACE),
  flow_outs: FlowOuts.optional(),
};
/** Query of `GET /api/v1/wallboard`; at most 92 days. */
export const WallboardQuery = z.strictObject(Span);
export type WallboardQuery = z.infer<typeof WallboardQuery>;
/** Query of `GET /api/v1/queues/{name}/stats`; at most 400 days, with `interval` 92 days and 3,000 intervals. */
export const QueueStatsQuery = z.strictObject({
  ...Span,
  interval: wholeNumber(INTERVAL_SECONDS, 86_400, DIGITS)
    .optional()
    .describe('Seconds of an interval of the series: a multiple of 900 that divides a day.'),
});
export type QueueStatsQuery = z.infer<typeof QueueStatsQuery>;

/** A period in which nothing could be counted. */
const Gap = z.object({
  from: z.string(),
  to: z.string(),
  reason: z
    .enum(['retention', 'new_journal', 'unheard'])
    .describe(
      '`retention`: the journal kept no events so old. `new_journal`: it was lost or replaced. `unheard`: the engine went on while the service, or its link to it, was away; the history has the conversations of that time.',
    ),
  settled: z
    .boolean()
    .describe(
      'True once the waits of that period were found in the call records and are in the figures; times and calls of agents are not.',
    ),
});
const Head = {
  success: z.literal(true),
  day: z.string().nullable().describe('The day in the site’s zone where the span is one, else null.'),
  zone: z.string(),
  from: z.string(),
  to: z.string(),
  as_of: z.string(),
  stale: z.boolean().describe('True while the link to the engine is down.'),
  gaps: z.array(Gap).describe('Periods without data; with any, the figures are too low.'),
};
/** Figures of a queue; with its current state if the span includes the present. */
const QueueReport = z.object({
  ...QueueFigures.shape,
  day: z.string().nullable(),
  ...QueueNow.partial().shape,
});
export type QueueReport = z.infer<typeof QueueReport>;
export const WallboardReply = z.object({
  ...Head,
  queues: z.array(QueueReport),
  total: Figures.describe(
    'Of these queues together, by one service level: the one asked for, or the default.',
  ),
  agents: z.array(AgentFigures),
});
export type WallboardReply = z.infer<typeof WallboardReply>;
export const QueueStatsReply = z.object({
  ...Head,
  stats: QueueReport,
  interval_seconds: z.int().nullable(),
  /**
   * The intervals that have begun, by the site's clock; null where no `interval` was given. On the day the clocks go back
   * there are more of them.
   */
  series: z.array(QueueFigures).nullable(),
});
export type QueueStatsReply = z.infer<typeof QueueStatsReply>;
export type Figures = z.infer<typeof Figures>;

export const ServiceLevelReply = z.object({
  success: z.literal(true),
  queue: z.string(),
  service_level: ServiceLevel,
});
