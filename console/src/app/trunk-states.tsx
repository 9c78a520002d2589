import type { ReactNode } from 'react';
import { Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Client } from '@offhook/client';
import type { TrunkState } from '@offhook/contract/trunks.ts';
import { useChanges } from './changes.ts';
import { formatNumber } from './format.ts';
import { Ago, Mark, Rows, Section } from './page-parts.tsx';
import { useClient } from './session.tsx';
import { Read } from './states.tsx';
import { wordsOf } from './words.ts';

const t = wordsOf('system');
const TRUNK_STATES = 'trunk-states';
const WORDS = {
  registered: 'trunk_registered',
  reachable: 'reachable',
  unreachable: 'unreachable',
  rejected: 'trunk_rejected',
} as const;

function StateOf({
  trunk: { enabled, state, reason },
}: {
  readonly trunk: Pick<TrunkState, 'enabled' | 'state' | 'reason'>;
}): ReactNode {
  if (state === null)
    return (
      <Text size="sm" c="dimmed">
        {t(enabled ? 'not_known' : 'switched_off')}
      </Text>
    );
  const word = t(WORDS[state]);
  return <Mark ok={reason === null} yes={word} no={word} />;
}

/** Current state of the trunks, kept up to date by their events; renders nothing without one. */
export function TrunkStates(): ReactNode {
  const client = useClient();
  useChanges(['trunks'], 'trunk.', TRUNK_STATES);
  const read = useQuery({ queryKey: [TRUNK_STATES], queryFn: ({ signal }) => client.trunks(signal) });
  return (
    <Read of={read} quiet>
      {(reply) => reply.trunks.length > 0 && <Trunks {...reply} />}
    </Read>
  );
}
function Trunks({
  stale,
  trunks,
}: Pick<Awaited<ReturnType<Client['trunks']>>, 'stale' | 'trunks'>): ReactNode {
  return (
    <Section title={stale ? `${t('trunks')} (${t('last_known')})` : t('trunks')} text={t('trunks_text')}>
      <Rows
        caption={t('trunks')}
        minWidth={560}
        folds
        columns={[t('name'), t('state'), t('since'), t('round_trip'), t('calls')]}
      >
        {trunks.map((trunk) => (
          <Table.Tr key={trunk.name}>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{trunk.title}</Table.Td>
            <Table.Td>
              <StateOf trunk={trunk} />
              {trunk.servers.length > 1 &&
                trunk.servers
                  .filter(({ reachable }) => reachable === false)
                  .map(({ server }) => (
                    <Text key={server} size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                      {t('server_away', { server })}
                    </Text>
                  ))}
            </Table.Td>
            <Table.Td data-label={t('since')}>
              <Ago time={trunk.since} never="–" />
            </Table.Td>
            <Table.Td data-label={t('round_trip')}>
              {trunk.round_trip_ms === null
                ? '–'
                : t('ms', { n: formatNumber(Math.max(1, Math.round(trunk.round_trip_ms))) })}
            </Table.Td>
            <Table.Td data-label={t('calls')}>
              {trunk.max_calls === null
                ? formatNumber(trunk.calls)
                : `${formatNumber(trunk.calls)} / ${formatNumber(trunk.max_calls)}`}
            </Table.Td>
          </Table.Tr>
        ))}
      </Rows>
    </Section>
  );
}
