/** A list of one kind, of up to ten thousand lines: only visible ones are rendered, and pages load while scrolling. */
import { useEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Button, Group, Paper, Stack, Text, TextInput, Title, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp, Plus, Route, Search } from 'lucide-react';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { CONFIG_KINDS, SINGLE_KINDS } from '@offhook/contract/config-objects.ts';
import { Link } from 'wouter';
import { formatNumber } from '../app/format.ts';
import { scaled } from '../app/rem.ts';
import { useClient } from '../app/session.tsx';
import { TrunkStates } from '../app/trunk-states.tsx';
import { Empty, Failure, Loading } from '../app/states.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { PAGE, listHref, listPage, objectHref, useDraftState } from './data.ts';
import type { AnyObject } from './data.ts';
import { fieldLabel, kindNames, kindWords } from './field-words.ts';
import { LAYOUTS } from './layout.ts';
import { PendingBadge } from './pending.tsx';
import { valueText } from './value.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './admin.module.css';

const t = wordsOf('admin');

const ROW_PX = 44;
/** Number of columns in a narrow table; the others are on one line below the last of these. */
const WITH_COLUMN = 2;
interface Sort {
  readonly by: string;
  readonly down: boolean;
}
const cell = (kind: ConfigKind, column: string, object: AnyObject): string => {
  if (column === CONFIG_KINDS[kind].key) return object.key;
  const value = object.object[column];
  if (Array.isArray(value) && !['patterns', 'trunks', 'prompts'].includes(column))
    return formatNumber(value.length);
  return valueText(kind, column, value);
};
/** The other columns of a row, below its title: a figure has the heading of its column, and booleans are left out. */
const restOf = (kind: ConfigKind, columns: readonly string[], row: AnyObject): string =>
  columns
    .flatMap((column) => {
      const value = row.object[column];
      const text = cell(kind, column, row);
      if (value === null || value === undefined || typeof value === 'boolean' || text === '') return [];
      return /^[\d.,\s]+$/.test(text) ? [`${fieldLabel(kind, column)}: ${text}`] : [text];
    })
    .join(' · ');
const compared = (a: string, b: string): number => a.localeCompare(b, undefined, { numeric: true });

export function ObjectsList({ kind }: { readonly kind: ConfigKind }): ReactNode {
  const client = useClient();
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim().slice(0, 64), 250);
  const keyField = CONFIG_KINDS[kind].key;
  const [sort, setSort] = useState<Sort>({ by: keyField, down: false });
  const query = useInfiniteQuery({
    queryKey: ['config', 'list', kind, q],
    queryFn: ({ pageParam, signal }) =>
      listPage(
        client,
        kind,
        { limit: PAGE, cursor: pageParam ?? undefined, ...(q === '' ? {} : { q }) },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
  });
  const draft = useDraftState();
  const { hasNextPage, isFetchingNextPage, isError, fetchNextPage } = query;
  const inOrder = sort.by === keyField && !sort.down;
  useEffect(() => {
    // Any order other than the service's needs all pages.
    if (!inOrder && hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [inOrder, hasNextPage, isFetchingNextPage, isError, fetchNextPage]);
  const rows = useMemo(() => {
    const all = query.data?.pages.flatMap((page) => page.objects) ?? [];
    if (inOrder) return all;
    const way = sort.down ? -1 : 1;
    return all.toSorted((a, b) => way * compared(cell(kind, sort.by, a), cell(kind, sort.by, b)));
  }, [query.data, inOrder, sort, kind]);
  const total = query.data?.pages[0]?.total ?? 0;
  const newHref = `${listHref(kind)}?new=1`;
  const one = SINGLE_KINDS.has(kind);
  const deleted = draft.data?.changes.some((row) => row.kind === kind && row.pending === 'removed') === true;

  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-end">
        <div>
          <Anchor component={Link} href={PAGE_PATHS.config} size="sm">
            {t('configuration')}
          </Anchor>
          <Title order={1} size="h2">
            {kindNames(kind)}
          </Title>
        </div>
        <Group gap="xs">
          {kind.endsWith('_route') && (
            <Button
              component={Link}
              href={PAGE_PATHS.route_test}
              variant="default"
              leftSection={<Route size={16} aria-hidden />}
            >
              {t('route_test')}
            </Button>
          )}
          {(!one || (query.data !== undefined && total === 0)) && (
            <Button component={Link} href={newHref} leftSection={<Plus size={16} aria-hidden />}>
              {t('new_kind', kindWords(kind))}
            </Button>
          )}
        </Group>
      </Group>
      <Group gap="sm">
        <TextInput
          aria-label={t('filter')}
          placeholder={t('filter')}
          leftSection={<Search size={16} aria-hidden />}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          w={{ base: '100%', sm: 320 }}
        />
        <Text size="sm" c="dimmed" role="status">
          {query.data !== undefined &&
            t('total', { count: total, number: formatNumber(total), ...kindWords(kind) })}
          {isFetchingNextPage && ` · ${t('reading', { number: formatNumber(rows.length) })}`}
        </Text>
      </Group>
      {isError && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.data === undefined ? (
        isError || <Loading />
      ) : rows.length === 0 ? (
        <Paper withBorder>
          <Empty
            title={
              q !== ''
                ? t('nothing_found')
                : kind === 'feature_code'
                  ? t('codes_standard')
                  : t(deleted ? 'all_deleted' : 'none_yet', kindWords(kind))
            }
          >
            {q === '' && kind === 'feature_code' && <Text size="sm">{t('codes_text')}</Text>}
            {q === '' && (
              <Button component={Link} href={newHref} variant="light">
                {t('new_kind', kindWords(kind))}
              </Button>
            )}
          </Empty>
        </Paper>
      ) : (
        <Rows
          kind={kind}
          rows={rows}
          total={total}
          sort={sort}
          onSort={setSort}
          onEnd={() => {
            if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
          }}
        />
      )}
      {kind === 'trunk' && <TrunkStates />}
    </Stack>
  );
}

interface RowsProps {
  readonly kind: ConfigKind;
  readonly rows: readonly AnyObject[];
  readonly total: number;
  readonly sort: Sort;
  readonly onSort: (sort: Sort) => void;
  readonly onEnd: () => void;
}
function Rows({ kind, rows, total, sort, onSort, onEnd }: RowsProps): ReactNode {
  const columns = [
    CONFIG_KINDS[kind].key,
    ...LAYOUTS[kind].columns.filter((c) => c !== CONFIG_KINDS[kind].key),
  ];
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => scaled(ROW_PX),
    overscan: 12,
  });
  const seen = virtual.getVirtualItems();
  const first = seen[0];
  const last = seen.at(-1);
  const nearEnd = last !== undefined && last.index >= rows.length - 30 && rows.length < total;
  useEffect(() => {
    if (nearEnd) onEnd();
  });
  const above = first?.start ?? 0;
  const below = virtual.getTotalSize() - (last?.end ?? 0);
  return (
    // Focusable, so that it scrolls by keyboard.
    <Paper
      withBorder
      className={styles.tableBox ?? ''}
      ref={box}
      tabIndex={0}
      role="region"
      aria-label={kindNames(kind)}
    >
      <table className={styles.table} aria-rowcount={total + 1}>
        <thead>
          <tr>
            {columns.map((column, i) => {
              const own = sort.by === column;
              return (
                <th
                  key={column}
                  scope="col"
                  className={i < WITH_COLUMN ? undefined : styles.late}
                  aria-sort={own ? (sort.down ? 'descending' : 'ascending') : 'none'}
                >
                  <UnstyledButton
                    className={styles.sort ?? ''}
                    onClick={() => onSort({ by: column, down: own && !sort.down })}
                  >
                    {fieldLabel(kind, column)}
                    {own &&
                      (sort.down ? <ArrowDown size={14} aria-hidden /> : <ArrowUp size={14} aria-hidden />)}
                  </UnstyledButton>
                </th>
              );
            })}
            <th scope="col">{t('state')}</th>
          </tr>
        </thead>
        <tbody>
          {above > 0 && <tr style={{ height: above }} aria-hidden />}
          {seen.map(({ index }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <tr key={row.key} aria-rowindex={index + 2} style={{ height: scaled(ROW_PX) }}>
                {columns.map((column, i) =>
                  i === 0 ? (
                    <th key={column} scope="row">
                      <Anchor component={Link} href={objectHref(kind, row.key)} size="sm" fw={600}>
                        {row.key}
                      </Anchor>
                    </th>
                  ) : (
                    <td key={column} className={i < WITH_COLUMN ? undefined : styles.late}>
                      <span className={styles.cell}>{cell(kind, column, row)}</span>
                      {i === WITH_COLUMN - 1 && (
                        <span className={styles.rest}>{restOf(kind, columns.slice(WITH_COLUMN), row)}</span>
                      )}
                    </td>
                  ),
                )}
                <td>
                  <PendingBadge pending={row.pending} />
                </td>
              </tr>
            );
          })}
          {below > 0 && <tr style={{ height: below }} aria-hidden />}
        </tbody>
      </table>
    </Paper>
  );
}
