/** Today's intervals, summed over queues. Pure. */
import type { QueueFigures } from '@offhook/contract/wallboard.ts';

export interface Interval {
  /** Seconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly offered: number;
  readonly answered: number;
  readonly abandoned: number;
}
const HOUR = 3600;
/** Minimum hours of a chart, so that the first calls of a day are not two bars as wide as the chart. */
const LEAST_HOURS = 6;

/** One row for each interval with the sum of all series; empty intervals are rows too. */
export function addSeries(series: readonly (readonly QueueFigures[])[]): Interval[] {
  const rows = new Map<string, Interval>();
  for (const { from, to, sums } of series.flat()) {
    if (from === null || to === null) continue;
    const row = rows.get(from) ?? {
      from: seconds(from),
      to: seconds(to),
      offered: 0,
      answered: 0,
      abandoned: 0,
    };
    rows.set(from, {
      ...row,
      offered: row.offered + sums.offered,
      answered: row.answered + sums.answered,
      abandoned: row.abandoned + sums.abandoned,
    });
  }
  return [...rows.values()].toSorted((a, b) => a.from - b.from);
}
const seconds = (time: string): number => Date.parse(time) / 1000;
/** The rows from the hour of the first call on, at least those of the last six hours. */
export function worthShowing(rows: readonly Interval[]): Interval[] {
  const last = rows.at(-1);
  if (last === undefined) return [];
  const first = rows.find((row) => row.offered > 0)?.from ?? last.from;
  const start = Math.min(Math.floor(first / HOUR) * HOUR, last.to - LEAST_HOURS * HOUR);
  return rows.filter((row) => row.from >= start);
}
