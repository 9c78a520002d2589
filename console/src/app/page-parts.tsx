/** Building blocks of pages: heading, table, list that is read page by page, and changes. */
import type { ReactNode } from 'react';
import { Button, Group, Paper, Table, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { CircleAlert, CircleCheck } from 'lucide-react';
import { formatAgo, formatDateTime } from './format.ts';
import { serverNow } from './now.ts';
import { useOnce } from './once.ts';
import type { Once } from './once.ts';
import { Empty, Failure, Loading } from './states.tsx';
import { wordsOf } from './words.ts';

const t = wordsOf('app');

interface PageHeadProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children?: ReactNode;
}
/** The heading of a page, with its buttons. */
export const PageHead = ({ title, lead, children }: PageHeadProps): ReactNode => (
  <Group justify="space-between" align="flex-start" mb="lg" gap="sm">
    <div style={{ minWidth: 0, flex: '1 1 16rem' }}>
      <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
        {title}
      </Title>
      {lead !== undefined && (
        <Text component="div" c="dimmed" size="sm" mt={4}>
          {lead}
        </Text>
      )}
    </div>
    {children !== undefined && <Group gap="xs">{children}</Group>}
  </Group>
);
interface RowsProps {
  readonly caption: string;
  readonly columns: readonly ReactNode[];
  readonly minWidth: number;
  /** On a phone each row is folded: two cells beside each other, those after them below; it never scrolls there. */
  readonly folds?: boolean;
  readonly children: ReactNode;
}
/** A table that scrolls within the page if it is wider. */
export const Rows = ({ caption, columns, minWidth, folds = false, children }: RowsProps): ReactNode => (
  <Table.ScrollContainer
    mod={{ folds }}
    minWidth={minWidth}
    type="native"
    tabIndex={0}
    role="group"
    aria-label={caption}
    // Visually hidden text in a cell has to scroll with the table, or it makes the page as wide as the table.
    pos="relative"
  >
    <Table verticalSpacing="xs" highlightOnHover aria-label={caption}>
      <Table.Thead>
        <Table.Tr>
          {columns.map((column, i) => (
            // oxlint-disable-next-line react/no-array-index-key -- columns never change their places
            <Table.Th key={i} style={{ whiteSpace: 'nowrap' }}>
              {column}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>{children}</Table.Tbody>
    </Table>
  </Table.ScrollContainer>
);
interface ChangeOptions<T> {
  /** Query keys to invalidate after the change. */
  readonly renews: readonly string[];
  readonly done?: (result: T) => string | null;
  readonly onDone?: (result: T) => void;
}
/** A change by request: its queries are invalidated, and a toast confirms it. */
export function useChange<T, Input>(
  work: (input: Input) => Promise<T>,
  { renews, done, onDone }: ChangeOptions<T>,
): Once<T, Input> {
  const queries = useQueryClient();
  return useOnce<T, Input>({
    mutationFn: work,
    onSuccess: async (result) => {
      const said = done?.(result) ?? null;
      if (said !== null) notifications.show({ message: said, color: 'green' });
      onDone?.(result);
      await Promise.all(renews.map((key) => queries.invalidateQueries({ queryKey: [key] })));
    },
  });
}

/** The next page of a list. */
export const More = ({
  has,
  busy,
  onMore,
}: {
  readonly has: boolean;
  readonly busy: boolean;
  readonly onMore: () => void;
}): ReactNode =>
  has ? (
    <Group justify="center" mt="md">
      <Button variant="default" loading={busy} onClick={onMore}>
        {t('more')}
      </Button>
    </Group>
  ) : null;
interface PagedProps {
  readonly list: {
    readonly isPending: boolean;
    readonly isError: boolean;
    readonly isSuccess: boolean;
    readonly error: unknown;
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly refetch: () => Promise<unknown>;
    readonly fetchNextPage: () => Promise<unknown>;
  };
  /** Rows of all pages that were read. */
  readonly count: number;
  readonly empty: string;
  readonly children: ReactNode;
}
/** A table that is read page by page, with its waiting, empty and failed states and the button for the next page. */
export const Paged = ({ list, count, empty, children }: PagedProps): ReactNode => (
  <>
    {list.isPending && <Loading />}
    {list.isSuccess && count === 0 && <Empty title={empty} />}
    {count > 0 && children}
    {list.isError && <Failure error={list.error} onRetry={() => void list.refetch()} />}
    <More has={list.hasNextPage} busy={list.isFetchingNextPage} onMore={() => void list.fetchNextPage()} />
  </>
);

interface SectionProps {
  readonly title: string;
  readonly text?: string;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}
export const Section = ({ title, text, actions, children }: SectionProps): ReactNode => (
  <Paper component="section" withBorder p="lg" mb="md" aria-label={title}>
    <Group justify="space-between" align="flex-start" mb={children === undefined ? 0 : 'md'} gap="sm">
      <div style={{ flex: '1 1 14rem' }}>
        <Title order={2} size="h4">
          {title}
        </Title>
        {text !== undefined && (
          <Text size="sm" c="dimmed" maw={640}>
            {text}
          </Text>
        )}
      </div>
      {actions}
    </Group>
    {children}
  </Paper>
);
/** `2 hours ago`, with the full time as its tooltip. */
export const Ago = ({ time, never }: { readonly time: string | null; readonly never: string }): ReactNode =>
  time === null ? (
    <Text span size="sm" c="dimmed">
      {never}
    </Text>
  ) : (
    <Text span size="sm" title={formatDateTime(time)} component="time" dateTime={time}>
      {formatAgo(time, serverNow())}
    </Text>
  );

/** Name and value pairs under each other. */
export const Facts = ({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
}): ReactNode => (
  <Table variant="vertical" withRowBorders layout="fixed">
    <Table.Tbody>
      {facts.map(([name, value]) => (
        <Table.Tr key={name}>
          <Table.Th w={{ base: 130, sm: 220 }} fw={500} bg="transparent" c="dimmed">
            {name}
          </Table.Th>
          <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
        </Table.Tr>
      ))}
    </Table.Tbody>
  </Table>
);

/** A state that is good or bad, in words and with a sign. */
export const Mark = ({
  ok,
  yes,
  no,
}: {
  readonly ok: boolean;
  readonly yes: string;
  readonly no: string;
}): ReactNode => (
  <Group gap={6} wrap="nowrap" c={ok ? 'var(--offhook-ok)' : 'var(--offhook-alert)'}>
    {ok ? <CircleCheck size={16} aria-hidden /> : <CircleAlert size={16} aria-hidden />}
    <Text size="sm" fw={600}>
      {ok ? yes : no}
    </Text>
  </Group>
);
