/** When a figure is coloured, and when the colour goes again. Pure: the same readings give the same alarms. */
import type { BoardThreshold } from '@offhook/contract/boards.ts';

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

function reached(value: number | null, { direction, warn, alert }: BoardThreshold, margin: number): Alarm {
  if (value === null) return 'calm';
  const past = (level: number | null): boolean =>
    level !== null && (direction === 'above' ? value >= level * (1 - margin) : value <= level * (1 + margin));
  return past(alert) ? 'alert' : past(warn) ? 'warn' : 'calm';
}

/**
 * A level is entered at once, and left only after the figure was behind it by the margin for the whole of the time: a figure
 * that swings about its level does not make the wall flicker. No figure at all is behind every level.
 */
export function nextAlarm(
  { alarm, eased_at }: AlarmState,
  value: number | null,
  threshold: BoardThreshold | undefined,
  now: number,
): AlarmState {
  if (threshold === undefined) return CALM;
  const at = reached(value, threshold, 0);
  if (RANK[at] > RANK[alarm]) return { alarm: at, eased_at: null };
  const held = reached(value, threshold, MARGIN);
  if (RANK[held] >= RANK[alarm]) return { alarm, eased_at: null };
  const since = eased_at ?? now;
  return now - since >= HOLD_MS ? { alarm: held, eased_at: null } : { alarm, eased_at: since };
}
