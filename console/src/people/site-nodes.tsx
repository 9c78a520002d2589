import type { ReactNode } from 'react';
import { Group, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { SiteNode } from '@offhook/contract/nodes.ts';
import { Danger } from '../app/danger.tsx';
import { formatNumber, formatSpan } from '../app/format.ts';
import { Mark, Rows, Section, useChange } from '../app/page-parts.tsx';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('system');
const LOOK_MS = 3_000;
const DRAIN_MINUTES = 30;
const SILENT_SECONDS = 5;

function Actions({ node }: { readonly node: SiteNode }): ReactNode {
  const { name } = node;
  const client = useClient();
  const renews = ['health'];
  const pass = useChange(() => client.nodes.switch(name), {
    renews,
    done: () => t('node_switched', { name }),
  });
  const drain = useChange(() => client.nodes.drain(name, { minutes: DRAIN_MINUTES }), {
    renews,
    done: () => t('node_draining'),
  });
  const undrain = useChange(() => client.nodes.undrain(name), { renews, done: () => t('node_undrained') });
  if (node.role === 'web') return null;
  return (
    <Group gap="xs" justify="flex-end" wrap="nowrap">
      {node.can_lead && (
        <Danger
          size="xs"
          label={t('node_switch')}
          about={name}
          title={t('node_switch_title', { name })}
          text={t('node_switch_text')}
          change={pass}
        />
      )}
      {node.drain === 'no' ? (
        <Danger
          size="xs"
          label={t('node_drain')}
          about={name}
          title={t('node_drain_title', { name })}
          text={t('node_drain_text', { n: formatNumber(DRAIN_MINUTES) })}
          change={drain}
        />
      ) : (
        <Danger
          size="xs"
          label={t('node_undrain')}
          about={name}
          title={t('node_undrain_title', { name })}
          text={t('node_undrain_text')}
          change={undrain}
        />
      )}
    </Group>
  );
}
function stateOf({ drain, drain_seconds, role }: SiteNode): string {
  if (drain === 'drained') return t('node_is_drained');
  if (drain === 'no') return t(`node_${role}`);
  return role === 'leads' ? t('node_drains_by', { time: formatSpan(drain_seconds) }) : t('node_has_calls');
}
const figure = (value: number | null): string => (value === null ? '–' : formatNumber(value));

/** The nodes of a site with several, and the actions of an administrator; renders nothing for a site with one. */
export function SiteNodes(): ReactNode {
  const client = useClient();
  const read = useQuery({
    queryKey: ['health', 'nodes'],
    queryFn: ({ signal }) => client.nodes.list(signal),
    // No event reports that a node was seen.
    refetchInterval: LOOK_MS,
  });
  if (read.data === undefined)
    return read.isError && <Failure error={read.error} onRetry={() => void read.refetch()} />;
  if (read.data.nodes.length === 0) return null;
  const { lease, nodes } = read.data;
  const hasBus = nodes.some(({ bus }) => bus !== 'none');
  const held =
    lease === null
      ? ''
      : t('nodes_text', { term: formatNumber(lease.term), s: formatNumber(lease.age_seconds, 1) });
  return (
    <Section title={t('nodes')} text={read.isError ? t('nodes_away') : held}>
      <Rows
        caption={t('nodes')}
        minWidth={760}
        columns={[
          t('name'),
          t('state'),
          t('node_engine'),
          t('node_version'),
          t('node_behind'),
          ...(hasBus ? [t('node_bus')] : []),
          t('calls'),
          '',
        ]}
      >
        {nodes.map((node) => (
          <Table.Tr key={node.name}>
            <Table.Td>
              {node.name}
              <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {node.url}
              </Text>
            </Table.Td>
            <Table.Td>
              <Mark
                ok={node.seen_seconds <= SILENT_SECONDS}
                yes={stateOf(node)}
                no={t('node_silent', { time: formatSpan(node.seen_seconds) })}
              />
              {node.problem !== null && (
                <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
                  {node.problem}
                </Text>
              )}
            </Table.Td>
            <Table.Td>
              {node.engine === 'none' ? (
                '–'
              ) : (
                <Mark ok={node.engine === 'up'} yes={t('good')} no={t('failing')} />
              )}
            </Table.Td>
            <Table.Td>{figure(node.version)}</Table.Td>
            <Table.Td>{figure(node.behind)}</Table.Td>
            {hasBus && (
              <Table.Td>
                {node.bus === 'none' ? (
                  '–'
                ) : (
                  <Mark ok={node.bus === 'connected'} yes={t('node_bus_connected')} no={t('node_bus_away')} />
                )}
              </Table.Td>
            )}
            <Table.Td>{figure(node.calls)}</Table.Td>
            <Table.Td>
              <Actions node={node} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Rows>
    </Section>
  );
}
