import { memo, useState } from 'react';
import type { DragEvent, ReactNode } from 'react';
import { Badge, Button, Menu, Paper, Text, Title } from '@mantine/core';
import {
  ArrowDown,
  ArrowDownToLine,
  ArrowUp,
  ArrowUpToLine,
  Ellipsis,
  GripVertical,
  ListOrdered,
  LogOut,
  Shuffle,
  UsersRound,
} from 'lucide-react';
import type { QueueCaller } from '@offhook/contract/queues.ts';
import type { QueueState } from '@offhook/client';
import { QuietIcon } from '../app/quiet-icon.ts';
import { formatSpan } from '../app/format.ts';
import { useRecord } from '../app/live.ts';
import { useSince } from '../app/now.ts';
import { useClient } from '../app/session.tsx';
import { useAsk } from './ask.ts';
import { callerParty } from '../app/queue-names.ts';
import { callerName } from './dialogs.tsx';
import { useDo } from './doing.ts';
import { placeOf } from './supervise.ts';
import { wordsOf } from '../app/words.ts';
import styles from './supervisor.module.css';

const t = wordsOf('supervisor');

const CALLER = 'application/x-offhook-caller';
interface Dragged {
  readonly queue: string;
  readonly id: string;
  readonly name: string;
}
const Waits = ({ since }: { readonly since: string }): ReactNode => (
  <span className={styles.since}>{formatSpan(useSince(since))}</span>
);

function CallerActions({
  queue,
  caller,
}: {
  readonly queue: QueueState;
  readonly caller: QueueCaller;
}): ReactNode {
  const client = useClient();
  const does = useDo();
  const ask = useAsk();
  const name = callerName(caller);
  const { at, of } = placeOf(queue.callers, caller);
  const moveTo = (position: number): void =>
    does(
      `to ${position}`,
      () => client.queues.moveCaller(queue.name, caller.id, { position }),
      t('moved', { name }),
    );
  const steps = [
    [t('to_front'), ArrowUpToLine, 1, at > 1],
    [t('up'), ArrowUp, at - 1, at > 1],
    [t('down'), ArrowDown, at + 1, at < of],
    [t('to_end'), ArrowDownToLine, of, at < of],
  ] as const;
  // Impossible actions are left out: a menu that starts with a disabled item takes no focus.
  const possible = steps.filter(([, , , can]) => can);
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <QuietIcon aria-label={t('more', { name })}>
          <Ellipsis size={18} aria-hidden />
        </QuietIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {possible.map(([label, Icon, position]) => (
          <Menu.Item
            key={label}
            leftSection={<Icon size={16} aria-hidden />}
            onClick={() => moveTo(position)}
          >
            {label}
          </Menu.Item>
        ))}
        {possible.length > 0 && <Menu.Divider />}
        <Menu.Item
          leftSection={<Shuffle size={16} aria-hidden />}
          onClick={() => ask({ is: 'move', queue: queue.name, caller })}
        >
          {t('move')}
        </Menu.Item>
        <Menu.Item
          leftSection={<ListOrdered size={16} aria-hidden />}
          onClick={() => ask({ is: 'priority', queue: queue.name, caller })}
        >
          {t('priority')}
        </Menu.Item>
        <Menu.Item
          c="var(--offhook-alert)"
          leftSection={<LogOut size={16} aria-hidden />}
          onClick={() => ask({ is: 'withdraw', queue: queue.name, caller })}
        >
          {t('withdraw')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
export const QueueCard = memo(function QueueCard({ name }: { readonly name: string }): ReactNode {
  const queue = useRecord('queues', name);
  const client = useClient();
  const does = useDo();
  const ask = useAsk();
  const [over, setOver] = useState<string | null>(null);
  if (queue === undefined) return null;
  const title = queue.title || name;
  /** On a caller: its place; on the queue: the end. */
  const drop = (event: DragEvent, target: QueueCaller | null): void => {
    const text = event.dataTransfer.getData(CALLER);
    setOver(null);
    if (text === '') return;
    event.preventDefault();
    event.stopPropagation();
    const dragged = JSON.parse(text) as Dragged;
    if (dragged.id === target?.id || (dragged.queue === name && target === null)) return;
    const position = target === null ? undefined : placeOf(queue.callers, target).at;
    const to = {
      ...(dragged.queue === name ? {} : { queue: name }),
      ...(position === undefined ? {} : { position }),
    };
    does(
      JSON.stringify([dragged, to]),
      () => client.queues.moveCaller(dragged.queue, dragged.id, to),
      t('moved', { name: dragged.name }),
    );
  };
  const allow = (event: DragEvent, place: string): void => {
    if (!event.dataTransfer.types.includes(CALLER)) return;
    event.preventDefault();
    event.stopPropagation();
    if (over !== place) setOver(place);
  };
  return (
    <Paper
      component="section"
      withBorder
      className={styles.queue ?? ''}
      aria-label={title}
      data-queue={name}
      data-over={over === name || undefined}
      onDragOver={(event: DragEvent) => allow(event, name)}
      onDragLeave={() => setOver(null)}
      onDrop={(event: DragEvent) => drop(event, null)}
    >
      <header className={styles.queueHead}>
        <div className={styles.cell}>
          <Title order={2} size="h5" lineClamp={1}>
            {title}
          </Title>
          <Text size="xs" c="dimmed">
            {queue.number}
          </Text>
        </div>
        {queue.callers.length > 0 && (
          <Badge variant="light" size="lg" tt="none">
            {t('waiting_n', { count: queue.callers.length })}
          </Badge>
        )}
        <Button
          variant="subtle"
          size="sm"
          leftSection={<UsersRound size={16} aria-hidden />}
          aria-label={t('members_of', { name: title })}
          onClick={() => ask({ is: 'members', queue: name, title })}
        >
          {t('members')}
        </Button>
      </header>
      {queue.callers.length === 0 ? (
        <Text size="sm" c="dimmed" p="sm">
          {t('nobody_waits')}
        </Text>
      ) : (
        <ol className={styles.callers}>
          {queue.callers.map((caller) => (
            <li
              key={caller.id}
              className={styles.caller}
              data-caller={caller.id}
              data-over={over === caller.id || undefined}
              draggable
              onDragStart={(event) => {
                const dragged: Dragged = { queue: name, id: caller.id, name: callerName(caller) };
                event.dataTransfer.setData(CALLER, JSON.stringify(dragged));
                event.dataTransfer.effectAllowed = 'move';
              }}
              onDragOver={(event) => allow(event, caller.id)}
              onDrop={(event) => drop(event, caller)}
            >
              <span className={styles.grip} title={t('drag')}>
                <GripVertical size={16} aria-hidden />
              </span>
              <b className={styles.place}>{caller.position}</b>
              <div className={styles.cell}>
                <Text fw={600} truncate>
                  {callerName(caller)}
                </Text>
                <Text size="xs" c="dimmed" truncate>
                  {callerParty(caller).name === '' ? '' : caller.caller.number}
                  {(caller.priority ?? 0) > 0 && ` ${t('priority_of', { priority: caller.priority ?? 0 })}`}
                </Text>
              </div>
              <Waits since={caller.joined_at} />
              <CallerActions queue={queue} caller={caller} />
            </li>
          ))}
        </ol>
      )}
    </Paper>
  );
});
