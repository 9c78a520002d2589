/** Earlier conversations with this number that the person may see; loaded with the first call. */
import type { ReactNode } from 'react';
import { Anchor, Badge, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { ArrowDownLeft, ArrowUpRight } from 'lucide-react';
import { Link } from 'wouter';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { formatAgo, formatDateTime, formatSpan } from '../app/format.ts';
import { queueNames } from '../app/queue-names.ts';
import { talkSpan } from '../app/talk-span.ts';
import { serverNow } from '../app/now.ts';
import { OF_NUMBER_SHOWN, conversationQuery, conversationsOfQuery } from '../app/queries.ts';
import { useClient, useMe } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';

const dispositionWord = wordsOf('dispositions');
const t = wordsOf('desk');

interface HistoryPanelProps {
  readonly number: string;
  /** True once the caller is known. */
  readonly known: boolean;
  /** The running conversation is left out. */
  readonly without: string;
}
export function HistoryPanel({ number, known, without }: HistoryPanelProps): ReactNode {
  const client = useClient();
  const list = useQuery({
    ...conversationsOfQuery(client, number),
    enabled: number !== '',
  });
  const before = (list.data ?? []).filter((one) => one.id !== without).slice(0, OF_NUMBER_SHOWN - 1);
  return (
    <Paper withBorder component="section" aria-labelledby="desk-history" className={styles.panel ?? ''}>
      <Group justify="space-between">
        <Title order={2} size="h5" id="desk-history">
          {t('history')}
        </Title>
        <Anchor component={Link} href={PAGE_PATHS.history} size="sm">
          {t('history_all')}
        </Anchor>
      </Group>
      {list.isError && <Failure error={list.error} onRetry={() => void list.refetch()} />}
      {number === '' ? (
        <Text size="sm" c="dimmed">
          {known ? t('history_no_number') : t('history_none')}
        </Text>
      ) : list.data === undefined ? (
        list.isPending && (
          <Stack gap="xs" aria-busy>
            {[0, 1, 2].map((row) => (
              <Skeleton key={row} height={44} />
            ))}
          </Stack>
        )
      ) : before.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('history_none')}
        </Text>
      ) : (
        <Rows rows={before} />
      )}
    </Paper>
  );
}
function Rows({ rows }: { readonly rows: readonly ConversationSummary[] }): ReactNode {
  const client = useClient();
  const me = useMe().extension;
  const noted = rows.filter((row) => row.notes > 0);
  const notes = useQueries({
    queries: noted.map(({ id }) => conversationQuery(client, id)),
  });
  const notesOf = (id: string) => notes[noted.findIndex((row) => row.id === id)]?.data?.notes ?? [];
  return (
    <ul className={styles.rows}>
      {rows.map((row) => {
        const outgoing = row.caller?.extension === me;
        const Direction = outgoing ? ArrowUpRight : ArrowDownLeft;
        return (
          <li key={row.id}>
            <Anchor
              component={Link}
              href={PAGE_PATHS.conversation.replace(':conversation', encodeURIComponent(row.id))}
              className={styles.row ?? ''}
              underline="never"
              c="inherit"
            >
              <Direction size={16} aria-label={t(outgoing ? 'outgoing' : 'incoming')} />
              <span className={styles.shrink}>
                <Text component="span" size="sm" fw={600} title={formatDateTime(row.started_at)}>
                  {formatAgo(row.started_at, serverNow())}
                </Text>{' '}
                <Text component="span" size="xs" c="dimmed">
                  {[dispositionWord(`disposition_${row.disposition}`), ...queueNames(row)].join(' · ')}
                </Text>
              </span>
              <span className={styles.ticking}>{formatSpan(talkSpan(row))}</span>
              {row.outcome !== null && (
                <Badge variant="light" tt="none" size="sm">
                  {row.outcome.code}
                </Badge>
              )}
            </Anchor>
            {notesOf(row.id).map((note) => (
              <Text key={note.id} size="sm" className={styles.before ?? ''} dir="auto">
                {note.text}
              </Text>
            ))}
          </li>
        );
      })}
    </ul>
  );
}
