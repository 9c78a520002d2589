import { memo } from 'react';
import type { ReactNode } from 'react';
import type { BoardMetric } from '@offhook/contract/boards.ts';
import type { QueueStats } from '@offhook/contract/wallboard.ts';
import { useRecord } from '../app/live.ts';
import { useSecond } from '../app/now.ts';
import { Empty } from '../app/states.tsx';
import { useAlarms } from './alarms.ts';
import { metricName, metricText, readMetric } from './metrics.ts';
import { countsOf, figuresOf, formulaPlace, kindOf, stillReachable } from './model.ts';
import type { Shown } from './model.ts';
import { AlarmMark, StateBar } from './states.tsx';
import { worse } from './thresholds.ts';
import type { Alarm } from './thresholds.ts';
import { VirtualList } from './virtual.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './board.module.css';

const t = wordsOf('wallboard');

interface FigureProps {
  readonly metric: BoardMetric;
  readonly value: number | null;
  readonly alarm: Alarm;
  readonly formula: number | null;
}
export function Figure({ metric, value, alarm, formula }: FigureProps): ReactNode {
  return (
    <div className={styles.figure} data-alarm={alarm} data-metric={metric} data-kind={kindOf(metric)}>
      <dt>
        {metricName(metric)}
        {metric === 'service_level' && formula !== null && <sup>{formula}</sup>}
      </dt>
      <dd>
        {metricText(metric, value)} <AlarmMark alarm={alarm} />
      </dd>
    </div>
  );
}

interface TileProps {
  readonly queue: string;
  readonly board: Shown;
  readonly formulas: ReadonlyMap<string, QueueStats>;
}
/** One queue; events of other queues do not render it. */
const Tile = memo(function Tile({ queue: name, board, formulas }: TileProps): ReactNode {
  const queue = useRecord('queues', name);
  const second = useSecond();
  const figures = figuresOf(board, name);
  const readings = figures.map((metric) => {
    const value = queue === undefined ? null : readMetric(queue, metric, second);
    const reachable = queue === undefined ? null : stillReachable(queue, metric, value, second);
    return { metric, value, reachable };
  });
  const alarms = useAlarms(name, readings, board.layout.thresholds, second);
  if (queue === undefined) return null;
  const worst = alarms.reduce<Alarm>(worse, 'calm');
  return (
    <article className={styles.tile} data-alarm={worst} data-queue={name}>
      <header className={styles.tileHead}>
        <h3 title={queue.title || name}>{queue.title || name}</h3>
        {worst === 'calm' ? (
          <span className={styles.number}>{queue.number}</span>
        ) : (
          <AlarmMark alarm={worst} worded />
        )}
      </header>
      <dl className={styles.figures}>
        {readings.map(({ metric, value }, i) => (
          <Figure
            key={metric}
            metric={metric}
            value={value}
            alarm={alarms[i]!}
            formula={formulaPlace(formulas, queue.stats)}
          />
        ))}
      </dl>
      <StateBar counts={queue.stats === null ? {} : countsOf(queue.stats)} empty={t('nobody_in')} />
    </article>
  );
});

interface TilesProps {
  readonly board: Shown;
  readonly names: readonly string[];
  readonly formulas: ReadonlyMap<string, QueueStats>;
  readonly screen: boolean;
}
export function Tiles({ board, names, formulas, screen }: TilesProps): ReactNode {
  if (names.length === 0) return <Empty title={t('no_queues')}>{t('no_queues_text')}</Empty>;
  const compact = board.layout.density === 'compact';
  return (
    <VirtualList
      label={t('queues_part')}
      count={names.length}
      minWidth={compact ? 14 : 20}
      columns={board.layout.columns}
      height={compact ? 11 : 15}
      itemKey={(index) => names[index]!}
      item={(index) => <Tile queue={names[index]!} board={board} formulas={formulas} />}
      screen={screen}
    />
  );
}
