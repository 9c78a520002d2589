import { Suspense, useEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { useQueries, useQueryClient } from '@tanstack/react-query';
import { ChartNoAxesColumn, Table as TableIcon } from 'lucide-react';
import type { Client } from '@offhook/client';
import { formatClock, formatNumber, formatTime } from '../app/format.ts';
import { Failure, Loading } from '../app/states.tsx';
import { addSeries, worthShowing } from './series.ts';
import type { Interval } from './series.ts';
import { wordsOf } from '../app/words.ts';
import styles from './board.module.css';
import { late } from '../app/late.tsx';

const t = wordsOf('wallboard');

// The chart library loads with the first chart.
const Plot = late(async () => (await import('./plot.tsx')).Plot);
const INTERVAL_SECONDS = 900;
/** Interval whose changes cause one reload, ms. */
const TOGETHER_MS = 2_000;
/** Limit of queues in one chart; a larger board shows one of them. */
const MOST_TOGETHER = 8;
const MOST_GAPS = 3;

function IntervalTable({ rows }: { readonly rows: readonly Interval[] }): ReactNode {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- without a mouse, the arrow keys scroll it
    <div className={styles.tableBox} tabIndex={0} role="region" aria-label={t('chart_of')}>
      <table className={styles.table}>
        <thead>
          <tr>
            {[t('interval'), t('offered'), t('answered'), t('abandoned')].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ from, to, offered, answered, abandoned }) => (
            <tr key={from}>
              <th scope="row">
                {formatTime(from * 1000)}–{formatTime(to * 1000)}
              </th>
              <td>{formatNumber(offered)}</td>
              <td>{formatNumber(answered)}</td>
              <td>{formatNumber(abandoned)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
interface ChartProps {
  readonly client: Client;
  readonly names: readonly string[];
  readonly title: (queue: string) => string;
  /** Changes with new data; null while no queue reports figures. */
  readonly counted: number | null;
  readonly screen: boolean;
}
/** Answered and abandoned by quarter of an hour, as bars or as a table. */
export function Chart({ client, names, title, counted, screen }: ChartProps): ReactNode {
  const queries = useQueryClient();
  const together = names.length <= MOST_TOGETHER;
  const [chosen, setChosen] = useState('');
  const [asTable, setAsTable] = useState(false);
  const one = names.includes(chosen) ? chosen : together ? null : names[0];
  const shown = one === null || one === undefined ? names : [one];
  const answers = useQueries({
    queries: shown.map((name) => ({
      queryKey: ['queue-intervals', name],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.queues.stats(name, { interval: INTERVAL_SECONDS }, signal),
      // A new interval begins without a call, too.
      refetchInterval: INTERVAL_SECONDS * 1000,
      // Figures may have changed while no chart was shown.
      staleTime: 0,
    })),
    combine: (results) => ({
      gaps: results.find(({ data }) => data !== undefined)?.data?.gaps ?? [],
      series: results.map(({ data }) => data?.stats && data.series).filter((series) => series != null),
      loading: results.some(({ isPending }) => isPending),
      error: results.find(({ error }) => error !== null)?.error ?? null,
    }),
  });
  const first = useRef(counted);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(() => {
    if (first.current === counted) return;
    first.current = counted;
    if (counted === null) return;
    timer.current ??= setTimeout(() => {
      timer.current = null;
      void queries.invalidateQueries({ queryKey: ['queue-intervals'] });
    }, TOGETHER_MS);
  }, [counted, queries]);
  useEffect(() => () => clearTimeout(timer.current ?? undefined), []);
  const rows = useMemo(() => worthShowing(addSeries(answers.series)), [answers.series]);
  const uncounted = answers.gaps.filter((gap) => !gap.settled);
  const body = (): ReactNode => {
    if (rows.length === 0 && answers.error !== null) return null;
    if (answers.loading) return <Loading />;
    if (rows.every(({ offered }) => offered === 0)) return <p className={styles.none}>{t('chart_none')}</p>;
    return asTable ? <IntervalTable rows={rows} /> : <Plot rows={rows} />;
  };
  return (
    <div className={styles.chart}>
      {/* A wall has no input. */}
      <div className={styles.chartHead} style={screen ? { display: 'none' } : undefined}>
        {names.length > 1 && (
          <select
            className={styles.select}
            aria-label={t('chart_queue')}
            value={one ?? ''}
            onChange={(event) => setChosen(event.currentTarget.value)}
          >
            {together && <option value="">{t('all_together')}</option>}
            {names.map((name) => (
              <option key={name} value={name}>
                {title(name)}
              </option>
            ))}
          </select>
        )}
        <button type="button" className={styles.quiet} onClick={() => setAsTable(!asTable)}>
          {asTable ? (
            <ChartNoAxesColumn className={styles.icon} aria-hidden />
          ) : (
            <TableIcon className={styles.icon} aria-hidden />
          )}
          {t(asTable ? 'chart_chart' : 'chart_table')}
        </button>
      </div>
      {answers.error !== null && <Failure error={answers.error} />}
      <Suspense fallback={<Loading />}>{body()}</Suspense>
      {uncounted.length > 0 && (
        <p className={styles.none}>
          {t('not_counted', {
            times: uncounted
              .slice(-MOST_GAPS)
              .map(({ from, to }) => `${formatClock(from)}–${formatClock(to)}`)
              .join(', '),
          })}
        </p>
      )}
    </div>
  );
}
