import { memo, useMemo } from 'react';
import type { ReactNode } from 'react';
import type { AgentSummary } from '@offhook/contract/agents.ts';
import { formatSpan } from '../app/format.ts';
import { useRecord } from '../app/live.ts';
import { useSecond, useSince } from '../app/now.ts';
import { partnerOf } from './model.ts';
import { language, wordsOf } from '../app/words.ts';
import { StateIcon, stateWord } from './states.tsx';
import { VirtualList } from './virtual.tsx';
import styles from './board.module.css';

const t = wordsOf('wallboard');

/** Names of the reasons and queues on a card. */
export interface Names {
  readonly reason: (id: string) => string;
  readonly queue: (name: string) => string;
}
const Since = ({ time }: { readonly time: string }): ReactNode => (
  <span className={styles.since}>{formatSpan(useSince(time))}</span>
);
function Overdue({ until }: { readonly until: string }): ReactNode {
  const past = useSecond() > Date.parse(until) / 1000;
  return past ? <b className={styles.overdue}> · {t('overdue')}</b> : null;
}
function Partner({ call, extension }: { readonly call: string; readonly extension: string }): ReactNode {
  const partner = partnerOf(useRecord('calls', call), extension);
  return partner === null ? null : ` · ${t('with', { name: partner })}`;
}
interface CardProps {
  readonly extension: string;
  readonly names: Names;
  /** The reader may see the other side of an agent's call. */
  readonly partners: boolean;
}
const Card = memo(function Card({ extension, names, partners }: CardProps): ReactNode {
  const agent = useRecord('agents', extension);
  if (agent === undefined) return null;
  const { state, readiness, queue, call_id, pending } = agent;
  const isAway = state === 'not_ready' || state === 'not_responding';
  return (
    <div className={styles.agent} data-state={state} data-agent={extension}>
      <span className={styles.badge} data-state={state}>
        <StateIcon state={state} />
      </span>
      <span className={styles.who}>
        <b>{agent.name}</b>
        <span>
          <em>{stateWord(state)}</em>
          {state === 'not_ready' && readiness.reason !== null && ` · ${names.reason(readiness.reason)}`}
          {isAway && readiness.until !== null && <Overdue until={readiness.until} />}
          {!isAway && pending === null && queue !== null && ` · ${names.queue(queue)}`}
          {partners && call_id !== null && !isAway && pending === null && (
            <Partner call={call_id} extension={extension} />
          )}
          {pending !== null && <b className={styles.pending}> · {t(`pending_${pending}`)}</b>}
        </span>
      </span>
      <Since time={agent.since} />
    </div>
  );
});
interface AgentsProps {
  readonly agents: readonly AgentSummary[];
  readonly names: Names;
  readonly partners: boolean;
  readonly compact: boolean;
  readonly screen: boolean;
}
/** Signed-in agents by name, so that each keeps its position. */
export function Agents({ agents, names, partners, compact, screen }: AgentsProps): ReactNode {
  const staff = agents.filter(({ state }) => state !== 'logged_out');
  // Sorted only when an agent is added, removed or renamed; states change far more often.
  const key = staff.map(({ extension, name }) => `${name}\n${extension}`).join('\t');
  const order = useMemo(() => {
    const { compare } = new Intl.Collator(language(), { numeric: true });
    const rows = key === '' ? [] : key.split('\t');
    return rows.toSorted(compare).map((row) => row.slice(row.lastIndexOf('\n') + 1));
  }, [key]);
  const out = agents.length - staff.length;
  return (
    <>
      {order.length === 0 ? (
        <p className={styles.none}>{t('no_agents')}</p>
      ) : (
        <VirtualList
          label={t('agents_part')}
          count={order.length}
          minWidth={compact ? 13 : 17}
          height={3.9}
          itemKey={(index) => order[index]!}
          item={(index) => <Card extension={order[index]!} names={names} partners={partners} />}
          screen={screen}
        />
      )}
      {out > 0 && order.length > 0 && <p className={styles.out}>{t('signed_out', { count: out })}</p>}
    </>
  );
}
