import { useState } from 'react';
import type { ReactNode } from 'react';
import { Alert, Button, Group, Switch } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import type { Client } from '@offhook/client';
import type { Connector, ConnectorTested } from '@offhook/contract/connectors.ts';
import { Danger } from '../app/danger.tsx';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { Facts, PageHead, Section, useChange } from '../app/page-parts.tsx';
import { useClient } from '../app/session.tsx';
import { Failure, Loading, Missing, isMissing } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';
import { ZoneNote } from '../app/zone.tsx';
import type { PageProps } from '../pages.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { Entries } from './entries.tsx';
import { ConnectorForm } from './form.tsx';
import { NumberTrial } from './lookup.tsx';
import { CONNECTORS, FOLLOW_MS, StateBadge, filesQuery } from './parts.tsx';

const t = wordsOf('connectors');

const connectorQuery = (client: Client, id: number) => ({
  queryKey: [CONNECTORS, 'one', id],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) => client.connectors.get(id, signal),
});
const Tested = ({ result }: { readonly result: ConnectorTested }): ReactNode => (
  <Alert
    role="status"
    color={result.works ? 'green' : 'red'}
    variant="light"
    mb="md"
    title={t(result.works ? 'test_works' : 'test_fails')}
  >
    {[result.status === null ? '' : t('answered_with', { status: result.status }), result.words ?? '']
      .filter(Boolean)
      .join(' · ')}
  </Alert>
);
type Fact = readonly [term: string, value: string];
/** Rows of the details; a state that does not apply has no row. */
function useFacts(connector: Connector): Fact[] {
  const client = useClient();
  const files = useQuery(filesQuery(client));
  const { file, system, settings, secrets, words, since, next_attempt_at } = connector;
  const declared = files.data?.find(({ key }) => key === file);
  const labelOf = (name: string): string =>
    declared?.settings.find((setting) => setting.name === name)?.text ?? name;
  const facts: Fact[] = [];
  if (words !== null) facts.push([t('why'), words]);
  if (since !== null) facts.push([t('not_ready_since'), formatDateTime(since)]);
  if (next_attempt_at !== null) facts.push([t('next_attempt'), formatDateTime(next_attempt_at)]);
  facts.push([t('system'), system], [t('file'), file ?? t('uploaded')]);
  if (declared !== undefined) facts.push([t('file_state'), t(declared.tried ? 'tried' : 'not_tried')]);
  for (const [name, value] of Object.entries(settings)) facts.push([labelOf(name), value]);
  for (const name of secrets) facts.push([labelOf(name), t('is_set')]);
  if (connector.verbs.includes('inbox'))
    facts.push([t('inbox'), `${location.origin}/api/v1/connectors/${connector.id}/inbox`]);
  if (connector.push !== null) {
    const { sent, waiting, dropped, words: why } = connector.push;
    facts.push([t('push'), [t('push_counts', { sent, waiting, dropped }), why].filter(Boolean).join(': ')]);
  }
  if (connector.sync !== null) {
    const { customers, last_at, words: failed, whole_words } = connector.sync;
    const read =
      last_at === null
        ? t('customers_unread')
        : t('customers_read', { number: formatNumber(customers), time: formatDateTime(last_at) });
    facts.push([t('customers'), [read, failed ?? whole_words].filter(Boolean).join(': ')]);
  }
  facts.push(
    [t('from'), formatDateTime(connector.from)],
    [t('made'), t('made_when', { time: formatDateTime(connector.created_at), user: connector.created_by })],
  );
  return facts;
}
function Details({ connector }: { readonly connector: Connector }): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [edited, setEdited] = useState(false);
  const { id, title, enabled } = connector;
  const facts = useFacts(connector);
  const renews = [CONNECTORS];
  const test = useChange(() => client.connectors.test(id), { renews });
  const enable = useChange((wanted: boolean) => client.connectors.change(id, { enabled: wanted }), {
    renews,
    done: ({ connector: now }) => t(now.enabled ? 'was_enabled' : 'was_disabled'),
    onDone: () => test.reset(),
  });
  const remove = useChange(
    async () => {
      await queries.cancelQueries({ queryKey: [CONNECTORS] });
      return client.connectors.remove(id);
    },
    { renews: [], done: () => t('removed'), onDone: () => go(PAGE_PATHS.connectors) },
  );
  const read = useChange(() => client.connectors.sync(id), { renews, done: () => t('sync_started') });
  const accept = useChange(() => client.connectors.sync(id, { delete_missing: true }), {
    renews,
    done: () => t('sync_started'),
  });
  const { sync } = connector;
  const deleted = remove.isPending || remove.isSuccess;
  const now = useQuery({ ...connectorQuery(client, id), refetchInterval: deleted ? false : FOLLOW_MS });
  const failed = test.error ?? enable.error ?? read.error ?? now.error;
  return (
    <>
      <PageHead
        title={title}
        lead={
          <Group gap="xs">
            <StateBadge state={connector.state} />
            <ZoneNote />
          </Group>
        }
      >
        <Switch
          label={t('enabled')}
          checked={enabled}
          disabled={enable.isPending}
          onChange={(event) => enable.mutate(event.currentTarget.checked)}
        />
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate(undefined)}>
          {t('test')}
        </Button>
        <Button variant="default" onClick={() => setEdited(true)}>
          {t('change')}
        </Button>
      </PageHead>
      {failed !== null && (
        <div style={{ marginBottom: 'var(--mantine-spacing-md)' }}>
          <Failure error={failed} />
        </div>
      )}
      {test.data !== undefined && <Tested result={test.data} />}
      <Section title={t('details')}>
        <Facts facts={facts} />
        <Group mt="md" gap="xs">
          {sync !== null && (
            <Button
              variant="default"
              loading={read.isPending || sync.running}
              onClick={() => read.mutate(undefined)}
            >
              {t('read_source')}
            </Button>
          )}
          {sync?.whole_words != null && (
            <Danger
              label={t('delete_missing')}
              title={t('delete_missing_title')}
              text={t('delete_missing_text')}
              change={accept}
            />
          )}
          <Danger label={t('remove')} title={t('remove_title')} text={t('remove_text')} change={remove} />
        </Group>
      </Section>
      {enabled && connector.verbs.includes('lookup') && <NumberTrial connector={connector} />}
      {connector.verbs.includes('entry') && <Entries connector={connector} />}
      {edited && <ConnectorForm connector={connector} onClose={() => setEdited(false)} />}
    </>
  );
}
/** One connector with its ledger. */
export function ConnectorPage({ params }: PageProps): ReactNode {
  const client = useClient();
  const found = useQuery(connectorQuery(client, Number(params['connector'])));
  if (found.isPending) return <Loading />;
  if (isMissing(found.error)) return <Missing href={PAGE_PATHS.connectors} label={t('title')} />;
  if (found.data === undefined) {
    return (
      <>
        <PageHead title={t('connector')} />
        <Failure error={found.error} onRetry={() => void found.refetch()} />
      </>
    );
  }
  return <Details connector={found.data.connector} />;
}
