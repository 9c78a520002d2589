import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { useComputedColorScheme } from '@mantine/core';
import uPlot from 'uplot';
import { formatNumber, formatTime } from '../app/format.ts';
import type { Interval } from './series.ts';
import { useLatest } from '../app/use-latest.ts';
import { wordsOf } from '../app/words.ts';
import styles from './board.module.css';

const t = wordsOf('wallboard');

/** The bar of the total is drawn first, and the bar of the part over it. */
const dataOf = (rows: readonly Interval[]): uPlot.AlignedData => [
  rows.map(({ from, to }) => (from + to) / 2),
  rows.map(({ answered, abandoned }) => (abandoned === 0 ? null : answered + abandoned)),
  rows.map(({ answered }) => (answered === 0 ? null : answered)),
];
/** Diagonal lines, so that the two kinds differ without colour. */
function hatched(colour: string, em: number): CanvasPattern | string {
  const tile = document.createElement('canvas');
  const size = Math.max(4, Math.round(em * 0.4 * devicePixelRatio));
  tile.width = size;
  tile.height = size;
  const context = tile.getContext('2d');
  if (context === null) return colour;
  context.strokeStyle = colour;
  context.lineWidth = size / 3;
  for (const shift of [-size, 0, size]) {
    context.beginPath();
    context.moveTo(shift - 1, size + 1);
    context.lineTo(shift + size + 1, -1);
    context.stroke();
  }
  return context.createPattern(tile, 'repeat') ?? colour;
}

/** Today's chart; its data is in the table too. */
export function Plot({ rows }: { readonly rows: readonly Interval[] }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const scheme = useComputedColorScheme();
  const shown = useLatest(rows);
  useEffect(() => {
    const node = box.current;
    if (node === null) return;
    const style = getComputedStyle(node);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const em = Number.parseFloat(style.fontSize);
    const font = `${em * 0.8}px ${style.fontFamily}`;
    const axis: uPlot.Axis = {
      stroke: colour('--mantine-color-dimmed'),
      font,
      grid: { stroke: colour('--offhook-line'), width: 1 },
      ticks: { show: false },
    };
    const bars = uPlot.paths.bars?.({ size: [0.72, 40], radius: 0.12 });
    if (bars === undefined) return;
    const options: uPlot.Options = {
      width: Math.max(100, node.clientWidth),
      height: Math.max(80, node.clientHeight),
      cursor: { show: false },
      legend: { show: false },
      padding: [em * 0.6, em * 0.4, 0, 0],
      scales: {
        x: { time: true, range: () => [shown.current[0]?.from ?? 0, shown.current.at(-1)?.to ?? 1] },
        y: { range: (_u, _min, max) => [0, Math.max(4, Math.ceil(max * 1.1))] },
      },
      axes: [
        {
          ...axis,
          size: em * 2.1,
          gap: em * 0.6,
          space: em * 4,
          // A label at the edge would be cut off.
          values: (u, ticks) =>
            ticks.map((at) =>
              u.bbox.width / devicePixelRatio - u.valToPos(at, 'x') < em * 1.6 ? null : formatTime(at * 1000),
            ),
        },
        {
          ...axis,
          size: em * 2.4,
          space: em * 2,
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
          values: (_u, ticks) => ticks.map((value) => formatNumber(value)),
        },
      ],
      series: [
        {},
        {
          paths: bars,
          fill: () => hatched(colour('--offhook-alert'), em),
          stroke: colour('--offhook-alert'),
          width: 1,
          points: { show: false },
        },
        { paths: bars, fill: colour('--wb-chart'), width: 0, points: { show: false } },
      ],
    };
    const made = new uPlot(options, dataOf(shown.current), node);
    plot.current = made;
    const observer = new ResizeObserver(() => {
      made.setSize({ width: Math.max(100, node.clientWidth), height: Math.max(80, node.clientHeight) });
    });
    observer.observe(node);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [scheme, shown]);
  useEffect(() => plot.current?.setData(dataOf(rows)), [rows]);
  const total = (of: 'answered' | 'abandoned'): string =>
    formatNumber(rows.reduce((sum, row) => sum + row[of], 0));
  return (
    <>
      <ul className={styles.legend}>
        <li data-kind="answered">
          {t('answered')} <b>{total('answered')}</b>
        </li>
        <li data-kind="abandoned">
          {t('abandoned')} <b>{total('abandoned')}</b>
        </li>
      </ul>
      <div ref={box} className={styles.plot} role="img" aria-label={t('chart_of')} />
    </>
  );
}
