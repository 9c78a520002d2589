/** The list of people; renders only visible rows. */
import { useEffect, useImperativeHandle, useRef } from 'react';
import type { KeyboardEvent, ReactNode, Ref } from 'react';
import { Text } from '@mantine/core';
import { useElementSize, useMergedRef } from '@mantine/hooks';
import { useVirtualizer } from '@tanstack/react-virtual';
import { formatNumber } from '../app/format.ts';
import { useKept } from '../app/live.ts';
import { scaled } from '../app/rem.ts';
import { useMay, useMe } from '../app/session.tsx';
import type { Dialling } from './dial.ts';
import type { Row, Section } from './entries.ts';
import { Person } from './row.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './directory.module.css';

const t = wordsOf('directory');

const HEAD_PX = 40;
const PERSON_PX = { wide: 60, narrow: 76 };
/** Width below which the list has no columns, as in the styles. */
const NARROW_PX = 736;
const titleOf = (section: Section): string => {
  if (typeof section !== 'string') return section.department;
  return t(section === 'none' ? 'no_department' : section);
};
export interface ListHandle {
  /** Focuses the first person. */
  focusFirst(): void;
}
interface ListProps {
  readonly rows: readonly Row[];
  /** Changes with the wanted people: the list then scrolls to its top. */
  readonly wanted: string;
  readonly people: number;
  /** Department of the signed-in person, whose calls it may pick up. */
  readonly department: string | null;
  readonly favourites: ReadonlySet<string>;
  readonly onFavourite: (extension: string) => void;
  readonly dialling: Dialling;
  readonly ref: Ref<ListHandle>;
}
export function PeopleList({
  rows,
  wanted,
  people,
  department,
  favourites,
  onFavourite,
  dialling,
  ref,
}: ListProps): ReactNode {
  useKept('presence');
  const me = useMe();
  const supervises = useMay('supervisor');
  const { ref: measured, width } = useElementSize<HTMLDivElement>();
  const narrow = width > 0 && width <= scaled(NARROW_PX);
  const scroller = useRef<HTMLDivElement>(null);
  const box = useMergedRef(scroller, measured);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) =>
      scaled(rows[index]?.kind === 'head' ? HEAD_PX : narrow ? PERSON_PX.narrow : PERSON_PX.wide),
    getItemKey: (index) => {
      const row = rows[index];
      return row?.kind === 'person' ? row.contact.extension : `head ${index}`;
    },
    overscan: 8,
  });
  useEffect(() => virtual.measure(), [virtual, rows, narrow]);
  useEffect(() => virtual.scrollToOffset(0), [virtual, wanted]);

  /** A distant row must be rendered before it can be focused. */
  function focusOn(index: number): void {
    virtual.scrollToIndex(index, { align: 'auto' });
    requestAnimationFrame(() =>
      requestAnimationFrame(() =>
        scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"] [data-call]`)?.focus(),
      ),
    );
  }
  const personFrom = (index: number, step: 1 | -1): number | null => {
    for (let i = index; i >= 0 && i < rows.length; i += step) if (rows[i]?.kind === 'person') return i;
    return null;
  };
  useImperativeHandle(ref, () => ({
    focusFirst() {
      const first = personFrom(0, 1);
      if (first !== null) focusOn(first);
    },
  }));
  function onKeyDown(event: KeyboardEvent): void {
    const at = (event.target as HTMLElement).closest<HTMLElement>('[data-index]')?.dataset['index'];
    if (at === undefined || event.defaultPrevented) return;
    const index = Number(at);
    const steps: Readonly<Record<string, () => number | null>> = {
      ArrowDown: () => personFrom(index + 1, 1),
      ArrowUp: () => personFrom(index - 1, -1),
      Home: () => personFrom(0, 1),
      End: () => personFrom(rows.length - 1, -1),
    };
    const next = steps[event.key]?.();
    if (next === undefined) return;
    event.preventDefault();
    if (next !== null) focusOn(next);
  }
  return (
    <div ref={box} className={styles.scroller} onKeyDown={onKeyDown}>
      <ul className={styles.list} style={{ height: virtual.getTotalSize() }} aria-label={t('people')}>
        {virtual.getVirtualItems().map(({ index, key, start, size }) => {
          const row = rows[index];
          const style = { transform: `translateY(${start}px)`, height: size };
          if (row === undefined) return null;
          if (row.kind === 'head') {
            return (
              <li key={key} className={styles.head} style={style}>
                <Text component="h2" size="sm" fw={650} c="dimmed">
                  {titleOf(row.section)}
                </Text>
                <Text size="xs" c="dimmed">
                  {formatNumber(row.count)}
                </Text>
              </li>
            );
          }
          const { contact } = row;
          return (
            <Person
              key={key}
              contact={contact}
              own={contact.extension === me.extension}
              mayPickUp={supervises || (department !== null && contact.department === department)}
              favourite={favourites.has(contact.extension)}
              onFavourite={onFavourite}
              dialling={dialling}
              place={row.place}
              of={people}
              index={index}
              style={style}
            />
          );
        })}
      </ul>
    </div>
  );
}
