import { useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Button, Paper, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Cable, Plus } from 'lucide-react';
import { Link } from 'wouter';
import type { Connector } from '@offhook/contract/connectors.ts';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { PageHead, Rows } from '../app/page-parts.tsx';
import { useClient } from '../app/session.tsx';
import { Empty, Failure, Loading } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';
import { ZoneNote } from '../app/zone.tsx';
import { ConnectorForm } from './form.tsx';
import { CONNECTORS, FOLLOW_MS, StateBadge, connectorPath } from './parts.tsx';
import { Sources } from './sources.tsx';

export { ConnectorPage } from './connector.tsx';

const t = wordsOf('connectors');

function Row({ connector }: { readonly connector: Connector }): ReactNode {
  const { id, title, system, state, words, since, entries } = connector;
  const { sent, waiting, sending, unknown, parked, uncertain } = entries;
  return (
    <Table.Tr>
      <Table.Td maw={300}>
        <Anchor component={Link} href={connectorPath(id)} fw={600} style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Anchor>
        {title !== system && (
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {system}
          </Text>
        )}
      </Table.Td>
      <Table.Td maw={360}>
        <StateBadge state={state} />
        {since !== null && (
          <Text size="xs" c="dimmed">
            {t('since', { time: formatDateTime(since) })}
          </Text>
        )}
        {words !== null && (
          <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
            {words}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{formatNumber(sent)}</Table.Td>
      <Table.Td>{formatNumber(waiting + sending + unknown)}</Table.Td>
      <Table.Td>{formatNumber(parked + uncertain)}</Table.Td>
    </Table.Tr>
  );
}
/** The connectors of the site. */
export function ConnectorsPage(): ReactNode {
  const client = useClient();
  const [creates, setCreates] = useState(false);
  const list = useQuery({
    queryKey: [CONNECTORS, 'list'],
    queryFn: ({ signal }) => client.connectors.list(signal),
    refetchInterval: FOLLOW_MS,
  });
  const connectors = list.data?.connectors ?? [];
  return (
    <>
      <PageHead
        title={t('title')}
        lead={
          <>
            {t('lead')} <ZoneNote />
          </>
        }
      >
        <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setCreates(true)}>
          {t('new')}
        </Button>
      </PageHead>
      <Paper withBorder p="md" mb="md">
        {list.isPending && <Loading />}
        {list.isError && <Failure error={list.error} onRetry={() => void list.refetch()} />}
        {list.isSuccess && connectors.length === 0 && (
          <Empty icon={<Cable size={32} aria-hidden />} title={t('none')}>
            <Text size="sm" c="dimmed">
              {t('none_text')}
            </Text>
          </Empty>
        )}
        {connectors.length > 0 && (
          <Rows
            caption={t('title')}
            minWidth={760}
            columns={[t('connector'), t('state'), t('column_sent'), t('column_waiting'), t('column_stuck')]}
          >
            {connectors.map((connector) => (
              <Row key={connector.id} connector={connector} />
            ))}
          </Rows>
        )}
      </Paper>
      <Sources />
      {creates && <ConnectorForm connector={null} onClose={() => setCreates(false)} />}
    </>
  );
}
