import { useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Badge, Button, Paper, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import type { Webhook } from '@offhook/contract/webhooks.ts';
import { formatNumber } from '../app/format.ts';
import { useClient } from '../app/session.tsx';
import { Empty, Failure, Loading } from '../app/states.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { PageHead, Rows } from '../app/page-parts.tsx';
import { ShownOnce } from './parts.tsx';
import { PrivateTargets } from './webhook-targets.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('people');

const webhookPath = (id: number): string => `${PAGE_PATHS.webhooks}/${id}`;
/** Reload interval of the state of a webhook. An attempt is no event, because a webhook would be sent its own attempts. */
export const FOLLOW_MS = 2_000;
/** State of a webhook in one word. */
export function WebhookState({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const [color, word] = !webhook.enabled
    ? (['gray', 'disabled'] as const)
    : webhook.retrying !== null
      ? (['yellow', 'retrying'] as const)
      : (['green', 'working'] as const);
  return (
    <Badge color={color} variant="dot" tt="none">
      {t(word)}
    </Badge>
  );
}
/** Webhooks: addresses to which events are posted. */
export function WebhooksPage(): ReactNode {
  const client = useClient();
  const [, go] = useLocation();
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<{ readonly secret: string; readonly id: number } | null>(null);
  const list = useQuery({
    queryKey: ['webhooks', 'list'],
    queryFn: ({ signal }) => client.webhooks.list(signal),
    refetchInterval: FOLLOW_MS,
  });
  const webhooks = list.data?.webhooks ?? [];
  return (
    <>
      <PageHead title={t('webhooks')} lead={t('webhooks_lead')}>
        <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setMaking(true)}>
          {t('new_webhook')}
        </Button>
      </PageHead>
      <Paper withBorder p="md" mb="md">
        {list.isPending && <Loading />}
        {list.isError && <Failure error={list.error} onRetry={() => void list.refetch()} />}
        {list.isSuccess && webhooks.length === 0 && (
          <Empty icon={<WebhookIcon size={32} aria-hidden />} title={t('no_webhooks')}>
            <Text size="sm" c="dimmed">
              {t('no_webhooks_text')}
            </Text>
          </Empty>
        )}
        {webhooks.length > 0 && (
          <Rows
            caption={t('webhooks')}
            minWidth={760}
            columns={[t('address'), t('topics'), t('state'), t('lag'), t('made_by_column')]}
          >
            {webhooks.map((webhook) => (
              <Table.Tr key={webhook.id}>
                <Table.Td maw={420}>
                  <Anchor
                    component={Link}
                    href={webhookPath(webhook.id)}
                    fw={600}
                    style={{ overflowWrap: 'anywhere' }}
                  >
                    {webhook.description === '' ? webhook.url : webhook.description}
                  </Anchor>
                  {webhook.description !== '' && (
                    <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                      {webhook.url}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td maw={220}>
                  <Text size="sm">{webhook.topics.join(', ')}</Text>
                </Table.Td>
                <Table.Td>
                  <WebhookState webhook={webhook} />
                </Table.Td>
                <Table.Td>{formatNumber(webhook.lag)}</Table.Td>
                <Table.Td>{webhook.created_by}</Table.Td>
              </Table.Tr>
            ))}
          </Rows>
        )}
      </Paper>
      <PrivateTargets />
      {making && (
        <WebhookForm
          webhook={null}
          onMade={(secret, id) => setMade({ secret, id })}
          onClose={() => setMaking(false)}
        />
      )}
      <ShownOnce
        title={t('webhook_secret')}
        text={t('webhook_secret_text')}
        value={made?.secret ?? null}
        onClose={() => {
          if (made !== null) go(webhookPath(made.id));
          setMade(null);
        }}
      />
    </>
  );
}
