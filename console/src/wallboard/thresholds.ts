/** When a figure is coloured, and when the colour goes again. Pure: the same readings give the same alarms. */
import type { BoardThreshold } from '@offhook/contract/boards.ts';
import { kindOf } from './model.ts';

export type Alarm = 'calm' | 'warn' | 'alert';
export interface AlarmState {
  readonly alarm: Alarm;
  /** Since when the figure is back by the margin, ms since 1970; null while it is not. */
  readonly eased_at: number | null;
}
export const CALM: AlarmState = { alarm: 'calm', eased_at: null };
/** How far behind its level, as a part of it, a figure must be before its colour may go. */
export const MARGIN = 0.05;
/** For how long it must be. */
export const HOLD_MS = 10_000;
const RANK: Readonly<Record<Alarm, number>> = { calm: 0, warn: 1, alert: 2 };
export const worse = (a: Alarm, b: Alarm): Alarm => (RANK[a] >= RANK[b] ? a : b);

type Past = (level: number) => boolean;
const highest = ({ warn, alert }: BoardThreshold, past: Past): Alarm =>
  alert !== null && past(alert) ? 'alert' : warn !== null && past(warn) ? 'warn' : 'calm';
const within =
  (value: number, { direction }: BoardThreshold, margin: number): Past =>
  (level) =>
    direction === 'above' ? value >= level * (1 - margin) : value <= level * (1 + margin);
/** Whether a figure is so near to its level that it may swing about it. */
const near =
  (value: number, { direction, metric }: BoardThreshold): Past =>
  (level) => {
    if (direction === 'above') return value >= level / 2;
    return value < (kindOf(metric) === 'rate' ? (level + 1) / 2 : level * 2);
  };

/**
 * A level is entered at once. It is left at once where there is no figure any more or a clearly good one: below half of a
 * level that is not to be exceeded; for one that is to be held, half way from it to 100 %, or the double of what is no rate.
 * Between, it is left only after the figure was behind it by the margin for the whole of the time: a figure that swings about
 * its level does not make the wall flicker.
 */
export function nextAlarm(
  { alarm, eased_at }: AlarmState,
  value: number | null,
  threshold: BoardThreshold | undefined,
  now: number,
): AlarmState {
  if (threshold === undefined || value === null) return CALM;
  const at = highest(threshold, within(value, threshold, 0));
  if (RANK[at] > RANK[alarm]) return { alarm: at, eased_at: null };
  const most = worse(at, highest(threshold, near(value, threshold)));
  if (RANK[most] < RANK[alarm]) return nextAlarm({ alarm: most, eased_at: null }, value, threshold, now);
  const held = highest(threshold, within(value, threshold, MARGIN));
  if (RANK[held] >= RANK[alarm]) return { alarm, eased_at: null };
  const since = eased_at ?? now;
  return now - since >= HOLD_MS ? { alarm: held, eased_at: null } : { alarm, eased_at: since };
}
