import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Code, Group, Modal, NumberInput, Stack, Switch, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import type { Client } from '@offhook/client';
import type { Webhook, WebhookTested } from '@offhook/contract/webhooks.ts';
import { Danger } from '../app/danger.tsx';
import { ChangeForm } from '../app/change-form.tsx';
import { Dialog } from '../app/dialog.tsx';
import { fieldsWith } from '../app/field-errors.ts';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { useClient } from '../app/session.tsx';
import { Failure, Loading, Missing, isMissing } from '../app/states.tsx';
import { ZoneNote } from '../app/zone.tsx';
import type { PageProps } from '../pages.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { Facts, PageHead, Section, useChange } from '../app/page-parts.tsx';
import { ShownOnce } from './parts.tsx';
import { Deliveries } from './webhook-deliveries.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { FOLLOW_MS, WebhookState } from './webhooks.tsx';
import { wordsOf } from '../app/words.ts';

const app = wordsOf('app');
const t = wordsOf('webhooks');

const webhookQuery = (client: Client, id: number) => ({
  queryKey: ['webhooks', 'one', id],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) => client.webhooks.get(id, signal),
});
function Replay({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const client = useClient();
  const [opened, setOpened] = useState(false);
  const [from, setFrom] = useState<number | string>('');
  const [to, setTo] = useState<number | string>('');
  const replay = useChange(() => client.webhooks.replay(webhook.id, Number(from), Number(to)), {
    renews: ['webhooks'],
    done: () => t('replay_begun'),
    onDone: () => setOpened(false),
  });
  const labels = { from: t('from_seq'), to: t('to_seq') };
  const field = fieldsWith(replay.error, labels);
  return (
    <>
      <Button
        variant="default"
        onClick={() => {
          replay.reset();
          setFrom('');
          setTo(webhook.cursor);
          setOpened(true);
        }}
      >
        {t('send_again')}
      </Button>
      <Dialog opened={opened} onClose={() => setOpened(false)} title={t('send_again')} centered>
        <ChangeForm change={replay} submit={t('send_again')} labels={labels} onClose={() => setOpened(false)}>
          <Text size="sm">{t('send_again_text')}</Text>
          <Group grow>
            <NumberInput {...field('from')} value={from} onChange={setFrom} data-autofocus required />
            <NumberInput {...field('to')} value={to} onChange={setTo} required />
          </Group>
        </ChangeForm>
      </Dialog>
    </>
  );
}
const Tested = ({
  result,
  onClose,
}: {
  readonly result: WebhookTested | null;
  readonly onClose: () => void;
}): ReactNode => (
  <Modal
    opened={result !== null}
    onClose={onClose}
    title={t(result?.delivered === true ? 'test_arrived' : 'test_failed')}
    centered
  >
    {result !== null && (
      <Stack gap="xs">
        <Text size="sm">
          {[
            result.status === null ? t('no_answer') : t('answered_with', { status: result.status }),
            t('ms', { ms: formatNumber(result.latency_ms) }),
          ].join(' · ')}
        </Text>
        {result.error !== null && (
          <Text size="sm" lang="en">
            {result.error}
          </Text>
        )}
        {result.excerpt !== '' && (
          <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {result.excerpt}
          </Code>
        )}
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('close')}</Button>
        </Group>
      </Stack>
    )}
  </Modal>
);
type Fact = readonly [term: string, value: string];
/** Rows of the details; a state that does not apply has no row. */
function factsOf(webhook: Webhook): Fact[] {
  const { retrying, replay, disabled_reason, previous_secret_until } = webhook;
  const facts: Fact[] = [
    [t('topics'), webhook.topics.join(', ')],
    [t('event_types'), webhook.types === null ? t('every_type') : webhook.types.join(', ')],
    [t('made'), t('made_when', { time: formatDateTime(webhook.created_at), who: webhook.created_by })],
    [t('delivered_up_to'), t('cursor_and_lag', { seq: webhook.cursor, lag: formatNumber(webhook.lag) })],
  ];
  if (disabled_reason !== null) {
    const since = formatDateTime(webhook.disabled_at);
    facts.push([t('disabled'), `${t(`reason_${disabled_reason}`)} (${since})`]);
  }
  if (retrying !== null) {
    const { seq, attempts, failing_since, next_attempt_at } = retrying;
    const times = { since: formatDateTime(failing_since), next: formatDateTime(next_attempt_at) };
    facts.push([t('state_retrying'), t('retrying_text', { seq, attempts, ...times })]);
  }
  if (replay !== null) facts.push([t('replay'), t('replay_text', { from: replay.from, to: replay.to })]);
  if (previous_secret_until !== null)
    facts.push([t('old_secret'), t('old_secret_text', { time: formatDateTime(previous_secret_until) })]);
  return facts;
}
function Details({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [edited, setEdited] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const { id, retrying } = webhook;
  const test = useChange(() => client.webhooks.test(id), { renews: ['webhooks'] });
  const enable = useChange((enabled: boolean) => client.webhooks.change(id, { enabled }), {
    renews: ['webhooks'],
    done: ({ webhook: now }) => t(now.enabled ? 'is_enabled' : 'is_disabled'),
  });
  const retry = useChange(() => client.webhooks.retry(id), {
    renews: ['webhooks'],
    done: () => t('retry_begun'),
  });
  const rotate = useChange(() => client.webhooks.rotateSecret(id), {
    renews: ['webhooks'],
    onDone: (made) => setSecret(made.secret),
  });
  const remove = useChange(
    async () => {
      await queries.cancelQueries({ queryKey: ['webhooks'] });
      return client.webhooks.remove(id);
    },
    {
      renews: [],
      done: () => t('removed'),
      onDone: () => go(PAGE_PATHS.webhooks),
    },
  );
  const deleted = remove.isPending || remove.isSuccess;
  const now = useQuery({ ...webhookQuery(client, id), refetchInterval: deleted ? false : FOLLOW_MS });
  const failed = test.error ?? enable.error ?? retry.error ?? now.error;
  return (
    <>
      <PageHead
        title={webhook.description === '' ? webhook.url : webhook.description}
        lead={
          <Group gap="xs">
            <WebhookState webhook={webhook} />
            {webhook.description !== '' && <span style={{ overflowWrap: 'anywhere' }}>{webhook.url}</span>}
            <ZoneNote />
          </Group>
        }
      >
        <Switch
          label={t('enabled')}
          checked={webhook.enabled}
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
      <Section title={t('details')}>
        <Facts facts={factsOf(webhook)} />
        <Group mt="md" gap="xs">
          {retrying !== null && (
            <Button variant="default" loading={retry.isPending} onClick={() => retry.mutate(undefined)}>
              {t('retry_now')}
            </Button>
          )}
          <Replay webhook={webhook} />
          <Danger label={t('rotate')} title={t('rotate_title')} text={t('rotate_text')} change={rotate} />
          <Danger label={t('remove')} title={t('remove_title')} text={t('remove_text')} change={remove} />
        </Group>
      </Section>
      <Deliveries webhook={webhook} />
      {edited && <WebhookForm webhook={webhook} onMade={() => undefined} onClose={() => setEdited(false)} />}
      <Tested result={test.data ?? null} onClose={() => test.reset()} />
      <ShownOnce
        title={t('new_secret')}
        text={t('new_secret_text')}
        value={secret}
        onClose={() => setSecret(null)}
      />
    </>
  );
}
/** One webhook with its delivery log. */
export function WebhookPage({ params }: PageProps): ReactNode {
  const client = useClient();
  const id = Number(params['webhook']);
  const found = useQuery(webhookQuery(client, id));
  if (found.isPending) return <Loading />;
  if (isMissing(found.error)) return <Missing href={PAGE_PATHS.webhooks} label={app('webhooks')} />;
  if (found.data === undefined) {
    return (
      <>
        <PageHead title={t('webhook')} />
        <Failure error={found.error} onRetry={() => void found.refetch()} />
      </>
    );
  }
  return <Details webhook={found.data.webhook} />;
}
