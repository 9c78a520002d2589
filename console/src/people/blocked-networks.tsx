import type { ReactNode } from 'react';
import { Button, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { BlockedNetworks as Blocked } from '@offhook/contract/blocked-networks.ts';
import { tellFailure } from '../app/tell.ts';
import { Ago, Rows, Section, useChange } from '../app/page-parts.tsx';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { useClient } from '../app/session.tsx';
import { Read } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('system');

/** Networks whose SIP requests are rejected for a time; renders nothing without one. */
export function BlockedNetworks(): ReactNode {
  const client = useClient();
  const list = useQuery({
    queryKey: ['health', 'blocked'],
    queryFn: ({ signal }) => client.blockedNetworks.list(signal),
  });
  const release = useChange((id: number) => client.blockedNetworks.release(id), {
    renews: ['health'],
    done: () => t('released'),
  });
  const shown = ({ enforced, firewall, networks }: Blocked): ReactNode => (
    <Section
      title={t('blocked')}
      text={t(!enforced ? 'blocked_later' : firewall === 'active' ? 'blocked_firewall' : 'blocked_text')}
    >
      <Rows
        caption={t('blocked')}
        minWidth={520}
        folds
        columns={[t('network'), t('reason'), t('since'), t('ends'), '']}
      >
        {networks.map(({ id, network, reason, requests, since, until }) => (
          <Table.Tr key={id}>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{network}</Table.Td>
            <Table.Td>
              <Text size="sm">{t(`blocked_${reason}`, { n: formatNumber(requests) })}</Text>
            </Table.Td>
            <Table.Td data-label={t('since')}>
              <Ago time={since} never="–" />
            </Table.Td>
            <Table.Td data-label={t('ends')}>{formatDateTime(until)}</Table.Td>
            <Table.Td ta="right">
              <Button
                size="xs"
                variant="default"
                loading={release.isPending && release.variables === id}
                aria-label={`${t('release')}: ${network}`}
                onClick={() => void release.mutateAsync(id).catch(tellFailure)}
              >
                {t('release')}
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </Rows>
    </Section>
  );
  return (
    <Read of={list} quiet>
      {(reply) => reply.networks.length > 0 && shown(reply)}
    </Read>
  );
}
