/** When an alarm of a figure starts and ends. Pure: the same readings give the same alarms. */
import type { BoardThreshold } from '@offhook/contract/boards.ts';
import { kindOf } from './model.ts';

export type Alarm = 'calm' | 'warn' | 'alert';
export interface AlarmState {
  readonly alarm: Alarm;
  /** Time since which the figure is better than its level by the margin, ms since 1970; null while it is not. */
  readonly eased_at: number | null;
}
export const CALM: AlarmState = { alarm: 'calm', eased_at: null };
/** Margin, as a fraction of the level, by which a figure must be better before the alarm may end. */
const MARGIN = 0.05;
/** Time for which it must be better. */
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
/** Whether a figure is so near to its level that it may oscillate around it. */
const near =
  (value: number, { direction, metric }: BoardThreshold): Past =>
  (level) => {
    if (direction === 'above') return value >= level / 2;
    return value < (kindOf(metric) === 'rate' ? (level + 1) / 2 : level * 2);
  };

/**
 * An alarm starts at once. It ends at once without a figure, or with a clearly good one: below half of an upper level; for a
 * lower level of a rate, half way from it to 100 %; for a lower level of any other figure, twice the level.
 * Between these the figure must be better by the margin for the whole time, so that a figure that oscillates around its level
 * does not make the wall flicker.
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
