/** Alarms of one shown board; they outlive a tile that is scrolled out of sight. */
import { createContext, useContext, useEffect } from 'react';
import type { BoardMetric, BoardThreshold } from '@offhook/contract/boards.ts';
import { CALM, nextAlarm } from './thresholds.ts';
import type { Alarm, AlarmState } from './thresholds.ts';

export type Alarms = Map<string, AlarmState>;
export const AlarmsContext = createContext<Alarms>(new Map());
export const createAlarms = (): Alarms => new Map();

export interface Reading {
  readonly metric: BoardMetric;
  readonly value: number | null;
  /** Compared with the levels of a low figure, see `stillReachable`. */
  readonly reachable: number | null;
}
/** The alarms of a queue's readings, evaluated every second because time alone can end one. */
export function useAlarms(
  queue: string,
  readings: readonly Reading[],
  thresholds: readonly BoardThreshold[],
  second: number,
): Alarm[] {
  const kept = useContext(AlarmsContext);
  const next = readings.map(({ metric, value, reachable }) => {
    const threshold = thresholds.find((one) => one.metric === metric);
    const judged = threshold?.direction === 'below' ? reachable : value;
    return nextAlarm(kept.get(`${queue} ${metric}`) ?? CALM, judged, threshold, second * 1000);
  });
  useEffect(() => {
    next.forEach((state, i) => kept.set(`${queue} ${readings[i]!.metric}`, state));
  });
  return next.map(({ alarm }) => alarm);
}
