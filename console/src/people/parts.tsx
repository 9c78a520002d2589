/** What the pages of people and the system are put together from. */
import type { ReactNode } from 'react';
import {
  Alert,
  Button,
  Code,
  CopyButton,
  Group,
  Modal,
  Paper,
  Stack,
  Table,
  Text,
  Title,
} from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { Check, Copy, TriangleAlert } from 'lucide-react';
import { formatAgo, formatDateTime } from '../app/format.ts';
import { serverNow } from '../app/now.ts';
import { useOnce } from '../app/once.ts';
import type { Once } from '../app/once.ts';
import { Empty, Failure, Loading } from '../app/states.tsx';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('people');
export const levelName = (level: PersonLevel): string => t(`level_${level}`);

interface PageHeadProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children?: ReactNode;
}
/** The heading of a page, with what can be done there. */
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
interface RowsProps {
  readonly caption: string;
  readonly columns: readonly ReactNode[];
  readonly minWidth: number;
  readonly children: ReactNode;
}
/** A table that scrolls by itself where it is wider than the page. */
export const Rows = ({ caption, columns, minWidth, children }: RowsProps): ReactNode => (
  <Table.ScrollContainer
    minWidth={minWidth}
    type="native"
    tabIndex={0}
    role="group"
    aria-label={caption}
    // What is hidden from the eye in a cell scrolls with the table, else it makes the page as wide as the table.
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
/** `2 hours ago`, with the whole time for who stays on it. */
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

interface ChangeOptions<T> {
  /** Keys of what is read anew once it is done. */
  readonly renews: readonly string[];
  readonly done?: (result: T) => string | null;
  readonly onDone?: (result: T) => void;
}
/** Something that is changed: what depends on it is read anew, and the page says that it is done. */
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

export const CopyText = ({ value, label }: { readonly value: string; readonly label: string }): ReactNode => (
  <CopyButton value={value} timeout={2_000}>
    {({ copied, copy }) => (
      <Button
        variant="default"
        size="xs"
        onClick={copy}
        leftSection={copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      >
        <span aria-live="polite">{copied ? t('copied') : label}</span>
      </Button>
    )}
  </CopyButton>
);
interface OnceProps {
  readonly title: string;
  readonly text: string;
  readonly value: string | null;
  readonly onClose: () => void;
}
/** A secret that is shown this one time; the dialog is closed by its button only, never by a slip. */
export const ShownOnce = ({ title, text, value, onClose }: OnceProps): ReactNode => (
  <Modal
    opened={value !== null}
    onClose={onClose}
    title={title}
    centered
    closeOnClickOutside={false}
    closeOnEscape={false}
    withCloseButton={false}
  >
    <Stack>
      <Alert color="yellow" variant="light" icon={<TriangleAlert size={18} aria-hidden />}>
        {text}
      </Alert>
      <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', fontSize: '0.9rem' }}>
        {value}
      </Code>
      <Group justify="space-between">
        <CopyText value={value ?? ''} label={t('copy')} />
        <Button onClick={onClose}>{t('kept_it')}</Button>
      </Group>
    </Stack>
  </Modal>
);
/** More of a list that is read page by page. */
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
/** A table that is read page by page: while it waits, where there is nothing, where it failed, and the next page. */
export const Paged = ({ list, count, empty, children }: PagedProps): ReactNode => (
  <>
    {list.isPending && <Loading />}
    {list.isError && <Failure error={list.error} onRetry={() => void list.refetch()} />}
    {list.isSuccess && count === 0 && <Empty title={empty} />}
    {count > 0 && !list.isError && children}
    <More has={list.hasNextPage} busy={list.isFetchingNextPage} onMore={() => void list.fetchNextPage()} />
  </>
);
