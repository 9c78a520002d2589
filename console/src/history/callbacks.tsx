/** Callbacks: numbers outside to be called back by this person, or by the agents of its queues. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { ActionIcon, Badge, Button, Group, Menu, NativeSelect, Text, Textarea, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Check, EllipsisVertical, Hand, Phone, PhoneIncoming, Undo2 } from 'lucide-react';
import { Link } from 'wouter';
import type { Callback, CloseCallback } from '@offhook/contract/callbacks.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { Dialog } from '../app/dialog.tsx';
import { useChanges } from '../app/changes.ts';
import { fieldsWith } from '../app/field-errors.ts';
import { formatDateTime } from '../app/format.ts';
import { useOnce } from '../app/once.ts';
import { contactsQuery, readAgain } from '../app/queries.ts';
import { useClient, useMay, useMe } from '../app/session.tsx';
import { Read } from '../app/states.tsx';
import { tellFailure } from '../app/tell.ts';
import { wordsOf } from '../app/words.ts';
import { conversationAddress } from './last-list.ts';
import { useCall } from './use-call.ts';
import styles from './callbacks.module.css';

const t = wordsOf('history');

const CALLBACKS = 'callbacks';
/** Limit of shown callbacks; the others follow as these are closed. */
const SHOWN = 100;
const REASONS = [
  'done',
  'not_reached',
  'not_needed',
  'other',
] as const satisfies readonly CloseCallback['reason'][];

function CloseDialog({ one, onClose }: { readonly one: Callback; readonly onClose: () => void }): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const [reason, setReason] = useState<CloseCallback['reason']>('done');
  const [note, setNote] = useState('');
  const close = useOnce<unknown, undefined>({
    mutationFn: () => client.callbacks.close(one.id, { reason, note: note.trim() === '' ? null : note }),
    onSuccess() {
      readAgain(queries, [CALLBACKS]);
      onClose();
    },
  });
  const labels = { reason: t('callback_reason'), note: t('callback_note') };
  const field = fieldsWith(close.error, labels);
  return (
    <Dialog opened onClose={onClose} title={t('callback_close')} centered>
      <ChangeForm change={close} submit={t('callback_close_do')} labels={labels} onClose={onClose}>
        <NativeSelect
          {...field('reason')}
          data-autofocus
          value={reason}
          onChange={({ currentTarget }) => setReason(REASONS.find((one) => one === currentTarget.value)!)}
          data={REASONS.map((value) => ({
            value,
            label: t(value === 'other' ? 'callback_why_else' : `callback_why_${value}`),
          }))}
        />
        <Textarea
          {...field('note')}
          value={note}
          maxLength={500}
          autosize
          minRows={2}
          onChange={({ currentTarget }) => setNote(currentTarget.value)}
        />
      </ChangeForm>
    </Dialog>
  );
}

interface RowProps {
  readonly one: Callback;
  /** Name of the person who calls back; null for none and for oneself. */
  readonly other: string | null;
  readonly own: boolean;
  readonly onClose: () => void;
}
function Row({ one, other, own, onClose }: RowProps): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const call = useCall();
  const maySupervise = useMay('supervisor');
  const { id, number, customer, queue, queue_title, tries, first_at, last_at, conversation } = one;
  const change = useOnce<unknown, 'call' | 'take' | 'release'>({
    mutationFn: (what) => (what === 'release' ? client.callbacks.release(id) : client.callbacks.take(id)),
    onSuccess(_done, what) {
      if (what === 'call') call(number);
    },
    onError: tellFailure,
    onSettled: () => readAgain(queries, [CALLBACKS]),
  });
  const name = customer?.name ?? number;
  return (
    <li className={styles.row}>
      <div className={styles.who}>
        <Link href={conversationAddress(conversation)} className={styles.name ?? ''}>
          <bdi>{name}</bdi>
        </Link>
        <Text size="sm" c="dimmed" component="span">
          {[customer?.company, customer === null ? null : number].filter(Boolean).join(' · ')}
        </Text>
      </div>
      <Group gap={6} className={styles.marks ?? ''}>
        <Badge variant="light" color={tries > 1 ? 'red' : 'gray'} tt="none">
          {t('callback_tries', { count: tries })}
        </Badge>
        {queue !== null && (
          <Badge variant="light" color="blue" tt="none">
            {queue_title ?? queue}
          </Badge>
        )}
        {(own || other !== null) && (
          <Badge variant="dot" color="green" tt="none">
            {own ? t('callback_own') : t('callback_by', { name: other! })}
          </Badge>
        )}
      </Group>
      <time
        className={styles.time}
        dateTime={last_at}
        title={tries > 1 ? t('callback_since', { time: formatDateTime(first_at) }) : undefined}
      >
        {formatDateTime(last_at)}
      </time>
      <Group gap={4} wrap="nowrap" className={styles.actions ?? ''}>
        <Button
          size="sm"
          h={40}
          variant={other === null ? 'light' : 'default'}
          leftSection={<Phone size={16} aria-hidden />}
          aria-label={t('callback_call', { name })}
          disabled={other !== null}
          loading={change.isPending}
          onClick={() => change.mutate('call')}
        >
          {t('callback_do')}
        </Button>
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <ActionIcon variant="subtle" size={40} aria-label={t('callback_more', { name })}>
              <EllipsisVertical size={18} aria-hidden />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {!own && other === null && (
              <Menu.Item leftSection={<Hand size={16} aria-hidden />} onClick={() => change.mutate('take')}>
                {t('callback_take')}
              </Menu.Item>
            )}
            {(own || (other !== null && maySupervise)) && (
              <Menu.Item
                leftSection={<Undo2 size={16} aria-hidden />}
                onClick={() => change.mutate('release')}
              >
                {t('callback_release')}
              </Menu.Item>
            )}
            <Menu.Item leftSection={<Check size={16} aria-hidden />} onClick={onClose}>
              {t('callback_close')} …
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </Group>
    </li>
  );
}

export function Callbacks(): ReactNode {
  const client = useClient();
  const { extension } = useMe();
  const worksInQueues = useMay('agent');
  useChanges(['history/mine', ...(worksInQueues ? ['queues'] : [])], 'callback.changed', CALLBACKS);
  const read = useQuery({
    queryKey: [CALLBACKS, extension],
    queryFn: ({ signal }) => client.callbacks.list({ limit: SHOWN }, signal),
  });
  const contacts = useQuery(contactsQuery(client)).data?.contacts;
  const [closing, setClosing] = useState<Callback | null>(null);
  const nameOf = (by: string): string => contacts?.find((one) => one.extension === by)?.name ?? by;
  return (
    <section aria-labelledby="callbacks">
      <Title order={2} size="h4" id="callbacks" mb="xs">
        {t('callbacks')}
      </Title>
      <Read of={read}>
        {({ callbacks, open }) => (
          <>
            {callbacks.length === 0 ? (
              <Text c="dimmed" size="sm">
                <PhoneIncoming size={16} aria-hidden className={styles.none} /> {t('callbacks_none')}
              </Text>
            ) : (
              <ul className={styles.list} aria-label={t('callbacks')}>
                {callbacks.map((one) => (
                  <Row
                    key={one.id}
                    one={one}
                    own={one.taken?.by === extension}
                    other={one.taken === null || one.taken.by === extension ? null : nameOf(one.taken.by)}
                    onClose={() => setClosing(one)}
                  />
                ))}
              </ul>
            )}
            {open > callbacks.length && (
              <Text size="sm" c="dimmed" mt="xs">
                {t('callbacks_beyond', { count: open - callbacks.length })}
              </Text>
            )}
          </>
        )}
      </Read>
      {closing !== null && <CloseDialog one={closing} onClose={() => setClosing(null)} />}
    </section>
  );
}
