/** Desk phones as devices: newest fetch, registration, and the waiting phones to assign. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Code, Group, Modal, NativeSelect, Stack, Table, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { PhoneState, WaitingPhone } from '@offhook/contract/phones.ts';
import { QrCode } from '../account/qr.tsx';
import { Ago, Paged, Rows, Section, useChange } from '../app/page-parts.tsx';
import { useClient } from '../app/session.tsx';
import { tellFailure } from '../app/tell.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

const spelled = (mac: string): string => mac.replaceAll(/..(?=.)/g, '$&:');
const registered = ({ registered: is }: PhoneState): string =>
  t(is === null ? 'phone_unknown' : is ? 'phone_registered' : 'phone_not_registered');
const seat = ({ signed_in }: PhoneState): string =>
  signed_in === null ? t('phone_shared') : t('phone_signed_in', signed_in);
const configuration = ({ fetched, up_to_date }: PhoneState): string =>
  t(up_to_date ? 'phone_current' : fetched === null ? 'phone_never' : 'phone_late');

export function Phones(): ReactNode {
  const client = useClient();
  const [shown, setShown] = useState<{ readonly name: string; readonly address: string } | null>(null);
  const list = useInfiniteQuery({
    queryKey: ['phones'],
    queryFn: ({ pageParam, signal }) =>
      client.phones.list(pageParam === null ? {} : { cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
  const handOver = useChange(
    async (name: string) => ({ name, address: (await client.phones.handOver(name)).address }),
    { renews: [], onDone: setShown },
  );
  const notify = useChange(
    ({ name, event }: { name: string; event: 'check' | 'reboot' }) => client.phones.notify(name, { event }),
    { renews: ['phones'], done: () => t('phone_asked') },
  );
  const phones = list.data?.pages.flatMap((page) => page.phones) ?? [];
  const waiting = list.data?.pages[0]?.waiting ?? [];
  const act = (work: Promise<unknown>): void => void work.catch(tellFailure);
  return (
    <>
      <Section
        title={t('phone_devices')}
        text={t('phone_devices_text')}
        actions={
          <Button variant="default" loading={list.isRefetching} onClick={() => void list.refetch()}>
            {t('phone_refresh')}
          </Button>
        }
      >
        <Paged list={list} count={phones.length} empty={t('phone_none')}>
          <Rows
            caption={t('phone_devices')}
            minWidth={760}
            folds
            columns={[t('phone_phone'), t('phone_mac'), t('phone_fetched'), t('phone_state'), '']}
          >
            {phones.map((phone) => (
              <Table.Tr key={phone.name}>
                <Table.Td>
                  <Text size="sm">{phone.title ?? phone.name}</Text>
                  <Text size="xs" c="dimmed">
                    {phone.shared ? seat(phone) : phone.extensions.join(', ')}
                  </Text>
                </Table.Td>
                <Table.Td>{phone.mac === null ? '–' : spelled(phone.mac)}</Table.Td>
                <Table.Td data-label={t('phone_fetched')}>
                  <Ago time={phone.fetched?.at ?? null} never="–" />
                  <Text size="xs" c="dimmed" maw={260} truncate title={phone.fetched?.user_agent ?? ''}>
                    {phone.fetched === null ? '' : `${phone.fetched.address} · ${phone.fetched.user_agent}`}
                  </Text>
                </Table.Td>
                <Table.Td>
                  <Text size="sm">{configuration(phone)}</Text>
                  <Text size="sm">{registered(phone)}</Text>
                </Table.Td>
                <Table.Td>
                  <Group gap="xs" justify="flex-end" wrap="nowrap">
                    <Button
                      size="xs"
                      variant="default"
                      loading={handOver.isPending && handOver.variables === phone.name}
                      aria-label={`${t('phone_hand_over')}: ${phone.name}`}
                      onClick={() => act(handOver.mutateAsync(phone.name))}
                    >
                      {t('phone_hand_over')}
                    </Button>
                    {phone.signed_in !== null && <SignOut name={phone.name} />}
                    {(['check', 'reboot'] as const).map((event) => (
                      <Button
                        key={event}
                        size="xs"
                        variant="default"
                        disabled={phone.registered !== true}
                        aria-label={`${t(`phone_${event}`)}: ${phone.name}`}
                        onClick={() => act(notify.mutateAsync({ name: phone.name, event }))}
                      >
                        {t(`phone_${event}`)}
                      </Button>
                    ))}
                  </Group>
                </Table.Td>
              </Table.Tr>
            ))}
          </Rows>
        </Paged>
      </Section>
      {waiting.length > 0 && <Waiting waiting={waiting} phones={phones} />}
      <Modal
        opened={shown !== null}
        onClose={() => setShown(null)}
        title={t('phone_address', { name: shown?.name ?? '' })}
        centered
      >
        {shown !== null && (
          <Stack>
            <Text size="sm">{t('phone_address_text')}</Text>
            <Code block style={{ overflowWrap: 'anywhere', whiteSpace: 'normal' }}>
              {shown.address}
            </Code>
            <QrCode text={shown.address} label={t('phone_address', { name: shown.name })} />
          </Stack>
        )}
      </Modal>
    </>
  );
}

function SignOut({ name }: { readonly name: string }): ReactNode {
  const client = useClient();
  const signOut = useChange(() => client.phones.signOut(name), {
    renews: ['phones'],
    done: () => t('phone_signed_out', { name }),
  });
  return (
    <Button
      size="xs"
      variant="default"
      loading={signOut.isPending}
      aria-label={`${t('phone_sign_out')}: ${name}`}
      onClick={() => void signOut.mutateAsync(undefined).catch(tellFailure)}
    >
      {t('phone_sign_out')}
    </Button>
  );
}
function Waiting({
  waiting,
  phones,
}: {
  readonly waiting: readonly WaitingPhone[];
  readonly phones: readonly PhoneState[];
}): ReactNode {
  return (
    <Section title={t('phone_waiting')} text={t('phone_waiting_text')}>
      <Rows
        caption={t('phone_waiting')}
        minWidth={680}
        folds
        columns={[t('phone_mac'), t('phone_seen'), t('phone_network'), t('phone_assign_to')]}
      >
        {waiting.map((one) => (
          <WaitingRow
            key={one.mac}
            one={one}
            names={phones.filter(({ mac }) => mac === null || mac === one.mac).map(({ name }) => name)}
          />
        ))}
      </Rows>
    </Section>
  );
}
function WaitingRow({
  one,
  names,
}: {
  readonly one: WaitingPhone;
  readonly names: readonly string[];
}): ReactNode {
  const client = useClient();
  const [chosen, setChosen] = useState('');
  const name = chosen === '' ? (names[0] ?? '') : chosen;
  const assign = useChange((to: string) => client.phones.assign(to, { mac: one.mac, address: one.address }), {
    renews: ['phones'],
    done: ({ phone }) => t('phone_assigned', { name: phone.name }),
  });
  return (
    <Table.Tr>
      <Table.Td>
        {spelled(one.mac)}
        <Text size="xs" c="dimmed">
          {one.vendor ?? ''}
        </Text>
      </Table.Td>
      <Table.Td>
        <Ago time={one.last_at} never="–" />
      </Table.Td>
      <Table.Td>
        {one.address}
        <Text size="xs" c="dimmed" maw={260} truncate title={one.user_agent}>
          {one.user_agent}
        </Text>
      </Table.Td>
      <Table.Td>
        {one.phone !== null ? (
          t('phone_assigned', { name: one.phone })
        ) : names.length === 0 ? (
          t('phone_no_free')
        ) : (
          <Group gap="xs" wrap="nowrap">
            <NativeSelect
              aria-label={`${t('phone_assign_to')}: ${spelled(one.mac)}`}
              data={[...names]}
              value={name}
              onChange={(event) => setChosen(event.currentTarget.value)}
            />
            <Button
              loading={assign.isPending}
              aria-label={`${t('phone_assign')}: ${spelled(one.mac)}`}
              onClick={() => void assign.mutateAsync(name).catch(tellFailure)}
            >
              {t('phone_assign')}
            </Button>
          </Group>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
