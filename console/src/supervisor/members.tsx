/** Members of a queue. Memberships are not live records, so every change of an agent reloads them. */
import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { ActionIcon, Badge, Button, Group, NativeSelect, Stack, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { UserRoundX } from 'lucide-react';
import type { Client } from '@offhook/client';
import { useTopic } from '../app/live.ts';
import { useOnce } from '../app/once.ts';
import { readAgain } from '../app/queries.ts';
import { useClient } from '../app/session.tsx';
import { Failure, Read } from '../app/states.tsx';
import { language, wordsOf } from '../app/words.ts';
import { stateWord } from '../wallboard/states.tsx';

const t = wordsOf('supervisor');

export function Members({ queue }: { readonly queue: string }): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const { records: agents } = useTopic('agents');
  const read = useQuery({
    queryKey: ['queue', queue],
    queryFn: ({ signal }) => client.queues.get(queue, signal),
    staleTime: 0,
  });
  useEffect(() => readAgain(queries, ['queue', queue]), [agents, queries, queue]);
  return <Read of={read}>{(reply) => <List queue={queue} members={reply.queue.members} />}</Read>;
}
interface ListProps {
  readonly queue: string;
  readonly members: Awaited<ReturnType<Client['queues']['get']>>['queue']['members'];
}
function List({ queue, members }: ListProps): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const { records: agents } = useTopic('agents');
  const [chosen, setChosen] = useState('');
  const change = useOnce({
    mutationFn: ({ extension, add }: { extension: string; add: boolean }) =>
      add ? client.queues.addMember(queue, extension) : client.queues.removeMember(queue, extension),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['queue', queue] }),
  });
  const inside = new Set(members.map(({ extension }) => extension));
  const { compare } = new Intl.Collator(language());
  const others = [...agents.values()]
    .filter(({ extension }) => !inside.has(extension))
    .toSorted((a, b) => compare(a.name, b.name));
  return (
    <Stack>
      {members.length === 0 ? (
        <Text c="dimmed">{t('no_members')}</Text>
      ) : (
        <Table verticalSpacing="xs">
          <Table.Tbody>
            {members.map(({ extension, name: ownName, membership, paused, pause_reason }) => {
              const agent = agents.get(extension ?? '');
              const state = agent?.state;
              const name = agent?.name ?? ownName;
              return (
                <Table.Tr key={extension ?? name}>
                  <Table.Td>
                    <Text fw={600}>{name}</Text>
                    <Text size="xs" c="dimmed">
                      {extension}
                    </Text>
                  </Table.Td>
                  <Table.Td>
                    {state !== undefined && stateWord(state)}
                    {paused && (
                      <Text size="xs" c="dimmed">
                        {t('paused')}
                        {pause_reason === null ? '' : ` · ${pause_reason}`}
                      </Text>
                    )}
                  </Table.Td>
                  <Table.Td ta="right">
                    {membership === 'static' ? (
                      <Badge variant="default">{t('fixed')}</Badge>
                    ) : (
                      extension !== null && (
                        <ActionIcon
                          variant="subtle"
                          color="red"
                          size={40}
                          aria-label={t('remove', { name })}
                          onClick={() => change.mutate({ extension, add: false })}
                        >
                          <UserRoundX size={18} aria-hidden />
                        </ActionIcon>
                      )
                    )}
                  </Table.Td>
                </Table.Tr>
              );
            })}
          </Table.Tbody>
        </Table>
      )}
      {change.isError && <Failure error={change.error} />}
      <Group align="flex-end" wrap="nowrap">
        <NativeSelect
          flex={1}
          label={t('add_member')}
          value={chosen}
          onChange={(event) => setChosen(event.currentTarget.value)}
          data={[
            { value: '', label: t('choose') },
            ...others.map(({ extension, name }) => ({ value: extension, label: `${name} · ${extension}` })),
          ]}
        />
        <Button
          disabled={chosen === ''}
          loading={change.isPending}
          onClick={() => {
            change.mutate({ extension: chosen, add: true });
            setChosen('');
          }}
        >
          {t('add')}
        </Button>
      </Group>
    </Stack>
  );
}
