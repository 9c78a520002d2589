import { useEffect, useMemo, useRef, useState } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import { Button, Loader, Text } from '@mantine/core';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { ArrowUp } from 'lucide-react';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { formatDate } from '../app/format.ts';
import { useDay } from '../app/now.ts';
import { scaled } from '../app/rem.ts';
import { Failure } from '../app/states.tsx';
import { Row } from './row.tsx';
import type { RowActions } from './row.tsx';
import type { Conversations } from './use-conversations.ts';
import { wordsOf } from '../app/words.ts';
import styles from './history.module.css';

const t = wordsOf('history');

type Item =
  | { readonly is: 'day'; readonly key: string; readonly day: number }
  | { readonly is: 'row'; readonly key: string; readonly conversation: ConversationSummary };
const dayOf = (ms: number): number => {
  const date = new Date(ms);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
};
/** Rows with a heading for each day of the reader's zone. */
function itemsOf(rows: readonly ConversationSummary[]): readonly Item[] {
  const items: Item[] = [];
  let last: number | null = null;
  for (const conversation of rows) {
    const day = dayOf(Date.parse(conversation.started_at));
    if (day !== last) items.push({ is: 'day', key: `day ${day}`, day });
    last = day;
    items.push({ is: 'row', key: conversation.id, conversation });
  }
  return items;
}
function dayText(day: number, today: number): string {
  if (day === today) return t('today');
  if (day === dayOf(today - 12 * 3_600_000)) return t('yesterday');
  return formatDate(day);
}

const DAY_PX = 44;
const ROW_PX = 57;
const CARD_PX = 85;
/** Rows rendered beyond the visible ones. */
const OVERSCAN = 10;
/** Width up to which a row is a card, as in the styles. */
const NARROW_PX = 896;

interface ListProps {
  readonly list: Conversations;
  readonly own: string | null;
  readonly me: string;
  readonly actions: RowActions;
}
/** Renders only the visible rows. */
export function List({ list, own, me, actions }: ListProps): ReactNode {
  const { rows, more, stuck, fetching, next, waiting, show } = list;
  const items = useMemo(() => itemsOf(rows), [rows]);
  const today = useDay();
  const frame = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  const [narrow, setNarrow] = useState(false);
  useEffect(() => {
    const look = (): void => {
      const { top, width } = frame.current!.getBoundingClientRect();
      setOffset(top + Math.round(window.scrollY));
      setNarrow(width <= scaled(NARROW_PX));
    };
    look();
    const watch = new ResizeObserver(look);
    watch.observe(document.body);
    return () => watch.disconnect();
  }, []);
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: (i) => (items[i]?.is === 'day' ? DAY_PX : narrow ? CARD_PX : ROW_PX),
    getItemKey: (i) => items[i]?.key ?? i,
    overscan: OVERSCAN,
    scrollMargin: offset,
  });
  const drawn = virtual.getVirtualItems();
  const last = drawn.at(-1)?.index ?? -1;
  useEffect(() => {
    if (more && !stuck && !fetching && last >= items.length - 1 - OVERSCAN) next();
  }, [more, stuck, fetching, last, items.length, next]);

  const focused = useRef(-1);
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = (event.target as HTMLElement).dataset['row'];
    if (step === undefined || at === undefined) return;
    event.preventDefault();
    let to = Number(at) + step;
    if (items[to]?.is === 'day') to += step;
    if (items[to] === undefined) return;
    focused.current = to;
    virtual.scrollToIndex(to);
    focusRow();
  }
  function focusRow(): void {
    const link = frame.current?.querySelector<HTMLElement>(`[data-row="${focused.current}"]`);
    if (!link) return;
    link.focus({ preventScroll: true });
    focused.current = -1;
  }
  useEffect(() => {
    if (focused.current !== -1) focusRow();
  });
  return (
    <>
      <div role="status" className={styles.waiting}>
        {waiting > 0 && (
          <Button
            size="sm"
            radius="xl"
            leftSection={<ArrowUp size={16} aria-hidden />}
            onClick={show}
            className={styles.new ?? ''}
          >
            {t('new', { count: waiting })}
          </Button>
        )}
      </div>
      <div
        ref={frame}
        role="list"
        aria-label={t('list')}
        className={styles.list}
        style={{ height: virtual.getTotalSize() }}
        onKeyDown={onKeyDown}
      >
        {drawn.map(({ index, key, start }) => {
          const item = items[index]!;
          return (
            <div
              key={key}
              role="listitem"
              data-index={index}
              ref={virtual.measureElement}
              className={styles.item}
              style={{ transform: `translateY(${start - offset}px)` }}
            >
              {item.is === 'day' ? (
                <Text className={styles.day ?? ''} component="h2" size="sm" fw={650} c="dimmed">
                  {dayText(item.day, today)}
                </Text>
              ) : (
                <Row conversation={item.conversation} own={own} me={me} index={index} actions={actions} />
              )}
            </div>
          );
        })}
      </div>
      <div className={styles.foot} role={stuck ? undefined : 'status'}>
        {stuck ? (
          <Failure error={list.error} onRetry={list.retry} />
        ) : more ? (
          <>
            <Loader size="xs" aria-hidden />
            <Text size="sm" c="dimmed">
              {t('more')}
            </Text>
          </>
        ) : (
          <Text size="sm" c="dimmed">
            {t('end')}
          </Text>
        )}
      </div>
    </>
  );
}
