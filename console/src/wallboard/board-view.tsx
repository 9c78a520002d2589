/** A board, on a page or on a wall. */
import { memo, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Client } from '@offhook/client';
import type { AgentSummary } from '@offhook/contract/agents.ts';
import type { Board } from '@offhook/contract/boards.ts';
import { formatNumber, formatPercent, formatSpan } from '../app/format.ts';
import { useKept, useTopic } from '../app/live.ts';
import { useSecond } from '../app/now.ts';
import { pauseReasonsQuery } from '../app/queries.ts';
import { Boundary, Loading } from '../app/states.tsx';
import { language, wordsOf } from '../app/words.ts';
import { Agents } from './agents.tsx';
import type { Names } from './agents.tsx';
import { AlarmsContext, createAlarms } from './alarms.ts';
import { Callers } from './callers.tsx';
import { Chart } from './chart.tsx';
import { formulaText } from './metrics.ts';
import { callersOf, countStates, countsOf, countedIn, formulasOf, queuesOn, summaryOf } from './model.ts';
import type { Shown, Summary } from './model.ts';
import { useScale } from './scale.ts';
import { StateBar } from './states.tsx';
import { Tiles } from './tiles.tsx';
import styles from './board.module.css';

const t = wordsOf('wallboard');

type Part = Board['layout']['parts'][number];
/** Parts beside the tiles where there is space. */
const BESIDE: ReadonlySet<Part> = new Set(['callers', 'chart']);

const Longest = ({ since }: { readonly since: number | null }): ReactNode => {
  const second = useSecond();
  return since === null ? '–' : formatSpan(second - Math.floor(since / 1000));
};
function Totals({ summary, states }: { readonly summary: Summary; readonly states: ReactNode }): ReactNode {
  return (
    <section className={styles.totals} aria-label={t('summary')}>
      <dl>
        <div data-total="waiting">
          <dt>{t('waiting')}</dt>
          <dd>{formatNumber(summary.waiting)}</dd>
        </div>
        <div data-total="longest">
          <dt>{t('longest_wait_seconds')}</dt>
          <dd>
            <Longest since={summary.since} />
          </dd>
        </div>
        <div data-total="service_level">
          <dt>{t('service_level')}</dt>
          <dd>{formatPercent(summary.service_level)}</dd>
        </div>
        <div data-total="abandon_rate">
          <dt>{t('abandon_rate')}</dt>
          <dd>{formatPercent(summary.abandon_rate)}</dd>
        </div>
        <div data-total="answered">
          <dt>{t('answered_today')}</dt>
          <dd>{formatNumber(summary.answered)}</dd>
        </div>
      </dl>
      <div className={styles.staff}>{states}</div>
    </section>
  );
}
interface CardProps {
  readonly part: Part;
  readonly title: string;
  readonly children: ReactNode;
}
const Card = ({ part, title, children }: CardProps): ReactNode => (
  <section className={styles.part} data-part={part} aria-label={title}>
    {/* Hidden heading, because the titles of the tiles are of the level below. */}
    <h2 className={part === 'queues' ? styles.hidden : undefined}>{title}</h2>
    <Boundary>{children}</Boundary>
  </section>
);

/**
 * Agents of the board's queues, null for all. Events do not contain the memberships, so they are reloaded when an agent comes or
 * goes, at all or in one of these queues, whose agents `manned` counts.
 */
function useMembers(
  client: Client,
  queues: readonly string[] | null,
  agents: ReadonlyMap<string, AgentSummary>,
  manned: string,
): ReadonlySet<string> | null {
  const staff = [...agents.values()]
    .filter(({ session }) => session === 'logged_in')
    .map((agent) => agent.extension);
  const { data } = useQuery({
    queryKey: ['board-members', staff.join(' '), manned],
    queryFn: ({ signal }) => client.agents.list(signal),
    placeholderData: keepPreviousData,
    // Equal counts can be counts of different agents.
    staleTime: 0,
    enabled: queues !== null,
  });
  return useMemo(() => {
    if (queues === null) return null;
    const wanted = new Set(queues);
    const mine = (data?.agents ?? []).filter((agent) =>
      agent.queues.some(({ queue, member }) => member && wanted.has(queue)),
    );
    return new Set(mine.map(({ extension }) => extension));
  }, [data, queues]);
}
function useNames(client: Client, titles: (queue: string) => string): Names {
  const { data } = useQuery(pauseReasonsQuery(client));
  return useMemo(() => {
    const reasons = new Map((data ?? []).map(({ id, name }) => [id, name]));
    return { reason: (id) => reasons.get(id) ?? id, queue: titles };
  }, [data, titles]);
}
const Kept = (): ReactNode => {
  useKept('calls');
  return null;
};

interface ViewProps {
  readonly client: Client;
  readonly board: Shown;
  /** Fills the screen instead of a page. */
  readonly screen: boolean;
  /** The reader may see the other side of an agent's call. */
  readonly partners: boolean;
  /** The reader receives no other agents: their number is known for each queue only. */
  readonly alone?: boolean;
}
export const BoardView = memo(function BoardView({
  client,
  board,
  screen,
  partners,
  alone = false,
}: ViewProps): ReactNode {
  const [alarms] = useState(createAlarms);
  const queues = useTopic('queues');
  const agents = useTopic('agents');
  const { parts, density } = board.layout;
  // Sorted only when a queue is added, removed or renamed; figures change far more often.
  const seen = [...queues.records.values()].map(({ name, title }) => `${name}\t${title || name}`).join('\n');
  const [names, titleOf] = useMemo(() => {
    const rows = seen === '' ? [] : seen.split('\n').map((row) => row.split('\t') as [string, string]);
    const titles = new Map(rows);
    const found = queuesOn(
      board,
      rows.map(([name, title]) => ({ name, title })),
      language(),
    );
    return [found.map(({ name }) => name), (name: string) => titles.get(name) ?? name] as const;
  }, [board, seen]);
  const formulasNow = formulasOf(queues.records, names);
  const counted = queues.state.stale
    ? null
    : names.reduce((sum, name) => sum + countedIn(queues.records.get(name)), 0);
  const formulaNames = [...formulasNow.keys()].join('\n');
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- the same formulas are the same list: tiles are not drawn for another
  const formulas = useMemo(() => formulasNow, [formulaNames]);
  const manned = names.map((name) => queues.records.get(name)?.stats?.agents.logged_in ?? 0).join(' ');
  const members = useMembers(client, board.queues, agents.records, manned);
  const cards = useNames(client, titleOf);
  const staff = [...agents.records.values()].filter(
    ({ extension }) => members === null || members.has(extension),
  );
  const onlyQueue = names.length === 1 ? (queues.records.get(names[0]!)?.stats ?? null) : null;
  const scale = useScale(
    {
      tiles: parts.includes('queues') ? names.length : 0,
      agents: parts.includes('agents') ? staff.filter(({ state }) => state !== 'logged_out').length : 0,
      side: parts.some((part) => BESIDE.has(part)),
      compact: density === 'compact',
    },
    screen,
  );
  if (!queues.state.ready) return <Loading />;

  const content: Readonly<Record<Part, () => ReactNode>> = {
    queues: () => <Tiles board={board} names={names} formulas={formulas} screen={screen} />,
    callers: () => <Callers callers={callersOf(queues.records, names)} screen={screen} />,
    agents: () => (
      <Agents
        agents={staff}
        names={cards}
        partners={partners}
        compact={density === 'compact'}
        screen={screen}
      />
    ),
    chart: () => <Chart client={client} names={names} title={titleOf} counted={counted} screen={screen} />,
  };
  const placed = (where: (part: Part) => boolean): ReactNode[] =>
    parts.filter(where).map((part) => (
      <Card key={part} part={part} title={t(alone && part === 'agents' ? 'you_part' : `${part}_part`)}>
        {content[part]()}
      </Card>
    ));
  const main = placed((part) => !BESIDE.has(part));
  const side = placed((part) => BESIDE.has(part));
  return (
    <AlarmsContext value={alarms}>
      {partners && parts.includes('agents') && <Kept />}
      <div
        className={styles.board}
        data-screen={screen || undefined}
        data-density={density}
        data-scale={scale === 1 ? undefined : scale}
      >
        <Totals
          summary={summaryOf(queues.records, names)}
          states={
            <>
              {alone && onlyQueue === null && <p className={styles.none}>{t('you_part')}</p>}
              <StateBar
                counts={onlyQueue !== null ? countsOf(onlyQueue) : countStates(staff)}
                empty={t(alone ? 'you_are_out' : 'nobody_in')}
              />
            </>
          }
        />
        <div className={styles.columns} data-columns={main.length > 0 && side.length > 0 ? 2 : 1}>
          {main.length > 0 && <div className={styles.main}>{main}</div>}
          {side.length > 0 && <div className={styles.side}>{side}</div>}
        </div>
        <footer className={styles.formulas}>
          {[...formulas.values()].map((stats, i) => (
            <p key={formulaText(stats)}>
              {formulas.size > 1 && <sup>{i + 1} </sup>}
              <b>{t('service_level')}:</b> {formulaText(stats)}
              {stats.short_abandon_seconds > 0 && (
                <>
                  {' · '}
                  <b>{t('abandon_rate')}:</b> {t('rate_abandoned', { short: stats.short_abandon_seconds })}
                </>
              )}
            </p>
          ))}
        </footer>
      </div>
    </AlarmsContext>
  );
});
