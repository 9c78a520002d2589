/** Numbers, times and spans in the reader's language. Nothing throws: an invalid time is shown as a dash. */
import { language } from './words.ts';

const DASH = '–';
/** The reader's regional variant where the browser names one: British times differ from American ones. */
const locale = (): string =>
  navigator.languages.find((wanted) => wanted.toLowerCase().startsWith(`${language()}-`)) ?? language();
const cache = new Map<string, Intl.DateTimeFormat | Intl.NumberFormat | Intl.RelativeTimeFormat>();
function kept<T extends Intl.DateTimeFormat | Intl.NumberFormat | Intl.RelativeTimeFormat>(
  name: string,
  make: (lang: string) => T,
): T {
  const key = `${language()} ${name}`;
  const known = cache.get(key) as T | undefined;
  if (known !== undefined) return known;
  const made = make(locale());
  cache.set(key, made);
  return made;
}
const dates = (name: string, how: Intl.DateTimeFormatOptions) =>
  kept(name, (lang) => new Intl.DateTimeFormat(lang, how));
type Time = string | number | null | undefined;
function shown(time: Time, format: () => Intl.DateTimeFormat): string {
  if (time === null || time === undefined) return DASH;
  const ms = typeof time === 'number' ? time : Date.parse(time);
  return Number.isNaN(ms) ? DASH : format().format(ms);
}

export const formatNumber = (value: number | null | undefined, digits = 0): string =>
  value === null || value === undefined
    ? DASH
    : kept(`n${digits}`, (lang) => new Intl.NumberFormat(lang, { maximumFractionDigits: digits })).format(
        value,
      );
/** `rate` is from 0 to 1; null, a rate without a base, is a dash. */
export const formatPercent = (rate: number | null | undefined, digits = 0): string =>
  rate === null || rate === undefined
    ? DASH
    : kept(
        `p${digits}`,
        (lang) => new Intl.NumberFormat(lang, { style: 'percent', maximumFractionDigits: digits }),
      ).format(rate);
/** 14:05 */
export const formatTime = (time: Time): string =>
  shown(time, () => dates('t', { hour: 'numeric', minute: '2-digit' }));
/** 14:05:31 */
export const formatClock = (time: Time): string =>
  shown(time, () => dates('c', { hour: 'numeric', minute: '2-digit', second: '2-digit' }));
/** 22 Nov 2026 */
export const formatDate = (time: Time): string => shown(time, () => dates('d', { dateStyle: 'medium' }));
/** 22 Nov 2026, 14:05; by the reader's clock, or by that of a zone. */
export const formatDateTime = (time: Time, timeZone?: string): string =>
  shown(time, () => dates(`dt${timeZone ?? ''}`, { dateStyle: 'medium', timeStyle: 'short', timeZone }));
/** `0:07`, `12:30`, `1:02:03`: a ticking span. */
export function formatSpan(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return DASH;
  const whole = Math.max(0, Math.floor(seconds));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  const two = (n: number): string => String(n).padStart(2, '0');
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}
/** `PT3720S` for the `dateTime` of a `<time>`. */
export const spanAttribute = (seconds: number): string => `PT${Math.max(0, Math.floor(seconds))}S`;
/** `2 minutes ago`, `in 3 hours`. */
export function formatAgo(time: Time, now: number): string {
  const ms = typeof time === 'number' ? time : Date.parse(time ?? '');
  if (Number.isNaN(ms)) return DASH;
  const seconds = Math.round((ms - now) / 1000);
  const format = kept('ago', (lang) => new Intl.RelativeTimeFormat(lang, { numeric: 'auto' }));
  const steps = [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const;
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) >= size) return format.format(Math.trunc(seconds / size), unit);
  }
  return format.format(seconds, 'second');
}
