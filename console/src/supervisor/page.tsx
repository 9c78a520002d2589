import { useDeferredValue, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { Badge, NativeSelect, Paper, Tabs, TextInput, Title, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ArrowDown, Headset, ListOrdered, PhoneCall, Search, SearchX } from 'lucide-react';
import { useTopic } from '../app/live.ts';
import { formatNumber } from '../app/format.ts';
import { pauseReasonsQuery } from '../app/queries.ts';
import { callerParty } from '../app/queue-names.ts';
import { useClient, useMe } from '../app/session.tsx';
import { Empty, Loading, Read } from '../app/states.tsx';
import { language, wordsOf } from '../app/words.ts';
import { stateWord } from '../wallboard/states.tsx';
import { VirtualList } from '../wallboard/virtual.tsx';
import { AgentRow } from './agents.tsx';
import type { Reason } from './agents.tsx';
import { AskContext } from './ask.ts';
import type { Ask } from './ask.ts';
import { CallRow } from './calls.tsx';
import { Dialogs } from './dialogs.tsx';
import { QueueCard } from './queues.tsx';
import { OwnListening } from './own-listening.tsx';
import { agentsInOrder, holds, isListening, nameOf, sidesOf, statesOf } from './supervise.ts';
import type { AgentOrder } from './supervise.ts';
import styles from './supervisor.module.css';

const t = wordsOf('supervisor');

const NotFound = (): ReactNode => (
  <Empty title={t('nothing_fits')} icon={<SearchX size={36} aria-hidden />} />
);
interface ListProps {
  readonly label: string;
  readonly keys: readonly string[];
  readonly height: number;
  readonly item: (key: string) => ReactNode;
  readonly head: ReactNode;
}
const Rows = ({ label, keys, height, item, head }: ListProps): ReactNode => (
  <Paper withBorder className={styles.paper ?? ''}>
    {head}
    <VirtualList
      label={label}
      count={keys.length}
      columns={1}
      minWidth={1}
      height={height}
      itemKey={(index) => keys[index]!}
      item={(index) => item(keys[index]!)}
      screen={false}
    />
  </Paper>
);

interface SortProps<T extends string> {
  readonly by: T;
  readonly now: T;
  readonly label: string;
  readonly onSort: (by: T) => void;
}
function Sort<T extends string>({ by, now, label, onSort }: SortProps<T>): ReactNode {
  return (
    <button
      type="button"
      className={styles.sort}
      aria-pressed={by === now}
      title={t('sort_by', { column: label })}
      onClick={() => onSort(by)}
    >
      {label}
      <ArrowDown size={14} aria-hidden />
    </button>
  );
}

function Agents({ q }: { readonly q: string }): ReactNode {
  const { records, state } = useTopic('agents');
  const reasons = useQuery(pauseReasonsQuery(useClient()));
  const [by, setBy] = useState<AgentOrder>('state');
  const [chosen, setChosen] = useState('');
  const states = statesOf(records.values());
  // All agents may have left the chosen state.
  const only = states.find((state) => state === chosen);
  const keys = useMemo(
    () =>
      agentsInOrder(records.values(), language(), by)
        .filter(({ state }) => only === undefined || state === only)
        .filter(({ name, extension, queue }) => holds(q, [name, extension, queue]))
        .map(({ extension }) => extension),
    [records, q, by, only],
  );
  if (!state.ready) return <Loading />;
  if (records.size === 0) return <Empty title={t('no_agents')}>{t('no_agents_text')}</Empty>;
  if (keys.length === 0) return <NotFound />;
  const list = (known: readonly Reason[]): ReactNode => (
    <Rows
      label={t('agents')}
      keys={keys}
      height={3.9}
      item={(key) => <AgentRow extension={key} reasons={known} />}
      head={
        <div className={`${styles.head} ${styles.agentRow}`}>
          <Sort by="name" now={by} label={t('agent')} onSort={setBy} />
          <div className={styles.headState}>
            <Sort by="state" now={by} label={t('state')} onSort={setBy} />
            <Sort by="since" now={by} label={t('since')} onSort={setBy} />
          </div>
          <span>{t('call')}</span>
          <NativeSelect
            size="xs"
            aria-label={t('only_state')}
            className={styles.only ?? ''}
            value={only ?? ''}
            onChange={(event) => setChosen(event.currentTarget.value)}
            data={[
              { value: '', label: t('all_states') },
              ...states.map((state) => ({ value: state, label: stateWord(state) })),
            ]}
          />
        </div>
      }
    />
  );
  return <Read of={reasons}>{list}</Read>;
}
function Calls({ q }: { readonly q: string }): ReactNode {
  const { records, state } = useTopic('calls');
  const me = useMe();
  const [by, setBy] = useState<'newest' | 'longest'>('newest');
  const keys = useMemo(
    () =>
      [...records.values()]
        .filter((call) => !isListening(call, me.extension))
        .filter((call) =>
          holds(q, [
            call.dialled,
            ...sidesOf(call).flatMap((side) => [nameOf(side), side.number, side.extension]),
          ]),
        )
        .toSorted((a, b) => (by === 'newest' ? 1 : -1) * b.started_at.localeCompare(a.started_at))
        .map(({ call_id }) => call_id),
    [records, q, me.extension, by],
  );
  if (!state.ready) return <Loading />;
  if (keys.length === 0 && q === '')
    return <Empty title={t('no_calls')} icon={<PhoneCall size={36} aria-hidden />} />;
  if (keys.length === 0) return <NotFound />;
  return (
    <Rows
      label={t('calls')}
      keys={keys}
      height={4}
      item={(key) => <CallRow id={key} />}
      head={
        <div className={`${styles.head} ${styles.callRow}`}>
          <span>{t('parties')}</span>
          <span>{t('state')}</span>
          <div className={styles.headState}>
            <Sort by="newest" now={by} label={t('newest')} onSort={setBy} />
            <Sort by="longest" now={by} label={t('longest')} onSort={setBy} />
          </div>
        </div>
      }
    />
  );
}
function Queues({ q }: { readonly q: string }): ReactNode {
  const { records, state } = useTopic('queues');
  const { compare } = new Intl.Collator(language(), { numeric: true });
  if (!state.ready) return <Loading />;
  if (records.size === 0) return <Empty title={t('no_queues')} />;
  const names = [...records.values()]
    .filter(({ name, title, number, callers }) =>
      holds(q, [name, title, number, ...callers.map(callerParty).flatMap((who) => [who.name, who.number])]),
    )
    .toSorted((a, b) => compare(a.title || a.name, b.title || b.name))
    .map(({ name }) => name);
  if (names.length === 0) return <NotFound />;
  return (
    <div className={styles.queues}>
      {names.map((name) => (
        <QueueCard key={name} name={name} />
      ))}
    </div>
  );
}
const Count = ({ n }: { readonly n: number }): ReactNode =>
  n === 0 ? null : (
    <Badge variant="default" size="sm" ml={6} tt="none">
      {formatNumber(n)}
    </Badge>
  );
export function SupervisorPage(): ReactNode {
  const [tab, setTab] = useState('agents');
  const [text, setText] = useState('');
  const q = useDeferredValue(text);
  const [ask, setAsk] = useState<Ask | null>(null);
  const agents = useTopic('agents').records;
  const calls = useTopic('calls').records;
  const queues = useTopic('queues').records;
  const me = useMe();
  const going = [...calls.values()].filter((call) => !isListening(call, me.extension)).length;
  const waiting = [...queues.values()].reduce((sum, { callers }) => sum + callers.length, 0);
  const inside = [...agents.values()].filter(({ session }) => session === 'logged_in').length;
  return (
    <AskContext.Provider value={setAsk}>
      <VisuallyHidden>
        <Title order={1}>{t('title')}</Title>
      </VisuallyHidden>
      <Tabs
        value={tab}
        onChange={(next) => setTab(next ?? 'agents')}
        keepMounted={false}
        className={styles.page ?? ''}
      >
        <div className={styles.tools}>
          <Tabs.List className={styles.tabs ?? ''}>
            <Tabs.Tab value="agents" leftSection={<Headset size={18} aria-hidden />}>
              {t('agents')}
              <Count n={inside} />
            </Tabs.Tab>
            <Tabs.Tab value="calls" leftSection={<PhoneCall size={18} aria-hidden />}>
              {t('calls')}
              <Count n={going} />
            </Tabs.Tab>
            <Tabs.Tab value="queues" leftSection={<ListOrdered size={18} aria-hidden />}>
              {t('queues')}
              <Count n={waiting} />
            </Tabs.Tab>
          </Tabs.List>
          <TextInput
            type="search"
            className={styles.search ?? ''}
            aria-label={t('search_label')}
            placeholder={t('search')}
            leftSection={<Search size={18} aria-hidden />}
            value={text}
            maxLength={64}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </div>
        <OwnListening />
        <Tabs.Panel value="agents">
          <Agents q={q} />
        </Tabs.Panel>
        <Tabs.Panel value="calls">
          <Calls q={q} />
        </Tabs.Panel>
        <Tabs.Panel value="queues">
          <Queues q={q} />
        </Tabs.Panel>
      </Tabs>
      <Dialogs ask={ask} onClose={() => setAsk(null)} />
    </AskContext.Provider>
  );
}
