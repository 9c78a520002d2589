/** Transfer of the call, blind or attended; loaded on demand. */
import { useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { ActionIcon, Group, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ArrowRight, ArrowRightLeft, MessagesSquare, Undo2, X } from 'lucide-react';
import { OffhookError } from '@offhook/client';
import type { CallState } from '@offhook/client';
import { readAgain } from '../app/queries.ts';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { ActionButton, ActionError, useAction } from './action.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';

const t = wordsOf('desk');

/** A number that can be dialled; any other text is looked up as a name. */
const NUMBER = /^\+?[0-9*#]{1,32}$/;
const dialledOf = (text: string): string => text.replaceAll(/[\s()./-]/g, '');

interface TransferPanelProps {
  readonly call: CallState;
  readonly onClose: () => void;
}
export function TransferPanel({ call, onClose }: TransferPanelProps): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const action = useAction();
  const id = call.call_id;
  const key = ['transfer', id];
  const read = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => {
      try {
        return (await client.calls.transferOf(id, signal)).transfer;
      } catch (error) {
        if (error instanceof OffhookError && error.code === 'not_found') return null;
        throw error;
      }
    },
  });
  const known = read.data;
  // The state of a consultation follows from the legs of the call.
  useEffect(() => readAgain(queries, ['transfer', id]), [queries, id, call]);
  const consult = known != null && known.state !== 'completed' && known.state !== 'canceled' ? known : null;
  const again = async (work: Promise<unknown>): Promise<void> => {
    await work;
    await queries.invalidateQueries({ queryKey: key });
  };
  return (
    <Stack gap="xs" className={styles.transfer ?? ''}>
      {consult === null ? (
        <Target
          onClose={onClose}
          buttons={(to) => (
            <>
              <ActionButton
                action={action}
                label={t('transfer_blind')}
                icon={<ArrowRight size={18} aria-hidden />}
                work={async () => {
                  await client.calls.transfer(id, { kind: 'blind', to });
                  onClose();
                }}
              />
              <ActionButton
                action={action}
                label={t('transfer_attended')}
                variant="default"
                icon={<MessagesSquare size={18} aria-hidden />}
                work={() => again(client.calls.transfer(id, { kind: 'attended', to }))}
              />
            </>
          )}
        />
      ) : (
        <>
          <Text fw={600} role="status">
            {t(consultWord(consult.state), { to: consult.to })}
          </Text>
          <Group gap="xs">
            <ActionButton
              action={action}
              label={t('transfer_complete')}
              icon={<ArrowRight size={18} aria-hidden />}
              work={() => again(client.calls.completeTransfer(id))}
            />
            {consult.state !== 'calling' && (
              <ActionButton
                action={action}
                label={t('transfer_swap')}
                variant="default"
                icon={<ArrowRightLeft size={18} aria-hidden />}
                work={() => again(client.calls.swapTransfer(id))}
              />
            )}
            <ActionButton
              action={action}
              label={t('transfer_cancel')}
              variant="default"
              icon={<Undo2 size={18} aria-hidden />}
              work={() => again(client.calls.cancelTransfer(id))}
            />
          </Group>
        </>
      )}
      <ActionError action={action} />
      {/* Below the buttons, which must not move when it appears. */}
      {read.isError && <Failure error={read.error} onRetry={() => void read.refetch()} />}
    </Stack>
  );
}
const consultWord = (state: string) =>
  state === 'calling' ? 'transfer_calling' : state === 'swapped' ? 'transfer_swapped' : 'transfer_consulting';

interface TargetProps {
  readonly onClose: () => void;
  readonly buttons: (to: string) => ReactNode;
}
function Target({ onClose, buttons }: TargetProps): ReactNode {
  const client = useClient();
  const [text, setText] = useState('');
  const [wanted] = useDebouncedValue(text.trim(), 200);
  const number = dialledOf(text);
  const field = useRef<HTMLInputElement>(null);
  const pick = (extension: string): void => {
    setText(extension);
    field.current?.focus();
  };
  const found = useQuery({
    queryKey: ['contacts', wanted],
    queryFn: async ({ signal }) => (await client.contacts({ q: wanted, limit: 6 }, signal)).contacts,
    enabled: wanted !== '' && !NUMBER.test(dialledOf(wanted)),
  });
  return (
    <div
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
      }}
    >
      <Group align="flex-end" gap="xs">
        <TextInput
          label={t('transfer_to')}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          ref={field}
          autoFocus
          onKeyDown={(event) => {
            const [nearest] = found.data ?? [];
            if (event.key === 'Enter' && nearest !== undefined && !NUMBER.test(number))
              pick(nearest.extension);
          }}
          autoComplete="off"
          maxLength={64}
          className={styles.grow ?? ''}
        />
        {NUMBER.test(number) && buttons(number)}
        <ActionIcon variant="subtle" color="gray" size={36} aria-label={t('close')} onClick={onClose}>
          <X size={18} aria-hidden />
        </ActionIcon>
      </Group>
      {found.isError && <Failure error={found.error} onRetry={() => void found.refetch()} />}
      {(found.data ?? []).length > 0 && !NUMBER.test(number) && (
        <ul className={styles.found}>
          {found.data?.map((contact) => (
            <li key={contact.extension}>
              <UnstyledButton className={styles.contact} onClick={() => pick(contact.extension)}>
                <span className={styles.dot} data-status={contact.status} aria-hidden />
                <span className={styles.shrink}>
                  {contact.name}{' '}
                  <Text component="span" size="xs" c="dimmed">
                    {contact.department}
                  </Text>
                </span>
                <span className={styles.number}>{contact.extension}</span>
              </UnstyledButton>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
