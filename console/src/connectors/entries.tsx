import { useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Badge, Button, Select, Table, Text, TextInput, VisuallyHidden } from '@mantine/core';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Connector, ConnectorEntry, EntryState } from '@offhook/contract/connectors.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { Dialog } from '../app/dialog.tsx';
import { fieldsWith } from '../app/field-errors.ts';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { Paged, Rows, Section, useChange } from '../app/page-parts.tsx';
import { useClient } from '../app/session.tsx';
import { wordsOf } from '../app/words.ts';
import { PAGE_PATHS } from '../app/paths.ts';
import { CONNECTORS } from './parts.tsx';

const t = wordsOf('connectors');

const COLOURS = {
  waiting: 'yellow',
  sending: 'yellow',
  unknown: 'yellow',
  sent: 'green',
  parked: 'red',
  uncertain: 'red',
  not_wanted: 'gray',
  removed: 'gray',
} as const;
const STATES = Object.keys(COLOURS) as EntryState[];
/** States that a person may retry. */
const RETRYABLE: readonly EntryState[] = ['parked', 'uncertain', 'not_wanted'];
/** Limit of the contract, which is not loaded here. */
const MOST_ID = 300;

interface RetryProps {
  readonly connector: Connector;
  readonly entry: ConnectorEntry;
  readonly onClose: () => void;
}
function Retry({ connector, entry, onClose }: RetryProps): ReactNode {
  const client = useClient();
  const [found, setFound] = useState('');
  const entry_id = found.trim();
  const retry = useChange(
    () => client.connectors.retryEntry(connector.id, entry.id, entry_id === '' ? {} : { entry_id }),
    { renews: [CONNECTORS], done: () => t('retry_begun'), onDone: onClose },
  );
  const labels = { entry_id: t('found_id') };
  return (
    <Dialog opened onClose={onClose} title={t('retry_title')} centered>
      <ChangeForm change={retry} submit={t('retry')} labels={labels} onClose={onClose}>
        {entry.words !== null && (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {entry.words}
          </Text>
        )}
        <Text size="sm">
          {t(entry.state === 'uncertain' ? 'retry_uncertain' : 'retry_text', { system: connector.system })}
        </Text>
        <TextInput
          {...fieldsWith(retry.error, labels)('entry_id')}
          data-autofocus
          description={t('found_hint')}
          value={found}
          maxLength={MOST_ID}
          onChange={(event) => setFound(event.currentTarget.value)}
        />
      </ChangeForm>
    </Dialog>
  );
}
interface RowProps {
  readonly entry: ConnectorEntry;
  readonly onRetry: () => void;
}
function Row({ entry, onRetry }: RowProps): ReactNode {
  const { conversation_id, state, task, words, status, next_attempt_at } = entry;
  return (
    <Table.Tr data-entry={entry.id}>
      <Table.Td maw={240}>
        <Anchor
          component={Link}
          href={PAGE_PATHS.conversation.replace(':conversation', encodeURIComponent(conversation_id))}
          size="sm"
          style={{ overflowWrap: 'anywhere' }}
        >
          {conversation_id}
        </Anchor>
        {entry.recording_id !== null && (
          <Text size="xs" c="dimmed">
            {t('recording')}
          </Text>
        )}
      </Table.Td>
      <Table.Td maw={360}>
        <Badge color={COLOURS[state]} variant="dot" tt="none">
          {t(`entry_${state}`)}
        </Badge>
        {task !== null && (
          <Text size="xs" c="dimmed">
            {t(`task_${task}`)}
          </Text>
        )}
        {words !== null && (
          <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
            {[status === null ? '' : t('answered_with', { status }), words].filter(Boolean).join(' · ')}
          </Text>
        )}
      </Table.Td>
      <Table.Td maw={160} style={{ overflowWrap: 'anywhere' }}>
        {entry.entry_id ?? '–'}
      </Table.Td>
      <Table.Td maw={160} style={{ overflowWrap: 'anywhere' }}>
        {entry.customer_id ?? '–'}
      </Table.Td>
      <Table.Td>{formatNumber(entry.attempts)}</Table.Td>
      <Table.Td>
        {entry.last_attempt_at === null ? '–' : formatDateTime(entry.last_attempt_at)}
        {next_attempt_at !== null && (
          <Text size="xs" c="dimmed">
            {t('next_at', { time: formatDateTime(next_attempt_at) })}
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="right">
        {RETRYABLE.includes(state) && (
          <Button
            size="xs"
            variant="default"
            aria-label={`${t('retry')}: ${conversation_id}`}
            onClick={onRetry}
          >
            {t('retry')}
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
/** The ledger of a connector, read again as the number of its entries in some state changes. */
export function Entries({ connector }: { readonly connector: Connector }): ReactNode {
  const { id } = connector;
  const client = useClient();
  const queries = useQueryClient();
  const [state, setState] = useState<EntryState | null>(null);
  const [retried, setRetried] = useState<ConnectorEntry | null>(null);
  const list = useInfiniteQuery({
    queryKey: [CONNECTORS, 'entries', id, state],
    queryFn: ({ pageParam, signal }) =>
      client.connectors.entries(
        id,
        { ...(state === null ? {} : { state }), ...(pageParam === '' ? {} : { cursor: pageParam }) },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.next_cursor,
  });
  const entries = list.data?.pages.flatMap((page) => page.entries) ?? [];
  const progress = JSON.stringify(connector.entries);
  const shown = useRef(progress);
  useEffect(() => {
    if (shown.current === progress) return;
    shown.current = progress;
    void queries.invalidateQueries({ queryKey: [CONNECTORS, 'entries', id] });
  }, [queries, id, progress]);
  return (
    <Section
      title={t('entries')}
      text={t('entries_text', { system: connector.system })}
      actions={
        <Select
          aria-label={t('which_entries')}
          data={[
            { value: 'all', label: t('all_states') },
            ...STATES.map((value) => ({
              value,
              label: t('state_count', {
                state: t(`entry_${value}`),
                n: formatNumber(connector.entries[value]),
              }),
            })),
          ]}
          value={state ?? 'all'}
          onChange={(value) => setState(value === 'all' ? null : (value as EntryState))}
          w={240}
        />
      }
    >
      <Paged list={list} count={entries.length} empty={t('no_entries')}>
        <Rows
          caption={t('entries')}
          minWidth={900}
          columns={[
            t('conversation'),
            t('state'),
            t('entry_id'),
            t('customer_id'),
            t('attempts'),
            t('last_attempt'),
            <VisuallyHidden key="retry">{t('retry')}</VisuallyHidden>,
          ]}
        >
          {entries.map((entry) => (
            <Row key={entry.id} entry={entry} onRetry={() => setRetried(entry)} />
          ))}
        </Rows>
      </Paged>
      {retried !== null && <Retry connector={connector} entry={retried} onClose={() => setRetried(null)} />}
    </Section>
  );
}
