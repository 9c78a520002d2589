/** Content of each of the first steps. */
import type { ReactNode } from 'react';
import { ActionIcon, Anchor, Button, Code, Group, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Check, Copy, Phone } from 'lucide-react';
import { Link } from 'wouter';
import type { Client, PresenceState, QueueState } from '@offhook/client';
import { CopyButton } from '../app/copy.ts';
import { useOnce } from '../app/once.ts';
import { useClient, useMe } from '../app/session.tsx';
import { Failure, Read } from '../app/states.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { isThere } from './steps.ts';
import { useCalling } from '../phone/phone.ts';
import { wordsOf } from '../app/words.ts';
import styles from './welcome.module.css';

const t = wordsOf('welcome');

type Presences = ReadonlyMap<string, PresenceState>;
/** Limit of shown people; all are on the page of people. */
const MOST = 8;
const usePeople = () => {
  const client = useClient();
  return useQuery({
    queryKey: ['welcome', 'people'],
    queryFn: async ({ signal }) => await client.people.list({ limit: 100 }, signal),
  });
};
export function PeopleStep({ presence }: { readonly presence: Presences }): ReactNode {
  return <Read of={usePeople()}>{(data) => <PeopleTable data={data} presence={presence} />}</Read>;
}
interface PeopleTableProps {
  readonly data: Awaited<ReturnType<Client['people']['list']>>;
  readonly presence: Presences;
}
function PeopleTable({ data, presence }: PeopleTableProps): ReactNode {
  return (
    <>
      <Text size="sm">{t(data.total > 1 ? 'people_text' : 'nobody')}</Text>
      <div className={styles.table}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              {(['extension', 'name', 'level', 'phone'] as const).map((word) => (
                <Table.Th key={word}>{t(word)}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.people.slice(0, MOST).map(({ extension, name, level }) => (
              <Table.Tr key={extension}>
                <Table.Td>{extension}</Table.Td>
                <Table.Td className={styles.wrap ?? ''}>
                  <Anchor component={Link} href={`/admin/people/${extension}`} size="sm">
                    {name}
                  </Anchor>
                </Table.Td>
                <Table.Td>{t(`level_${level}`)}</Table.Td>
                <Table.Td>
                  <span className={styles.lamp} data-on={isThere(presence.get(extension)) || undefined}>
                    {t(isThere(presence.get(extension)) ? 'registered' : 'not_registered')}
                  </span>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      {data.total > MOST && <Text size="sm">{t('and_more', { count: data.total - MOST })}</Text>}
      <Text size="sm" c="dimmed">
        {t('passwords')}
      </Text>
      <Group gap="sm">
        <Button
          component={Link}
          href="/admin/config/extensions?new"
          variant={data.total > 1 ? 'default' : 'filled'}
        >
          {t('new_extension')}
        </Button>
        <Button component={Link} href={PAGE_PATHS.changes} variant="default">
          {t('changes')}
        </Button>
        <Button component={Link} href={PAGE_PATHS.people} variant="default">
          {t('all_people')}
        </Button>
      </Group>
    </>
  );
}
export function OwnPhoneStep({ done }: { readonly done: boolean }): ReactNode {
  const { extension } = useMe();
  return <Text size="sm">{done ? t('own_phone_done', { extension }) : t('own_phone_text')}</Text>;
}
const Copied = ({ what, text }: { readonly what: string; readonly text: string }): ReactNode => (
  <CopyButton value={text}>
    {({ copied, copy }) => (
      <ActionIcon
        variant="subtle"
        size="lg"
        aria-label={copied ? t('copied') : t('copy', { what })}
        onClick={copy}
      >
        {copied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
      </ActionIcon>
    )}
  </CopyButton>
);
export function SecondPhoneStep(): ReactNode {
  const client = useClient();
  const read = useQuery({
    queryKey: ['welcome', 'sip'],
    queryFn: async ({ signal }) => await client.session.sip(signal),
    // A password is not cached longer than it is shown.
    gcTime: 0,
  });
  return <Read of={read}>{({ sip }) => <SipSettings sip={sip} />}</Read>;
}
function SipSettings({ sip }: Pick<Awaited<ReturnType<Client['session']['sip']>>, 'sip'>): ReactNode {
  const rows: readonly (readonly [what: string, value: string])[] = [
    [t('server'), sip.domain],
    [t('port'), String(sip.sip_port)],
  ];
  return (
    <>
      <Text size="sm">{t('second_phone_text')}</Text>
      <dl className={styles.facts}>
        {rows.map(([what, value]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>
              <Code>{value}</Code>
              <Copied what={what} text={value} />
            </dd>
          </div>
        ))}
        <div>
          <dt>{t('user')}</dt>
          <dd>{t('user_text')}</dd>
        </div>
        <div>
          <dt>{t('password')}</dt>
          <dd>{t('password_text')}</dd>
        </div>
      </dl>
      <Group gap="sm">
        <Button component={Link} href="/admin/config/extensions" variant="default">
          {t('to_extension')}
        </Button>
      </Group>
    </>
  );
}
export function CallStep({
  presence,
  done,
}: {
  readonly presence: Presences;
  readonly done: boolean;
}): ReactNode {
  const me = useMe();
  const people = usePeople();
  const other = [...presence.values()].find((one) => one.extension !== me.extension && isThere(one));
  const ready = isThere(presence.get(me.extension)) && other !== undefined;
  const name = people.data?.people.find(({ extension }) => extension === other?.extension)?.name;
  const calling = useCalling();
  const call = useOnce({
    mutationFn: async (to: string) => await calling(to, name),
  });
  return (
    <>
      <Text size="sm">{t('call_text')}</Text>
      {!ready && !done && <Text size="sm">{t('call_needs')}</Text>}
      <Group gap="sm">
        {ready && (
          <Button
            leftSection={<Phone size={16} aria-hidden />}
            loading={call.isPending}
            onClick={() => call.mutate(other.extension)}
          >
            {t('call_who', { name: name ?? other.extension, extension: other.extension })}
          </Button>
        )}
        <Button component={Link} href={PAGE_PATHS.directory} variant="default">
          {t('to_directory')}
        </Button>
        {done && (
          <Button component={Link} href={PAGE_PATHS.history} variant="default">
            {t('to_history')}
          </Button>
        )}
      </Group>
      <div role="status">
        {call.data === 'devices' && !done && <Text size="sm">{t('call_under_way')}</Text>}
      </div>
      {call.error !== null && <Failure error={call.error} />}
    </>
  );
}
export function WallboardStep({ queues }: { readonly queues: readonly QueueState[] }): ReactNode {
  return (
    <>
      <Text size="sm">{t(queues.length > 0 ? 'wallboard_text' : 'no_queue')}</Text>
      {queues.length > 0 && (
        <ul className={styles.queues}>
          {queues.slice(0, MOST).map(({ name, title, number }) => (
            <li key={name}>{t('queue_number', { title, number })}</li>
          ))}
        </ul>
      )}
      <Group gap="sm">
        <Button component="a" href={PAGE_PATHS.wallboard} target="_blank" rel="noopener">
          {t('open_wallboard')}
        </Button>
        {queues.length === 0 && (
          <Button component={Link} href="/admin/config/queues?new" variant="default">
            {t('new_queue')}
          </Button>
        )}
      </Group>
    </>
  );
}
