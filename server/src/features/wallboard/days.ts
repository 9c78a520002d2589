import { zoneOffset } from '../../core/zone.ts';
import { SLOT_MS } from './sums.ts';

/** A span of time, milliseconds since 1970; `to` is not included. */
export interface Span {
  readonly from: number;
  readonly to: number;
}
/** The clock and the calendar of one time zone. Dates are `YYYY-MM-DD`. */
export interface ZoneCalendar {
  readonly zone: string;
  /** Milliseconds the zone's clock is ahead of UTC. */
  offsetAt(ms: number): number;
  dayOf(ms: number): string;
  /** From midnight to midnight, 23 to 25 hours; an empty span for a day that the zone skipped. */
  day(date: string): Span;
  /**
   * Cuts a span at multiples of `seconds` after midnight by the zone's clock, or at its first time beyond
   * one. When the clock goes back, an interval comes twice.
   */
  intervals(span: Span, seconds: number): Generator<Span, void, void>;
}

const DAY_MS = 86_400_000;
const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Uses the platform's zone data. Throws `RangeError` for an unknown zone. */
export function zoneCalendar(zone: string): ZoneCalendar {
  const offsetAt = zoneOffset(zone);
  const dayOf = (ms: number): string => dateOf(ms + offsetAt(ms));
  /** First slot of the date, or of the next date that exists. */
  const begin = (utc: number): number => {
    const date = dateOf(utc);
    let ms = utc - 15 * 3_600_000;
    while (dayOf(ms) < date) ms += SLOT_MS;
    return ms;
  };
  return {
    zone,
    offsetAt,
    dayOf,
    day(date) {
      const utc = Date.parse(`${date}T00:00:00Z`);
      return { from: begin(utc), to: begin(utc + DAY_MS) };
    },
    *intervals({ from, to }, seconds) {
      const step = seconds * 1000;
      let began = from;
      let before: number | null = null;
      for (let ms = from; ms < to; ms += SLOT_MS) {
        const shown = ms + offsetAt(ms);
        const index = Math.floor(shown / step);
        const begins = before !== null && (index !== before || (shown % step === 0 && step < DAY_MS));
        before = index;
        if (!begins) continue;
        yield { from: began, to: ms };
        began = ms;
      }
      if (began < to) yield { from: began, to };
    },
  };
}
