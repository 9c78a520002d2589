/** Lists that render only visible items: on a page, or on a screen that pages automatically. */
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import { useVirtualizer, useWindowVirtualizer } from '@tanstack/react-virtual';
import type { Virtualizer } from '@tanstack/react-virtual';
import { wordsOf } from '../app/words.ts';
import styles from './board.module.css';

const t = wordsOf('wallboard');

export interface VirtualProps {
  readonly label: string;
  readonly count: number;
  /** Least width of an item, in em. */
  readonly minWidth: number;
  readonly columns?: number | null;
  /** About how high an item is, in em. */
  readonly height: number;
  readonly itemKey: (index: number) => string;
  readonly item: (index: number) => ReactNode;
  /** On a display: within its own part of the screen. */
  readonly screen: boolean;
}
/** Time for which a display shows one page of a list that does not fit, ms. */
const TURN_MS = 12_000;

/** Columns that fit, and the size of an em there. */
function useColumns(ref: RefObject<HTMLElement | null>, { count, minWidth, columns }: VirtualProps) {
  const [size, setSize] = useState({ width: 0, em: 16 });
  useLayoutEffect(() => {
    const node = ref.current;
    if (node === null) return;
    const look = (): void => {
      const em = Number.parseFloat(getComputedStyle(node).fontSize) || 16;
      setSize((old) =>
        old.width === node.clientWidth && old.em === em ? old : { width: node.clientWidth, em },
      );
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(node);
    return () => observer.disconnect();
  }, [ref]);
  const fit = Math.max(1, Math.floor(size.width / (minWidth * size.em)));
  const most = Math.max(1, columns == null ? fit : Math.min(columns, fit));
  // The fewest rows, filled evenly.
  const rows = Math.max(1, Math.ceil(count / most));
  return { em: size.em, columns: columns == null ? Math.max(1, Math.ceil(count / rows)) : most };
}

interface RowsProps extends VirtualProps {
  readonly inner: RefObject<HTMLDivElement | null>;
  readonly perRow: number;
  readonly virtualizer: Virtualizer<never, Element>;
  readonly margin: number;
}
function Rows({ inner, perRow, virtualizer, margin, ...props }: RowsProps): ReactNode {
  return (
    <div
      ref={inner}
      role="list"
      aria-label={props.label}
      className={styles.rows}
      style={{ height: virtualizer.getTotalSize() }}
    >
      {virtualizer.getVirtualItems().map((row) => (
        <div
          key={row.key}
          role="presentation"
          ref={virtualizer.measureElement}
          data-index={row.index}
          className={styles.row}
          style={{
            transform: `translateY(${row.start - margin}px)`,
            gridTemplateColumns: `repeat(${perRow}, minmax(0, 1fr))`,
          }}
        >
          {Array.from({ length: Math.min(perRow, props.count - row.index * perRow) }, (_, i) => {
            const index = row.index * perRow + i;
            return (
              <div
                key={props.itemKey(index)}
                role="listitem"
                aria-setsize={props.count}
                aria-posinset={index + 1}
                className={styles.cell}
              >
                {props.item(index)}
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

function PageList(props: VirtualProps): ReactNode {
  const inner = useRef<HTMLDivElement>(null);
  const { columns: perRow, em } = useColumns(inner, props);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => {
    const look = (): void => {
      const top = inner.current === null ? 0 : inner.current.getBoundingClientRect().top + window.scrollY;
      setMargin((old) => (Math.abs(old - top) < 1 ? old : top));
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  const virtualizer = useWindowVirtualizer({
    count: Math.ceil(props.count / perRow),
    estimateSize: () => props.height * em,
    // Keyed by item, so that a moved row keeps its open menu.
    getItemKey: (index) => (perRow === 1 ? props.itemKey(index) : index),
    overscan: 3,
    scrollMargin: margin,
  });
  return <Rows {...props} inner={inner} perRow={perRow} margin={margin} virtualizer={virtualizer as never} />;
}
function ScreenList(props: VirtualProps): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const outer = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const { columns: perRow, em } = useColumns(inner, props);
  const rows = Math.ceil(props.count / perRow);
  const virtualizer = useVirtualizer({
    count: rows,
    getScrollElement: () => outer.current,
    estimateSize: () => props.height * em,
    overscan: 2,
  });
  const total = virtualizer.getTotalSize();
  const row = total / Math.max(1, rows);
  const [room, setRoom] = useState(0);
  useLayoutEffect(() => {
    const node = frame.current;
    if (node === null) return;
    const observer = new ResizeObserver(() => setRoom(node.clientHeight));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  // A page has only whole rows, because half a name cannot be read.
  const height = room + 1 >= total ? total : Math.max(1, Math.floor(room / row)) * row;
  const pages = Math.max(1, Math.ceil((total - 1) / Math.max(1, height)));
  const [page, setPage] = useState(0);
  const held = useRef(false);
  useEffect(() => {
    if (pages < 2) return;
    // Paging stops while the list is hovered or focused.
    const timer = setInterval(() => held.current || setPage((old) => (old + 1) % pages), TURN_MS);
    return () => clearInterval(timer);
  }, [pages]);
  const shown = Math.min(page, pages - 1);
  useEffect(() => {
    // Not returned: a browser may return a promise, which is no clean-up function.
    outer.current?.scrollTo({ top: shown * height });
  }, [shown, height]);
  const hold = (on: boolean) => (): void => {
    held.current = on;
  };
  return (
    <>
      <div ref={frame} className={styles.frame} style={{ flexBasis: total }}>
        <div
          ref={outer}
          className={styles.screen}
          style={{ height }}
          // Focusable, so that the arrow keys scroll it.
          tabIndex={0}
          role="region"
          aria-label={props.label}
          onPointerEnter={hold(true)}
          onPointerLeave={hold(false)}
          onFocus={hold(true)}
          onBlur={hold(false)}
        >
          <Rows {...props} inner={inner} perRow={perRow} margin={0} virtualizer={virtualizer as never} />
        </div>
      </div>
      {pages > 1 && <p className={styles.pages}>{t('page_of', { page: shown + 1, pages })}</p>}
    </>
  );
}
export const VirtualList = (props: VirtualProps): ReactNode =>
  props.screen ? <ScreenList {...props} /> : <PageList {...props} />;
