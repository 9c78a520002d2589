import { useState } from 'react';
import type { ReactNode } from 'react';
import { Badge, Button, Group, Paper, Table, Text, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { KeyRound, Plus } from 'lucide-react';
import type { ApiKey } from '@offhook/contract/keys.ts';
import { Danger } from '../app/danger.tsx';
import { formatDateTime } from '../app/format.ts';
import { serverNow } from '../app/now.ts';
import { useClient } from '../app/session.tsx';
import { Empty, Failure, Loading } from '../app/states.tsx';
import { ZoneNote } from '../app/zone.tsx';
import { ApiKeyForm } from './api-key-form.tsx';
import { Ago, PageHead, Rows, useChange } from '../app/page-parts.tsx';
import { ShownOnce } from './parts.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('people');

const MOST_SHOWN = 4;
const some = (names: readonly string[]): string =>
  names.length <= MOST_SHOWN
    ? names.join(', ')
    : `${names.slice(0, MOST_SHOWN).join(', ')} ${t('and_more', { count: names.length - MOST_SHOWN })}`;
function reachText({ queues, extensions }: ApiKey): string {
  const parts = [
    queues === null ? t('all_queues') : queues.length > 0 && `${t('queues')}: ${some(queues)}`,
    extensions === null
      ? t('all_extensions')
      : extensions.length > 0 && `${t('extensions')}: ${some(extensions)}`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? t('nothing') : parts.join(' · ');
}
function KeyRow({ apiKey, onChange }: { readonly apiKey: ApiKey; readonly onChange: () => void }): ReactNode {
  const client = useClient();
  const revoke = useChange(() => client.apiKeys.revoke(apiKey.id), {
    renews: ['api-keys'],
    done: () => t('key_revoked'),
  });
  const expired = apiKey.expires_at !== null && Date.parse(apiKey.expires_at) <= serverNow();
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {apiKey.name}
        </Text>
        <Text size="xs" c="dimmed">
          {t('made_by', { who: apiKey.created_by })}
        </Text>
      </Table.Td>
      <Table.Td maw={320}>
        <Group gap={4}>
          {apiKey.scopes.map((scope) => (
            <Badge key={scope} variant="dot" color="gray" tt="none" fw={500}>
              {scope}
            </Badge>
          ))}
        </Group>
      </Table.Td>
      <Table.Td maw={260}>
        <Text size="sm">{apiKey.board === null ? reachText(apiKey) : t('for_a_wall')}</Text>
      </Table.Td>
      <Table.Td>
        {expired ? (
          <Badge color="red" variant="dot" tt="none">
            {t('expired')}
          </Badge>
        ) : (
          <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
            {apiKey.expires_at === null ? t('never') : formatDateTime(apiKey.expires_at)}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Ago time={apiKey.last_used_at} never={t('never')} />
      </Table.Td>
      <Table.Td>
        {apiKey.board === null && (
          <Group gap="xs" wrap="nowrap" justify="flex-end">
            <Button
              size="xs"
              variant="default"
              onClick={onChange}
              aria-label={`${t('change')}: ${apiKey.name}`}
            >
              {t('change')}
            </Button>
            <Danger
              size="xs"
              label={t('revoke')}
              about={apiKey.name}
              title={t('revoke_key')}
              text={t('revoke_key_text', { name: apiKey.name })}
              change={revoke}
            />
          </Group>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
/** API keys of machines. */
export function ApiKeysPage(): ReactNode {
  const client = useClient();
  const [edited, setEdited] = useState<ApiKey | null | undefined>(undefined);
  const [made, setMade] = useState<string | null>(null);
  const list = useQuery({
    queryKey: ['api-keys'],
    queryFn: ({ signal }) => client.apiKeys.list(signal),
  });
  const newKey = (
    <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setEdited(null)}>
      {t('new_key')}
    </Button>
  );
  const keys = list.data?.api_keys ?? [];
  return (
    <>
      <PageHead
        title={t('api_keys')}
        lead={
          <>
            {t('api_keys_lead')}
            <ZoneNote />
          </>
        }
      >
        {newKey}
      </PageHead>
      <Paper withBorder p="md">
        {list.isPending && <Loading />}
        {list.isError && <Failure error={list.error} onRetry={() => void list.refetch()} />}
        {list.isSuccess && keys.length === 0 && (
          <Empty icon={<KeyRound size={32} aria-hidden />} title={t('no_keys')}>
            <Text size="sm" c="dimmed">
              {t('no_keys_text')}
            </Text>
          </Empty>
        )}
        {keys.length > 0 && (
          <Rows
            caption={t('api_keys')}
            minWidth={900}
            columns={[
              t('name'),
              t('scopes'),
              t('reach'),
              t('expires'),
              t('last_used'),
              <VisuallyHidden key="actions">{t('actions')}</VisuallyHidden>,
            ]}
          >
            {keys.map((apiKey) => (
              <KeyRow key={apiKey.id} apiKey={apiKey} onChange={() => setEdited(apiKey)} />
            ))}
          </Rows>
        )}
      </Paper>
      {edited !== undefined && (
        <ApiKeyForm apiKey={edited} onMade={setMade} onClose={() => setEdited(undefined)} />
      )}
      <ShownOnce
        title={t('your_new_key')}
        text={t('shown_once')}
        value={made}
        onClose={() => setMade(null)}
      />
    </>
  );
}
