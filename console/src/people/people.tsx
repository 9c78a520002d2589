import { useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Badge, Button, Group, Paper, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Search, ShieldCheck, ShieldOff, UserPlus } from 'lucide-react';
import { Link } from 'wouter';
import type { SignInPerson } from '@offhook/contract/people.ts';
import { formatNumber } from '../app/format.ts';
import { useClient } from '../app/session.tsx';
import { ZoneNote } from '../app/zone.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { Ago, PageHead, Paged, Rows } from '../app/page-parts.tsx';
import { levelName } from './parts.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('people');

const personPath = (extension: string): string => `${PAGE_PATHS.people}/${extension}`;
const COLOURS = { user: 'gray', agent: 'teal', supervisor: 'blue', admin: 'grape' } as const;
export const LevelBadge = ({ level }: { readonly level: SignInPerson['level'] }): ReactNode => (
  <Badge variant="dot" color={COLOURS[level]} tt="none" miw="max-content">
    {levelName(level)}
  </Badge>
);
export const SecondFactorMark = ({ on }: { readonly on: boolean }): ReactNode => (
  <Group gap={6} wrap="nowrap" c={on ? 'var(--offhook-ok)' : 'dimmed'}>
    {on ? <ShieldCheck size={16} aria-hidden /> : <ShieldOff size={16} aria-hidden />}
    <Text size="sm">{on ? t('on') : t('off')}</Text>
  </Group>
);

function PersonRow({ person }: { readonly person: SignInPerson }): ReactNode {
  return (
    <Table.Tr>
      <Table.Td ff="monospace">{person.extension}</Table.Td>
      <Table.Td>
        <Group gap="xs">
          <Anchor component={Link} href={personPath(person.extension)} fw={600}>
            {person.name}
          </Anchor>
          {!person.active && (
            <Badge variant="outline" color="gray" tt="none">
              {t('inactive')}
            </Badge>
          )}
        </Group>
        <Text size="xs" c="dimmed">
          {person.username}
        </Text>
      </Table.Td>
      <Table.Td>
        <LevelBadge level={person.level} />
      </Table.Td>
      <Table.Td>
        <SecondFactorMark on={person.second_factor} />
      </Table.Td>
      <Table.Td>{formatNumber(person.sessions)}</Table.Td>
      <Table.Td>
        <Ago time={person.last_sign_in} never={t('never')} />
      </Table.Td>
    </Table.Tr>
  );
}

/** People with their ways to sign in. */
export function PeoplePage(): ReactNode {
  const client = useClient();
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim(), 200);
  const list = useInfiniteQuery({
    queryKey: ['people', 'list', q],
    queryFn: ({ pageParam, signal }) =>
      client.people.list(
        { ...(q === '' ? {} : { q }), ...(pageParam === '' ? {} : { cursor: pageParam }) },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });
  const people = list.data?.pages.flatMap((page) => page.people) ?? [];
  const total = list.data?.pages[0]?.total;
  return (
    <>
      <PageHead
        title={t('people')}
        lead={
          <>
            {total === undefined ? ' ' : t('people_count', { count: total })}
            <ZoneNote />
          </>
        }
      >
        <Button component={Link} href={`${PAGE_PATHS.config}/extensions`} variant="default">
          {t('to_configuration')}
        </Button>
        <Button
          component={Link}
          href={`${PAGE_PATHS.config}/extensions?new=1`}
          leftSection={<UserPlus size={16} aria-hidden />}
        >
          {t('new_person')}
        </Button>
      </PageHead>
      <Paper withBorder p="md">
        <TextInput
          type="search"
          aria-label={t('search_people')}
          placeholder={t('search_people')}
          leftSection={<Search size={16} aria-hidden />}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          mb="sm"
          maw={420}
        />
        <Paged list={list} count={people.length} empty={t('nobody_found')}>
          <Rows
            caption={t('people')}
            minWidth={760}
            columns={[
              t('extension'),
              t('name'),
              t('level'),
              t('second_factor'),
              t('devices'),
              t('last_sign_in'),
            ]}
          >
            {people.map((person) => (
              <PersonRow key={person.extension} person={person} />
            ))}
          </Rows>
        </Paged>
      </Paper>
    </>
  );
}
