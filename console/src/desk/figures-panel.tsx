import type { ReactNode } from 'react';
import { Paper, Title } from '@mantine/core';
import type { QueueState } from '@offhook/client';
import type { Agent } from '@offhook/contract/agents.ts';
import { formatNumber, formatPercent, formatSpan } from '../app/format.ts';
import { Failure } from '../app/states.tsx';
import { useFigures } from './use-desk.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';

const t = wordsOf('desk');

interface FiguresPanelProps {
  readonly agent: Agent;
  readonly queues: ReadonlyMap<string, QueueState>;
}
export function FiguresPanel({ agent, queues }: FiguresPanelProps): ReactNode {
  const read = useFigures(agent, queues);
  // An agent without activity today is not in the reply.
  const own = read.data ?? null;
  const rows = [
    [t('handled'), formatNumber(own?.handled ?? 0), t('handled_title')],
    [t('talk'), formatSpan(own?.talk_seconds ?? 0)],
    [t('hold_time'), formatSpan(own?.hold_seconds ?? 0)],
    [t('wrap_up_time'), formatSpan(own?.wrap_up_seconds ?? 0)],
    [t('missed'), formatNumber(own?.missed_offers ?? 0)],
    [t('occupancy'), formatPercent(own?.occupancy), t('occupancy_title')],
  ] as const;
  return (
    <Paper withBorder component="section" aria-labelledby="desk-figures" className={styles.panel ?? ''}>
      <Title order={2} size="h5" id="desk-figures">
        {t('figures')}
      </Title>
      {read.isError && <Failure error={read.error} onRetry={() => void read.refetch()} />}
      {(read.isPending || read.data !== undefined) && (
        <dl className={styles.figures} aria-busy={read.isPending}>
          {rows.map(([label, value, title]) => (
            <div key={label} title={title}>
              <dt>{label}</dt>
              <dd>{read.isPending ? '…' : value}</dd>
            </div>
          ))}
        </dl>
      )}
    </Paper>
  );
}
