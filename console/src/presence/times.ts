/** Choices for the end of a personal presence. */
export const ENDS = ['never', '30', '60', '120', 'today', 'other'] as const;
export type End = (typeof ENDS)[number];

/** In the format of the API; `now` is milliseconds since 1970, `other` the text of a date-time field. Null: no end. */
export function endOf(end: End, other: string, now: number): string | null {
  switch (end) {
    case 'never':
      return null;
    case 'today': {
      const day = new Date(now);
      day.setHours(23, 59, 59, 0);
      return day.toISOString();
    }
    case 'other': {
      const time = Date.parse(other);
      return Number.isNaN(time) ? null : new Date(time).toISOString();
    }
    default:
      return new Date(now + Number(end) * 60_000).toISOString();
  }
}
