/** The agent's state, since when, and what follows. */
import type { ReactNode } from 'react';
import { Group, Paper, Text } from '@mantine/core';
import {
  CirclePause,
  CirclePlay,
  Clock3,
  Coffee,
  Headphones,
  LogOut,
  PhoneCall,
  PhoneOff,
  PhoneIncoming,
  Timer,
  TriangleAlert,
  Undo2,
} from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import type { QueueState } from '@offhook/client';
import type { Agent, AgentSummary } from '@offhook/contract/agents.ts';
import { formatSpan } from '../app/format.ts';
import { useRecord } from '../app/live.ts';
import { useSecond, useSince } from '../app/now.ts';
import { useClient } from '../app/session.tsx';
import { usePhone } from '../phone/phone.ts';
import { ActionButton, ActionError, useAction } from './action.tsx';
import type { Action } from './action.tsx';
import { useShortcut } from './shortcuts.ts';
import { StateActions } from './state-actions.tsx';
import { usePauseReasons } from './use-desk.ts';
import { isPast, toneOf } from './view.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';

const t = wordsOf('desk');

const ICONS: Readonly<Record<AgentSummary['state'], LucideIcon>> = {
  logged_out: LogOut,
  unreachable: PhoneOff,
  talking: PhoneCall,
  held: CirclePause,
  offered: PhoneIncoming,
  wrap_up: Timer,
  busy_other: Headphones,
  not_responding: TriangleAlert,
  not_ready: Coffee,
  available: CirclePlay,
};
interface StatePanelProps {
  readonly agent: Agent;
  readonly queues: ReadonlyMap<string, QueueState>;
}
export function StatePanel({ agent, queues }: StatePanelProps): ReactNode {
  const now = useSecond();
  const action = useAction();
  const tone = toneOf(agent, now);
  const ringsHere = usePhone().calls.some((call) => call.state === 'incoming');
  const Icon = ICONS[agent.state];
  const since = useSince(agent.since);
  const reachability = useRecord('presence', agent.extension, [agent.extension])?.reachability;
  const offline = reachability === 'offline';
  // The devices of a new person have no state before the first registration.
  const noPhone = offline || reachability === 'unknown' || agent.state === 'unreachable';
  return (
    <Paper
      withBorder
      component="section"
      aria-label={t('my_state')}
      className={styles.state}
      data-tone={tone}
    >
      <div className={styles.stateRow}>
        <div className={styles.stateWord}>
          <span className={styles.stateIcon}>
            <Icon size={26} aria-hidden />
          </span>
          <div className={styles.stateText}>
            <Group gap={10} align="baseline">
              <Text component="strong" className={styles.stateName} role="status">
                {t(`${agent.state}_state`)}
              </Text>
              <Text component="span" className={styles.ticking} aria-hidden>
                {formatSpan(since)}
              </Text>
              {agent.state === 'wrap_up' && (
                <Text component="span" size="xs" c="dimmed" aria-hidden>
                  {t('in_state')}
                </Text>
              )}
            </Group>
            <StateDetail agent={agent} queues={queues} now={now} />
            {/* One line in every state, so that the panel keeps its height. */}
            {agent.pending !== null ? (
              <Pending agent={agent} action={action} />
            ) : offline && agent.state !== 'unreachable' ? (
              <Text size="sm" className={styles.alert} role="alert">
                {t('offline_hint')}
              </Text>
            ) : (
              <Text size="sm" c="dimmed">
                {t(agent.state === 'offered' && ringsHere ? 'offered_here' : `${agent.state}_next`)}
              </Text>
            )}
          </div>
          {agent.state === 'wrap_up' && <Countdown deadline={agent.deadline} now={now} />}
        </div>
        <div className={styles.buttons}>
          <StateActions agent={agent} action={action} noPhone={noPhone} />
        </div>
      </div>
      {action.failed !== null && (
        <div className={styles.stateError}>
          <ActionError action={action} />
        </div>
      )}
    </Paper>
  );
}
function Countdown({ deadline, now }: { readonly deadline: string | null; readonly now: number }): ReactNode {
  if (deadline === null) return null;
  const left = Math.max(0, Math.ceil(Date.parse(deadline) / 1000 - now));
  return (
    <div className={styles.countdown} role="timer" aria-label={t('left', { span: formatSpan(left) })}>
      <span aria-hidden>{formatSpan(left)}</span>
      <Text component="span" size="xs" c="dimmed" aria-hidden>
        {t('wrap_up_left')}
      </Text>
    </div>
  );
}
function StateDetail({ agent, queues, now }: StatePanelProps & { readonly now: number }): ReactNode {
  const reasons = usePauseReasons().data ?? [];
  const { state, readiness, queue, deadline } = agent;
  const parts: ReactNode[] = [];
  const nameOf = (id: string): string => reasons.find((reason) => reason.id === id)?.name ?? id;
  if (state === 'not_ready' && readiness.reason !== null) {
    const reason = reasons.find((one) => one.id === readiness.reason);
    parts.push(<strong key="reason">{nameOf(readiness.reason)}</strong>);
    if (reason !== undefined) parts.push(t(reason.paid ? 'paid' : 'unpaid'));
    if (readiness.until !== null) {
      const left = Date.parse(readiness.until) / 1000 - now;
      parts.push(
        isPast(agent, now) ? (
          <strong key="over" className={styles.alert}>
            {t('over_by', { span: formatSpan(-left) })}
          </strong>
        ) : (
          t('left', { span: formatSpan(left) })
        ),
      );
    }
    if (readiness.source === 'supervisor') parts.push(t('by_supervisor'));
    if (readiness.source === 'system') parts.push(t('by_system'));
  }
  if (queue !== null && ['offered', 'talking', 'held', 'wrap_up'].includes(state)) {
    parts.push(<strong key="queue">{queues.get(queue)?.title || queue}</strong>);
  }
  if (state === 'offered' && deadline !== null) {
    parts.push(t('rings_for', { span: formatSpan(Date.parse(deadline) / 1000 - now) }));
  }
  if (state === 'busy_other' && agent.direction !== null) {
    parts.push(t(agent.direction === 'in' ? 'incoming' : 'outgoing'));
  }
  if (parts.length === 0) return null;
  return (
    <Text size="sm" component="div" className={styles.dotted}>
      {parts.map((part, i) => (
        // oxlint-disable-next-line react/no-array-index-key -- a line of words, which has no other order
        <span key={i}>{part}</span>
      ))}
    </Text>
  );
}
interface ActionsProps {
  readonly agent: Agent;
  readonly action: Action;
}
function Pending({ agent, action }: ActionsProps): ReactNode {
  const client = useClient();
  const reasons = usePauseReasons().data ?? [];
  const { pending, pending_reason } = agent;
  const label = t('cancel_pending');
  const work = (): Promise<unknown> => client.agents.cancelPending(agent.extension);
  useShortcut('c', pending === null ? null : () => void action.run(label, work));
  if (pending === null) return null;
  const reason = reasons.find((one) => one.id === pending_reason)?.name ?? pending_reason ?? '';
  return (
    <div className={styles.pending}>
      <Clock3 size={16} aria-hidden />
      <Text size="sm">
        {t('after_this')}: <strong>{t(`pending_${pending}`, { reason })}</strong>
      </Text>
      <ActionButton
        action={action}
        label={label}
        work={work}
        shortcut="c"
        size="xs"
        variant="default"
        icon={<Undo2 size={14} aria-hidden />}
      />
    </div>
  );
}
