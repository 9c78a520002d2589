import { useState } from 'react';
import type { ReactNode } from 'react';
import { NativeSelect, NumberInput, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { ChangeForm } from '../app/change-form.tsx';
import { Dialog } from '../app/dialog.tsx';
import { fieldsWith } from '../app/field-errors.ts';
import type { Labels } from '../app/field-errors.ts';
import { useTopic } from '../app/live.ts';
import { useOnce } from '../app/once.ts';
import { callerParty } from '../app/queue-names.ts';
import { useClient } from '../app/session.tsx';
import type { Ask } from './ask.ts';
import { Members } from './members.tsx';
import { MonitorForm } from './monitor.tsx';
import { nameOf } from './supervise.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('supervisor');

interface FormProps<T, L extends Labels> {
  readonly children: (field: ReturnType<typeof fieldsWith<L>>) => ReactNode;
  readonly run: () => Promise<T>;
  readonly label: string;
  /** Labels of the inputs by the fields of the request. */
  readonly labels: L;
  readonly well?: string;
  readonly danger?: boolean;
  readonly onDone: () => void;
}
function AskForm<T, L extends Labels>({
  children,
  run,
  label,
  labels,
  well,
  danger,
  onDone,
}: FormProps<T, L>): ReactNode {
  const doing = useOnce({
    mutationFn: run,
    onSuccess() {
      if (well !== undefined) notifications.show({ color: 'teal', message: well });
      onDone();
    },
  });
  return (
    <ChangeForm change={doing} submit={label} labels={labels} onClose={onDone} danger={danger ?? false}>
      {children(fieldsWith(doing.error, labels))}
    </ChangeForm>
  );
}
type CallerAsk = Extract<Ask, { readonly caller: unknown }>;
interface Props<A> {
  readonly ask: A;
  readonly onDone: () => void;
}
function MoveForm({ ask: { queue, caller }, onDone }: Props<CallerAsk>): ReactNode {
  const client = useClient();
  const others = [...useTopic('queues').records.values()].filter(({ name }) => name !== queue);
  const [to, setTo] = useState(others[0]?.name ?? '');
  const [front, setFront] = useState(false);
  return (
    <AskForm
      run={() => client.queues.moveCaller(queue, caller.id, { queue: to, ...(front ? { position: 1 } : {}) })}
      label={t('move_do')}
      labels={{ queue: t('to_queue'), position: t('to_place') }}
      well={t('moved', { name: callerName(caller) })}
      onDone={onDone}
    >
      {(field) => (
        <>
          <NativeSelect
            {...field('queue')}
            value={to}
            onChange={(event) => setTo(event.currentTarget.value)}
            data={others.map(({ name, title }) => ({ value: name, label: title || name }))}
            data-autofocus
            required
          />
          <NativeSelect
            {...field('position')}
            value={front ? 'front' : 'end'}
            onChange={(event) => setFront(event.currentTarget.value === 'front')}
            data={[
              { value: 'end', label: t('place_end') },
              { value: 'front', label: t('place_front') },
            ]}
          />
        </>
      )}
    </AskForm>
  );
}
function PriorityForm({ ask: { queue, caller }, onDone }: Props<CallerAsk>): ReactNode {
  const client = useClient();
  const [priority, setPriority] = useState<number | string>(caller.priority ?? 0);
  return (
    <AskForm
      run={() => client.queues.setPriority(queue, caller.id, Number(priority))}
      label={t('priority_do')}
      labels={{ priority: t('priority_label') }}
      onDone={onDone}
    >
      {(field) => (
        <NumberInput
          {...field('priority')}
          description={t('priority_hint')}
          min={0}
          max={1_000_000}
          allowDecimal={false}
          allowNegative={false}
          value={priority}
          onChange={setPriority}
          data-autofocus
          required
        />
      )}
    </AskForm>
  );
}
export const callerName = (caller: Parameters<typeof callerParty>[0]): string =>
  nameOf(callerParty(caller)) || t('withheld');

function titleOf(one: Ask): string {
  switch (one.is) {
    case 'monitor':
      return t(`${one.does}_title`, { name: one.name });
    case 'hangup':
      return t('hangup_title');
    case 'members':
      return t('members_of', { name: one.title });
    default:
      return t(`${one.is}_title`, { name: callerName(one.caller) });
  }
}
function Body({ ask: one, onDone }: Props<Ask>): ReactNode {
  const client = useClient();
  switch (one.is) {
    case 'monitor':
      return <MonitorForm ask={one} onDone={onDone} />;
    case 'members':
      return <Members queue={one.queue} />;
    case 'hangup':
      return (
        <AskForm
          run={() => client.calls.hangup(one.call_id)}
          label={t('end_call')}
          labels={{}}
          danger
          onDone={onDone}
        >
          {() => <Text>{t('hangup_text', { name: one.name })}</Text>}
        </AskForm>
      );
    case 'withdraw':
      return (
        <AskForm
          run={() => client.queues.withdrawCaller(one.queue, one.caller.id)}
          label={t('withdraw_do')}
          labels={{}}
          danger
          onDone={onDone}
        >
          {() => <Text>{t('withdraw_text')}</Text>}
        </AskForm>
      );
    case 'move':
      return <MoveForm ask={one} onDone={onDone} />;
    case 'priority':
      return <PriorityForm ask={one} onDone={onDone} />;
  }
}
export function Dialogs({
  ask: one,
  onClose,
}: {
  readonly ask: Ask | null;
  readonly onClose: () => void;
}): ReactNode {
  if (one === null) return null;
  return (
    <Dialog opened onClose={onClose} title={titleOf(one)} centered size={one.is === 'members' ? 'lg' : 'md'}>
      <Body ask={one} onDone={onClose} />
    </Dialog>
  );
}
