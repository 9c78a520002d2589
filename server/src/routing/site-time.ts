/** State of a time condition at one moment in the site's time zone. */
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { zoneOffset } from '../core/zone.ts';

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export interface SiteMoment {
  /** 0 for Monday. */
  readonly weekday: number;
  readonly year: number;
  readonly month: number;
  readonly day: number;
  /** `08:30` */
  readonly clock: string;
}
/** `at` is milliseconds since 1970. */
export function siteMoment(at: number, zone: string): SiteMoment {
  const shown = new Date(at + zoneOffset(zone)(at));
  return {
    weekday: (shown.getUTCDay() + 6) % 7,
    year: shown.getUTCFullYear(),
    month: shown.getUTCMonth() + 1,
    day: shown.getUTCDate(),
    clock: shown.toISOString().slice(11, 16),
  };
}

export type Opening =
  | { readonly is: 'open' | 'closed'; readonly rule: string }
  | { readonly is: 'holiday'; readonly rule: string };
/**
 * The night switch outranks holidays, and holidays outrank hours. Hours with `from` not before `to` end on
 * the next day.
 */
export function opening(
  condition: ConfigBody<'time_condition'>,
  holidays: (name: string) => ConfigBody<'holidays'> | undefined,
  now: SiteMoment,
): Opening {
  if (condition.override !== 'none') return { is: condition.override, rule: 'override' };
  for (const name of condition.holidays)
    for (const d of holidays(name)?.days ?? [])
      if (d.month === now.month && d.day === now.day && (d.year === null || d.year === now.year))
        return { is: 'holiday', rule: `holidays ${name}: ${d.title}` };
  for (const [i, { days, from, to }] of condition.hours.entries()) {
    const today = days.includes(DAYS[now.weekday]!);
    const yesterday = days.includes(DAYS[(now.weekday + 6) % 7]!);
    const within =
      to > from
        ? today && now.clock >= from && now.clock < to
        : (today && now.clock >= from) || (yesterday && now.clock < to);
    if (within) return { is: 'open', rule: `hours.${i}` };
  }
  return { is: 'closed', rule: 'hours' };
}
