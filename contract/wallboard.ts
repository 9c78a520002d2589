import { z } from 'zod';

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
/** A rate from 0 to 1; null where the denominator is 0. */
const Rate = z.number().nullable();
/** Sums of one queue over a span: visits in the interval of the join, handled time in that of its end. */
export const QueueSums = z.object({
  offered: z.int(),
  answered: z.int(),
  answered_in_threshold: z.int(),
  abandoned: z.int(),
  abandoned_short: z.int(),
  abandoned_in_threshold: z.int(),
  flowed_out: z.int(),
  wait_answered_seconds: z.int(),
  wait_abandoned_seconds: z.int(),
  longest_wait_seconds: z.int(),
  talk_seconds: z.int(),
  hold_seconds: z.int(),
  wrap_up_seconds: z.int(),
  missed_offers: z.int(),
});
export type QueueSums = z.infer<typeof QueueSums>;
/** The figures of one queue; every rate is computed from the sums and says by which formula. */
export const QueueFigures = z.object({
  queue: z.string(),
  /** Both null in `queue.stats`, where the span is today in the site's zone. */
  from: z.string().nullable(),
  to: z.string().nullable(),
  sums: QueueSums,
  service_level: Rate,
  service_level_formula: ServiceLevelFormula,
  threshold_seconds: z.int(),
  short_abandon_seconds: z.int(),
  abandon_rate: Rate,
  answer_rate: Rate,
  average_speed_of_answer_seconds: z.number().nullable(),
  average_time_to_abandon_seconds: z.number().nullable(),
  average_handling_seconds: z.number().nullable(),
});
export type QueueFigures = z.infer<typeof QueueFigures>;
/** `data` of `queue.stats`: today's figures and what is in the queue now. */
export const QueueStats = QueueFigures.extend({
  day: z.string(),
  waiting: z.int(),
  /** When the caller who waits longest joined; null where nobody waits. A display ticks by itself. */
  longest_waiting_since: z.string().nullable(),
  agents: z.object({
    logged_in: z.int(),
    available: z.int(),
    offered: z.int(),
    talking: z.int(),
    wrap_up: z.int(),
    not_ready: z.int(),
    unreachable: z.int(),
  }),
});
export type QueueStats = z.infer<typeof QueueStats>;
