/** Times of date-time fields, which are in the zone of this machine. */
const two = (n: number): string => String(n).padStart(2, '0');

/**
 * `2026-11-22T14:05` for a time of the API, or ms since 1970; empty without one. Exact for every year: while a year is typed, the
 * field has the years 2, 20 and 202, when clocks differed from UTC by seconds.
 */
export function toLocal(time: string | number | null | undefined): string {
  if (time === null || time === undefined) return '';
  const d = new Date(time);
  if (Number.isNaN(d.getTime())) return '';
  return `${String(d.getFullYear()).padStart(4, '0')}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}`;
}
/** In the format of the API; null for an empty field. */
export function fromLocal(text: string): string | null {
  if (text === '') return null;
  const d = new Date(text);
  // An invalid time is sent unchanged: the service reports the error.
  return Number.isNaN(d.getTime()) ? text : d.toISOString();
}
