import type { ReactNode } from 'react';
import { Paper, Text, Title } from '@mantine/core';
import type { QueueCaller } from '@offhook/contract/queues.ts';
import type { QueueState } from '@offhook/client';
import type { Agent } from '@offhook/contract/agents.ts';
import { formatSpan } from '../app/format.ts';
import { useSince } from '../app/now.ts';
import { callerParty } from '../app/queue-names.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';

const t = wordsOf('desk');

/** Further callers are shown as a number. */
const SHOWN = 6;
interface CallersPanelProps {
  readonly agent: Agent;
  readonly queues: ReadonlyMap<string, QueueState>;
}
/** Callers in the agent's queues, the next one to be answered first. */
export function CallersPanel({ agent, queues }: CallersPanelProps): ReactNode {
  const waiting = agent.queues
    .filter((own) => own.member)
    .flatMap(({ queue: name }) => {
      const queue = queues.get(name);
      return (queue?.callers ?? []).map((caller) => ({ caller, title: queue?.title || name }));
    })
    .toSorted(
      (a, b) =>
        (b.caller.priority ?? 0) - (a.caller.priority ?? 0) ||
        (a.caller.joined_at < b.caller.joined_at ? -1 : 1),
    );
  return (
    <Paper withBorder component="section" aria-labelledby="desk-callers" className={styles.panel ?? ''}>
      <Title order={2} size="h5" id="desk-callers">
        {t('callers')}
      </Title>
      {waiting.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('nobody_waits')}
        </Text>
      ) : (
        <ol className={styles.callers}>
          {waiting.slice(0, SHOWN).map(({ caller, title }) => (
            <Caller key={caller.id} caller={caller} queue={title} />
          ))}
        </ol>
      )}
      {waiting.length > SHOWN && (
        <Text size="xs" c="dimmed">
          {t('more_callers', { count: waiting.length - SHOWN })}
        </Text>
      )}
    </Paper>
  );
}
function Caller({ caller, queue }: { readonly caller: QueueCaller; readonly queue: string }): ReactNode {
  const waits = useSince(caller.joined_at);
  const { number, name } = callerParty(caller);
  return (
    <li>
      <div className={styles.shrink}>
        <Text size="sm" fw={600} truncate>
          {name || number || t('unknown_caller')}
        </Text>
        <Text size="xs" c="dimmed" truncate>
          {[name === '' ? '' : number, queue].filter(Boolean).join(' · ')}
        </Text>
      </div>
      <span className={styles.ticking}>{formatSpan(waits)}</span>
    </li>
  );
}
