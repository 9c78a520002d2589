import { Fragment, useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { Badge, Button, Code, Group, Select, Table, Text, VisuallyHidden } from '@mantine/core';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { RefreshCw } from 'lucide-react';
import type { DeliveryState, Webhook, WebhookDelivery } from '@offhook/contract/webhooks.ts';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { useClient } from '../app/session.tsx';
import { Empty, Failure, Loading } from '../app/states.tsx';
import { More, Rows, Section } from '../app/page-parts.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('webhooks');

const COLOURS = { delivered: 'green', retrying: 'yellow', parked: 'red', gap: 'red' } as const;
const STATES = Object.keys(COLOURS) as DeliveryState[];

function DeliveryRow({ delivery }: { readonly delivery: WebhookDelivery }): ReactNode {
  const [opened, setOpened] = useState(false);
  const { id, state, seq, to_seq, status, error, excerpt } = delivery;
  const more = error !== null || excerpt !== '';
  return (
    <Fragment>
      <Table.Tr>
        <Table.Td>{formatDateTime(delivery.last_attempt_at)}</Table.Td>
        <Table.Td>
          <Text size="sm">{delivery.type ?? t('no_type')}</Text>
          <Text size="xs" c="dimmed">
            {seq === to_seq ? seq : `${seq}–${to_seq}`}
            {delivery.replay && ` · ${t('replay')}`}
          </Text>
        </Table.Td>
        <Table.Td>
          <Badge color={COLOURS[state]} variant="dot" tt="none">
            {t(`state_${state}`)}
          </Badge>
          {delivery.next_attempt_at !== null && (
            <Text size="xs" c="dimmed">
              {t('next_at', { time: formatDateTime(delivery.next_attempt_at) })}
            </Text>
          )}
        </Table.Td>
        <Table.Td>{formatNumber(delivery.attempts)}</Table.Td>
        <Table.Td>{status ?? '–'}</Table.Td>
        <Table.Td>
          {delivery.latency_ms === null ? '–' : t('ms', { ms: formatNumber(delivery.latency_ms) })}
        </Table.Td>
        <Table.Td ta="right">
          {more && (
            <Button
              size="xs"
              variant="subtle"
              aria-expanded={opened}
              aria-controls={`delivery-${id}`}
              aria-label={`${t('answer')}: ${seq}`}
              onClick={() => setOpened(!opened)}
            >
              {t('answer')}
            </Button>
          )}
        </Table.Td>
      </Table.Tr>
      {opened && (
        <Table.Tr id={`delivery-${id}`}>
          <Table.Td colSpan={7}>
            {error !== null && (
              <Text size="sm" lang="en" mb={4}>
                {error}
              </Text>
            )}
            {excerpt !== '' && (
              <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
                {excerpt}
              </Code>
            )}
          </Table.Td>
        </Table.Tr>
      )}
    </Fragment>
  );
}
/** The delivery log of a webhook, reloaded after each delivery. */
export function Deliveries({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { id } = webhook;
  const client = useClient();
  const queries = useQueryClient();
  const [refreshing, setRefreshing] = useState(false);
  const [state, setState] = useState<DeliveryState | null>(null);
  const list = useInfiniteQuery({
    queryKey: ['webhooks', 'deliveries', id, state],
    queryFn: ({ pageParam, signal }) =>
      client.webhooks.deliveries(
        id,
        {
          limit: 50,
          ...(state === null ? {} : { state }),
          ...(pageParam === '' ? {} : { cursor: pageParam }),
        },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.next_cursor,
  });
  const rows = list.data?.pages.flatMap((page) => page.deliveries) ?? [];
  const progress = JSON.stringify([webhook.cursor, webhook.retrying, webhook.replay]);
  const shown = useRef(progress);
  useEffect(() => {
    if (shown.current === progress) return;
    shown.current = progress;
    void queries.invalidateQueries({ queryKey: ['webhooks', 'deliveries', id] });
  }, [queries, id, progress]);
  return (
    <Section
      title={t('deliveries')}
      text={t('deliveries_text')}
      actions={
        <Group gap="xs">
          <Select
            aria-label={t('which_deliveries')}
            data={[
              { value: 'all', label: t('all_states') },
              ...STATES.map((value) => ({ value, label: t(`state_${value}`) })),
            ]}
            value={state ?? 'all'}
            onChange={(value) => setState(value === 'all' ? null : (value as DeliveryState))}
            w={190}
          />
          <Button
            variant="default"
            leftSection={<RefreshCw size={16} aria-hidden />}
            loading={refreshing}
            onClick={() => {
              setRefreshing(true);
              void queries.invalidateQueries({ queryKey: ['webhooks'] }).finally(() => setRefreshing(false));
            }}
          >
            {t('refresh')}
          </Button>
        </Group>
      }
    >
      {list.isPending && <Loading />}
      {list.isError && <Failure error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 && <Empty title={t('no_deliveries')} />}
      {rows.length > 0 && (
        <Rows
          caption={t('deliveries')}
          minWidth={820}
          columns={[
            t('time'),
            t('event'),
            t('state'),
            t('attempts'),
            t('status'),
            t('took'),
            <VisuallyHidden key="answer">{t('answer')}</VisuallyHidden>,
          ]}
        >
          {rows.map((delivery) => (
            <DeliveryRow key={delivery.id} delivery={delivery} />
          ))}
        </Rows>
      )}
      <More has={list.hasNextPage} busy={list.isFetchingNextPage} onMore={() => void list.fetchNextPage()} />
    </Section>
  );
}
