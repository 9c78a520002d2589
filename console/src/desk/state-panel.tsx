/** One glance: what I am, since when, and what I do next. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Badge, Button, Group, Loader, Menu, Paper, Text } from '@mantine/core';
import {
  CirclePause,
  CirclePlay,
  Clock3,
  Coffee,
  Headphones,
  LogIn,
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
import { useClient, useMay } from '../app/session.tsx';
import { phone, usePhone } from '../phone/phone.ts';
import { ActionButton, ActionError, Key, useAction } from './action.tsx';
import type { Action } from './action.tsx';
import { useShortcut } from './shortcuts.ts';
import { usePauseReasons } from './use-desk.ts';
import { canLeave, choicesWait, isPast, mustStay, toneOf } from './view.ts';
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
/** What a minute more is. */
const EXTEND_SECONDS = 60;

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
  // A new person's devices have no state before the first of them registers.
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
          <BrowserPhone action={action} offered={noPhone} />
          <StateActions agent={agent} action={action} />
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
/** The phone of this browser: offered where no other device is there; its key answers wherever the button of the call is. */
function BrowserPhone({
  action,
  offered,
}: {
  readonly action: Action;
  readonly offered: boolean;
}): ReactNode {
  const { status, calls } = usePhone();
  const rings = calls.find((call) => call.state === 'incoming');
  const answer = async (): Promise<void> => {
    if (rings !== undefined) await phone.softphone?.answer(rings.id);
  };
  useShortcut('a', rings === undefined ? null : () => void action.run(t('answer'), answer));
  if (!offered || status.is !== 'off') return null;
  return (
    <Button
      className={styles.wide}
      leftSection={<Headphones size={18} aria-hidden />}
      onClick={() => phone.switchOn()}
    >
      {t('browser_phone')}
    </Button>
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
function StateActions({ agent, action }: ActionsProps): ReactNode {
  const client = useClient();
  const { extension, state, session, readiness, pending } = agent;
  const inside = session === 'logged_in';
  const waits = choicesWait(agent);
  const leaving = canLeave(agent);
  const outside = agent.queues.some((queue) => !queue.member);
  const away = !readiness.ready || state === 'not_responding';
  const doLogin = (): Promise<unknown> => client.agents.login(extension);
  const doReady = (): Promise<unknown> => client.agents.unpause(extension);
  const doFinish = (): Promise<unknown> => client.agents.wrapUp(extension, { finish: true });
  const doExtend = (): Promise<unknown> =>
    client.agents.wrapUp(extension, { extend_seconds: EXTEND_SECONDS });
  const doLogout = async (): Promise<void> => {
    // Where the configuration keeps the agent in one queue, leaving all of them is refused as a whole.
    if (mustStay(agent).length === 0) await client.agents.logout(extension);
    else for (const queue of leaving) await client.agents.logout(extension, { queue });
  };
  const wrapUp = state === 'wrap_up';
  const ready = inside && away && !wrapUp && !(waits && pending === 'ready');
  const login = outside;
  const logout = leaving.length > 0 && pending !== 'logged_out';
  const words = {
    login: t('login_all'),
    ready: t(waits ? 'ready_after' : 'ready'),
    logout: t(waits ? 'logout_after' : 'logout_all'),
    finish: t('finish'),
    extend: t('extend'),
  };
  useShortcut('l', login ? () => void action.run(words.login, doLogin) : null);
  useShortcut('r', ready ? () => void action.run(words.ready, doReady) : null);
  useShortcut('o', logout ? () => void action.run(words.logout, doLogout) : null);
  useShortcut('f', wrapUp ? () => void action.run(words.finish, doFinish) : null);
  useShortcut('e', wrapUp ? () => void action.run(words.extend, doExtend) : null);
  return (
    <>
      {wrapUp && (
        <>
          <ActionButton
            action={action}
            label={words.finish}
            work={doFinish}
            shortcut="f"
            icon={<CirclePlay size={18} aria-hidden />}
          />
          <ActionButton
            action={action}
            label={words.extend}
            work={doExtend}
            shortcut="e"
            variant="default"
            icon={<Timer size={18} aria-hidden />}
          />
        </>
      )}
      {ready && (
        <ActionButton
          action={action}
          label={words.ready}
          work={doReady}
          shortcut="r"
          variant={waits ? 'default' : 'filled'}
          icon={<CirclePlay size={18} aria-hidden />}
        />
      )}
      {login && (
        <ActionButton
          action={action}
          label={words.login}
          work={doLogin}
          shortcut="l"
          variant={inside ? 'default' : 'filled'}
          icon={<LogIn size={18} aria-hidden />}
        />
      )}
      {inside && <PauseMenu agent={agent} action={action} waits={waits} />}
      {logout && (
        <ActionButton
          action={action}
          label={words.logout}
          work={doLogout}
          shortcut="o"
          variant="default"
          className={styles.last}
          icon={<LogOut size={18} aria-hidden />}
        />
      )}
    </>
  );
}
function PauseMenu({ agent, action, waits }: ActionsProps & { readonly waits: boolean }): ReactNode {
  const client = useClient();
  const supervisor = useMay('supervisor');
  const reasons = (usePauseReasons().data ?? []).filter((reason) => supervisor || !reason.supervisor_only);
  const [opened, setOpened] = useState(false);
  useShortcut('p', () => setOpened(true));
  const paused = agent.state === 'not_ready' || agent.state === 'not_responding';
  const word = t(waits ? 'break_after' : paused ? 'other_reason' : 'pause');
  const busy = action.busy !== null && reasons.some((reason) => action.busy === `${word}: ${reason.name}`);
  return (
    <Menu opened={opened} onChange={setOpened} position="bottom-end" width={260} withinPortal>
      <Menu.Target>
        <Button
          variant={agent.state === 'available' ? 'filled' : 'default'}
          className={styles.pause}
          aria-keyshortcuts="p"
          aria-busy={busy}
          leftSection={busy ? <Loader size={16} color="currentColor" /> : <Coffee size={18} aria-hidden />}
          rightSection={<Key name="p" />}
        >
          {word}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {reasons.map((reason) => (
          <Menu.Item
            key={reason.id}
            onClick={() =>
              void action.run(`${word}: ${reason.name}`, () =>
                client.agents.pause(agent.extension, { reason: reason.id }),
              )
            }
            rightSection={
              <Badge variant="light" size="sm" color="gray" tt="none">
                {t(reason.paid ? 'paid' : 'unpaid')}
              </Badge>
            }
          >
            {reason.name}
            {reason.longest_seconds !== null && (
              <Text size="xs" c="dimmed">
                {t('at_most', { minutes: Math.round(reason.longest_seconds / 60) })}
              </Text>
            )}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
