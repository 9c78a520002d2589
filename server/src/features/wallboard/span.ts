import type { WallboardQuery } from '@offhook/contract/wallboard.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Said } from '../../core/said.ts';
import type { Span, ZoneCalendar } from './days.ts';
import { SLOT_MS } from './sums.ts';

const DAY_MS = 86_400_000;
/** Zone offsets of other centuries are no multiples of a quarter of an hour. */
const FIRST = Date.UTC(2000, 0, 1);
const LAST = Date.UTC(2100, 0, 1);

const refuse = (detail: Said | string): never => {
  throw new ServiceError('invalid_request', detail);
};

/** Span of a query, today by default. `day` is null for a query by `from` and `to`. */
export function spanOf(
  query: Pick<WallboardQuery, 'day' | 'from' | 'to'>,
  calendar: ZoneCalendar,
  today: { readonly date: string; readonly span: Span },
  mostDays: number,
): { readonly span: Span; readonly day: string | null } {
  const { day, from, to } = query;
  if (day !== undefined) {
    if (from !== undefined || to !== undefined) refuse('day: give either day, or from and to');
    const ms = Date.parse(`${day}T00:00:00Z`);
    if (!(ms > FIRST && ms < LAST)) refuse('day: expected a day from 2000-01-02 to 2099-12-31');
    return { span: calendar.day(day), day };
  }
  if (from === undefined && to === undefined) return { span: today.span, day: today.date };
  if (from === undefined || to === undefined) return refuse('from: give both from and to, or neither');
  const span = { from: Date.parse(from), to: Date.parse(to) };
  for (const [name, ms] of Object.entries(span)) {
    if (!(ms >= FIRST && ms <= LAST)) refuse(say`${name}: expected a time from 2000 to 2099`);
    if (ms % SLOT_MS !== 0) refuse(say`${name}: must be at a full quarter of an hour`);
  }
  if (span.from >= span.to) refuse('to: expected a time after from');
  // A range of whole local days may be an hour longer.
  if (span.to - span.from > mostDays * DAY_MS + 4 * SLOT_MS) {
    refuse(say`to: expected at most ${mostDays} days after from`);
  }
  return { span, day: null };
}

/** Most intervals of a series. */
const MOST_INTERVALS = 3000;
/** The intervals of the span that begin no later than `now`. */
export function intervalsOf(calendar: ZoneCalendar, span: Span, seconds: number, now: number): Span[] {
  if (seconds % (SLOT_MS / 1000) !== 0 || 86_400 % seconds !== 0) {
    refuse('interval: expected a multiple of 900 that divides a day');
  }
  if (span.to - span.from > 92 * DAY_MS + 4 * SLOT_MS) {
    refuse('interval: a series has at most 92 days');
  }
  const intervals: Span[] = [];
  for (const interval of calendar.intervals(span, seconds)) {
    if (interval.from > now) break;
    if (intervals.length === MOST_INTERVALS) {
      refuse(say`interval: a series has at most ${MOST_INTERVALS} intervals; take longer ones`);
    }
    intervals.push(interval);
  }
  return intervals;
}
