import { memo } from 'react';
import type { ReactNode } from 'react';
import { Menu, Text } from '@mantine/core';
import {
  Check,
  ClipboardCheck,
  Coffee,
  Ear,
  Ellipsis,
  LogIn,
  LogOut,
  Mic,
  PhoneOff,
  Undo2,
  UsersRound,
} from 'lucide-react';
import type { AgentSummary } from '@offhook/contract/agents.ts';
import { QuietIcon } from '../app/quiet-icon.ts';
import { formatSpan } from '../app/format.ts';
import { useRecord } from '../app/live.ts';
import { useSince } from '../app/now.ts';
import { useClient, useMe } from '../app/session.tsx';
import { partnerOf } from '../wallboard/model.ts';
import { StateIcon, stateWord } from '../wallboard/states.tsx';
import { useAsk } from './ask.ts';
import { useDo } from './doing.ts';
import { canListen, sidesOf } from './supervise.ts';
import { wordsOf } from '../app/words.ts';
import styles from './supervisor.module.css';

const t = wordsOf('supervisor');

const Since = ({ time }: { readonly time: string }): ReactNode => (
  <span className={styles.since}>{formatSpan(useSince(time))}</span>
);
export interface Reason {
  readonly id: string;
  readonly name: string;
}
function Actions({
  agent,
  reasons,
}: {
  readonly agent: AgentSummary;
  readonly reasons: readonly Reason[];
}): ReactNode {
  const client = useClient();
  const me = useMe();
  const does = useDo();
  const ask = useAsk();
  const call = useRecord('calls', agent.call_id ?? '');
  const { extension, name, session, readiness, pending, state } = agent;
  const out = session === 'logged_out';
  const leg =
    call === undefined ? undefined : sidesOf(call).find((side) => side.extension === extension && side.talks);
  const listens = call !== undefined && leg !== undefined && canListen(call, me.extension);
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <QuietIcon aria-label={t('more', { name })}>
          <Ellipsis size={18} aria-hidden />
        </QuietIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {listens && (
          <>
            {(['listen', 'whisper', 'barge'] as const).map((verb) => {
              const Icon = { listen: Ear, whisper: Mic, barge: UsersRound }[verb];
              return (
                <Menu.Item
                  key={verb}
                  leftSection={<Icon size={16} aria-hidden />}
                  onClick={() =>
                    ask({ is: 'monitor', does: verb, call_id: call.call_id, leg_id: leg.leg_id, name })
                  }
                >
                  {t(verb)}
                </Menu.Item>
              );
            })}
            <Menu.Item
              leftSection={<PhoneOff size={16} aria-hidden />}
              onClick={() => ask({ is: 'hangup', call_id: call.call_id, name })}
            >
              {t('hang_up')} …
            </Menu.Item>
            <Menu.Divider />
          </>
        )}
        {!out && state === 'wrap_up' && (
          <Menu.Item
            leftSection={<ClipboardCheck size={16} aria-hidden />}
            onClick={() => does('wrap_up', () => client.agents.wrapUp(extension, { finish: true }))}
          >
            {t('finish_wrap_up')}
          </Menu.Item>
        )}
        {!out && !readiness.ready && (
          <Menu.Item
            leftSection={<Check size={16} aria-hidden />}
            onClick={() => does('unpause', () => client.agents.unpause(extension))}
          >
            {t('ready')}
          </Menu.Item>
        )}
        {pending !== null && (
          <Menu.Item
            leftSection={<Undo2 size={16} aria-hidden />}
            onClick={() => does('cancel_pending', () => client.agents.cancelPending(extension))}
          >
            {t('cancel_pending')}
          </Menu.Item>
        )}
        {!out && reasons.length > 0 && (
          <>
            <Menu.Label>{t('pause_for')}</Menu.Label>
            {reasons.map((reason) => (
              <Menu.Item
                key={reason.id}
                leftSection={<Coffee size={16} aria-hidden />}
                onClick={() =>
                  does(`pause ${reason.id}`, () => client.agents.pause(extension, { reason: reason.id }))
                }
              >
                {reason.name}
              </Menu.Item>
            ))}
            <Menu.Divider />
          </>
        )}
        {out ? (
          <Menu.Item
            leftSection={<LogIn size={16} aria-hidden />}
            onClick={() => does('login', () => client.agents.login(extension))}
          >
            {t('log_in')}
          </Menu.Item>
        ) : (
          <Menu.Item
            leftSection={<LogOut size={16} aria-hidden />}
            onClick={() => does('logout', () => client.agents.logout(extension))}
          >
            {t('log_out')}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
function Partner({ agent }: { readonly agent: AgentSummary }): ReactNode {
  const call = useRecord('calls', agent.call_id ?? '');
  const queue = useRecord('queues', agent.queue ?? '');
  if (agent.call_id === null) return null;
  return (
    <>
      <Text size="sm" truncate>
        {partnerOf(call, agent.extension)}
      </Text>
      {agent.queue !== null && (
        <Text size="xs" c="dimmed" truncate>
          {queue?.title || agent.queue}
        </Text>
      )}
    </>
  );
}
interface AgentProps {
  readonly extension: string;
  readonly reasons: readonly Reason[];
}
export const AgentRow = memo(function AgentRow({ extension, reasons }: AgentProps): ReactNode {
  const agent = useRecord('agents', extension);
  if (agent === undefined) return null;
  const { name, state, readiness, pending, since } = agent;
  const reason =
    state === 'not_ready' && readiness.reason !== null
      ? (reasons.find(({ id }) => id === readiness.reason)?.name ?? readiness.reason)
      : null;
  return (
    <div className={`${styles.row} ${styles.agentRow}`} data-agent={extension} data-state={state}>
      <div className={styles.cell}>
        <Text fw={600} truncate title={name}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {extension}
        </Text>
      </div>
      <div className={styles.cell}>
        <span className={styles.state} data-state={state}>
          <StateIcon state={state} />
          <span>
            {stateWord(state)}
            {reason !== null && ` · ${reason}`}
          </span>
          <Since time={since} />
        </span>
        {pending !== null && (
          <Text size="xs" c="var(--offhook-info)" fw={600}>
            {t(`pending_${pending}`)}
          </Text>
        )}
      </div>
      <div className={styles.cell}>
        <Partner agent={agent} />
      </div>
      <div className={styles.actions}>
        <Actions agent={agent} reasons={reasons} />
      </div>
    </div>
  );
});
