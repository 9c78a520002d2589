import { useEffect, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { ActionIcon, Button, Group, Menu, Modal, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { EllipsisVertical, EyeOff, History } from 'lucide-react';
import { useSearchParams } from 'wouter';
import { useDay } from '../app/now.ts';
import { useOnce } from '../app/once.ts';
import { useClient, useMay, useMe } from '../app/session.tsx';
import { tellFailure } from '../app/tell.ts';
import { Empty, Failure, Loading } from '../app/states.tsx';
import { Exports } from './exports.tsx';
import { FilterBar } from './filter-bar.tsx';
import type { Change } from './filter-bar.tsx';
import { queryOf, readFilters, writeFilters } from './filters.ts';
import type { Scope } from './filters.ts';
import { keepList } from './last-list.ts';
import { List } from './list.tsx';
import type { RowActions } from './row.tsx';
import { useCall } from './use-call.ts';
import { useConversations } from './use-conversations.ts';
import type { Conversations } from './use-conversations.ts';
import { ZoneNote } from '../app/zone.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('history');

export { ConversationPage } from './conversation.tsx';
export { MissedPage } from './missed-page.tsx';

/** Scope of the list, by the address: `all` for a supervisor unless the address has `mine`. */
function useScope(search: URLSearchParams): Scope {
  return useMay('supervisor') && search.get('view') !== 'mine' ? 'all' : 'mine';
}
function Total({ list }: { readonly list: Conversations }): ReactNode {
  const { total } = list;
  if (total === null) return null;
  return (
    <Text size="sm" c="dimmed" role="status">
      {t(total.exact ? 'total' : 'about', { count: total.count })}
    </Text>
  );
}
function ClearOwn({ onDone }: { readonly onDone: () => void }): ReactNode {
  const client = useClient();
  const [asked, setAsked] = useState(false);
  const clear = useOnce({
    mutationFn: () => client.clearHistory(),
    onSuccess() {
      setAsked(false);
      onDone();
      notifications.show({ message: t('cleared') });
    },
  });
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label={t('actions')}>
            <EllipsisVertical size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<EyeOff size={16} aria-hidden />} onClick={() => setAsked(true)}>
            {t('hide_all')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={asked} onClose={() => setAsked(false)} title={t('hide_all_do')} centered>
        <Stack>
          <Text size="sm">{t('hide_all_text')}</Text>
          {clear.isError && <Failure error={clear.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setAsked(false)}>
              {t('cancel')}
            </Button>
            <Button loading={clear.isPending} onClick={() => clear.mutate()} data-autofocus>
              {t('hide_all_do')}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}

export function HistoryPage(): ReactNode {
  const me = useMe();
  const client = useClient();
  const supervisor = useMay('supervisor');
  const call = useCall();
  const [search, setSearch] = useSearchParams();
  const scope = useScope(search);
  const address = search.toString();
  useEffect(() => keepList(address), [address]);
  const filters = useMemo(() => readFilters(new URLSearchParams(address)), [address]);
  const day = useDay();
  // Only these filters depend on the day; for others the list stays.
  const today = filters.when === undefined ? 0 : day;
  const query = useMemo(
    () => queryOf(filters, scope, me.extension, today),
    [filters, scope, me.extension, today],
  );
  const list = useConversations(query, scope);
  const change: Change = (wanted, how) =>
    setSearch((before) => writeFilters(before, wanted), { replace: how === 'typed' });
  const clear = (): void => setSearch(search.get('view') === 'mine' ? { view: 'mine' } : {});
  const own = scope === 'mine' ? me.extension : null;
  const { remove } = list;
  const actions = useMemo(
    (): RowActions => ({
      call,
      hide:
        own === null
          ? null
          : (id) => {
              client.hideCalls([id]).then(() => {
                remove([id]);
                notifications.show({ message: t('hidden') });
              }, tellFailure);
            },
    }),
    [call, own, client, remove],
  );
  const filtered = Object.keys(filters).length > 0;
  return (
    <Stack gap="md">
      <Group justify="space-between" gap="sm">
        <Group gap="md" align="baseline">
          <Title order={1} size="h2">
            {t('title')}
          </Title>
          <Total list={list} />
        </Group>
        <Group gap="xs">
          {supervisor && (
            <SegmentedControl
              aria-label={t('whose')}
              value={scope}
              onChange={(value) => {
                setSearch((before) => {
                  const next = new URLSearchParams(before);
                  if (value === 'mine') next.set('view', 'mine');
                  else next.delete('view');
                  return next;
                });
              }}
              data={[
                { value: 'all', label: t('all') },
                { value: 'mine', label: t('mine') },
              ]}
            />
          )}
          <Exports filters={filters} scope={scope} />
          {own !== null && <ClearOwn onDone={() => remove('all')} />}
        </Group>
      </Group>
      <FilterBar filters={filters} change={change} clear={clear} />
      <ZoneNote />
      {list.error !== null && !list.stuck && <Failure error={list.error} onRetry={list.retry} />}
      {list.loading ? (
        <Loading />
      ) : list.error !== null && list.rows.length === 0 ? null : list.rows.length === 0 &&
        !list.more &&
        list.waiting === 0 ? (
        <Empty
          icon={<History size={36} aria-hidden />}
          title={t(filtered ? 'none' : own === null ? 'empty' : 'empty_mine')}
        >
          <Text size="sm" c="dimmed">
            {t(filtered ? 'none_text' : 'empty_text')}
          </Text>
          {filtered && (
            <Button variant="light" onClick={clear}>
              {t('clear_filters')}
            </Button>
          )}
        </Empty>
      ) : (
        <List list={list} own={own} me={me.extension} actions={actions} />
      )}
    </Stack>
  );
}
