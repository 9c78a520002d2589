import type { ReactNode } from 'react';
import { Group, Loader, Paper, Switch, Text, Title, VisuallyHidden } from '@mantine/core';
import { Lock } from 'lucide-react';
import type { QueueState } from '@offhook/client';
import type { Agent, AgentQueue } from '@offhook/contract/agents.ts';
import { formatNumber, formatSpan } from '../app/format.ts';
import { useSince } from '../app/now.ts';
import { useClient } from '../app/session.tsx';
import { ActionError, useAction } from './action.tsx';
import { usePauseReasons } from './use-desk.ts';
import { mustStay } from './view.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';

const t = wordsOf('desk');

interface QueuesPanelProps {
  readonly agent: Agent;
  readonly queues: ReadonlyMap<string, QueueState>;
}
export function QueuesPanel({ agent, queues }: QueuesPanelProps): ReactNode {
  const stay = mustStay(agent).map((name) => queues.get(name)?.title || name);
  return (
    <Paper
      withBorder
      component="section"
      aria-labelledby="desk-queues"
      className={`${styles.panel} ${styles.queuesCard}`}
    >
      <Title order={2} size="h5" id="desk-queues">
        {t('queues')}
      </Title>
      <table className={styles.queues}>
        <thead>
          <tr>
            <th>{t('queue')}</th>
            <th className={styles.right}>{t('waiting')}</th>
            <th className={styles.right}>{t('longest')}</th>
            <th className={styles.right} title={t('free_title')}>
              {t('free')}
            </th>
          </tr>
        </thead>
        <tbody>
          {agent.queues.map((own) => (
            <QueueRow key={own.queue} agent={agent} own={own} queue={queues.get(own.queue)} />
          ))}
        </tbody>
      </table>
      {stay.length > 0 && (
        <Text size="xs" c="dimmed">
          {t('static_stay', { queues: stay.join(', ') })}
        </Text>
      )}
    </Paper>
  );
}
interface QueueRowProps {
  readonly agent: Agent;
  readonly own: AgentQueue;
  readonly queue: QueueState | undefined;
}
function QueueRow({ agent, own, queue }: QueueRowProps): ReactNode {
  const client = useClient();
  const action = useAction();
  const reasons = usePauseReasons().data ?? [];
  const waiting = queue?.callers ?? [];
  const longest = useSince(
    waiting.reduce<string | null>((a, { joined_at: b }) => (a === null || b < a ? b : a), null),
  );
  const title = queue?.title || own.queue;
  const fixed = own.member && own.membership !== 'dynamic';
  // For single queues; a pause in all of them is the agent's state.
  const paused = own.paused && agent.readiness.ready && agent.pending === null ? own.pause_reason : null;
  const change = (): Promise<unknown> =>
    own.member
      ? client.agents.logout(agent.extension, { queue: own.queue })
      : client.agents.login(agent.extension, { queue: own.queue });
  return (
    <>
      <tr data-waiting={waiting.length > 0 || undefined}>
        <td>
          <Group gap="xs" wrap="nowrap">
            {fixed ? (
              <Lock size={16} aria-hidden className={styles.lock ?? ''} />
            ) : (
              <Switch
                size="sm"
                aria-label={t('work_in', { queue: title })}
                checked={own.member}
                aria-busy={action.busy !== null}
                onChange={() => void action.run(title, change)}
                {...(action.busy === null ? {} : { thumbIcon: <Loader size={10} /> })}
              />
            )}
            <div className={styles.shrink}>
              <Text size="sm" fw={600} className={styles.queueTitle ?? ''}>
                {title}
              </Text>
              {fixed && <VisuallyHidden>{t('fixed')}</VisuallyHidden>}
              {paused !== null && (
                <Text size="xs" className={styles.warn ?? ''}>
                  {t('paused_here', { reason: reasons.find((r) => r.id === paused)?.name ?? paused })}
                </Text>
              )}
            </div>
          </Group>
        </td>
        <td className={styles.figure}>{formatNumber(waiting.length)}</td>
        <td className={styles.figure}>{formatSpan(longest)}</td>
        <td className={styles.figure}>{formatNumber(queue?.stats?.agents.available)}</td>
      </tr>
      {action.failed !== null && (
        <tr>
          <td colSpan={4}>
            <ActionError action={action} />
          </td>
        </tr>
      )}
    </>
  );
}
