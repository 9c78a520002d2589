/** The screen pop: the other side, the earlier conversations, the call's buttons, and its notes. */
import { Suspense, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import { Badge, Button, Group, Paper, Text, Title } from '@mantine/core';
import { ArrowDownLeft, ArrowUpRight, PhoneMissed, PhoneOff } from 'lucide-react';
import { OffhookError } from '@offhook/client';
import type { CallState, QueueState } from '@offhook/client';
import type { Agent } from '@offhook/contract/agents.ts';
import { formatSpan, formatTime } from '../app/format.ts';
import { useSince } from '../app/now.ts';
import { Failure, Loading } from '../app/states.tsx';
import { RecordingSign } from '../phone/extras.tsx';
import { CallControls } from './call-controls.tsx';
import { CrmLink } from './crm-panel.tsx';
import { MyCalls } from './my-calls.tsx';
import { NotesPanel, UnsentNotes, isHalfWritten } from './notes-panel.tsx';
import { useConversation, useShownCall } from './use-desk.ts';
import type { Conversation } from './use-desk.ts';
import { endingOf, otherParty, ownLeg, vainEndOf } from './view.ts';
import type { Ending, OwnCall, Party } from './view.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';
import { late } from '../app/late.tsx';

const dispositionWord = wordsOf('dispositions');
const t = wordsOf('desk');

const CustomerCard = late(async () => (await import('../customers/card.tsx')).CustomerCard);
const HistoryPanel = late(async () => (await import('./history-panel.tsx')).HistoryPanel);

const lastKey = (extension: string): string => `offhook.desk.last.${extension}`;
/** The last call stays on the desk, so that its notes can be finished. */
function useFocus(agent: Agent, call: CallState | undefined): string | null {
  const [last, setLast] = useState(() => localStorage.getItem(lastKey(agent.extension)));
  const now = call?.call_id ?? agent.call_id;
  useEffect(() => {
    if (now === null) return;
    localStorage.setItem(lastKey(agent.extension), now);
    setLast(now);
  }, [now, agent.extension]);
  return now ?? last;
}

/** The last call of the desk may have been erased since, which is no failure. */
const Unread = ({ of: { error, refetch } }: { readonly of: ReturnType<typeof useConversation> }): ReactNode =>
  error === null || (error instanceof OffhookError && error.code === 'not_found') ? null : (
    <Failure error={error} onRetry={() => void refetch()} />
  );

/** A note being written stays in its field while calls come and go. */
interface Written {
  readonly id: string;
  readonly who: string;
}
/** Calls `onLeft` once the focus moves elsewhere in this page; a change of the window does not count. */
function useLeft(area: RefObject<HTMLElement | null>, on: boolean, onLeft: () => void): void {
  const now = useRef(onLeft);
  now.current = onLeft;
  useEffect(() => {
    if (!on) return;
    const look = (): void =>
      queueMicrotask(() => {
        if (area.current?.contains(document.activeElement) !== true) now.current();
      });
    const kinds = ['focusin', 'focusout', 'pointerup'];
    for (const kind of kinds) document.addEventListener(kind, look);
    return () => {
      for (const kind of kinds) document.removeEventListener(kind, look);
    };
  }, [area, on]);
}

/** The furthest state of the person's leg that this page saw in each call. */
function useSeen(own: readonly OwnCall[]): ReadonlyMap<string, 'ringing' | 'talked'> {
  const seen = useRef(new Map<string, 'ringing' | 'talked'>());
  for (const { call, state } of own) {
    if (state !== 'ringing') seen.current.set(call.call_id, 'talked');
    else if (!seen.current.has(call.call_id)) seen.current.set(call.call_id, 'ringing');
  }
  return seen.current;
}

/** Ids of calls that began while this page was open. */
function useBegun(own: readonly OwnCall[], agent: Agent): ReadonlySet<string> {
  const begun = useRef(new Set<string>());
  for (const { call } of own) begun.current.add(call.call_id);
  // The agent's record has the call before the phone rings.
  if (agent.call_id !== null) begun.current.add(agent.call_id);
  return begun.current;
}

interface CallPanelProps {
  readonly agent: Agent;
  readonly queues: ReadonlyMap<string, QueueState>;
}
export function CallPanel({ agent, queues }: CallPanelProps): ReactNode {
  const mine = useShownCall(agent.extension);
  const { shown } = mine;
  const seen = useSeen(mine.own);
  const call = shown?.call;
  const focus = useFocus(agent, call);
  const [chosen, setChosen] = useState<string | null>(null);
  const id = chosen ?? focus;
  const begun = useBegun(mine.own, agent);
  const read = useConversation(id, begun);
  const conversation = read.data;
  const live = call !== undefined && call.call_id === id ? call : undefined;
  const notes = useRef<HTMLDivElement>(null);
  const [written, setWritten] = useState<Written | null>(null);
  useLeft(notes, written !== null, () => setWritten(null));
  const [about, setAbout] = useState(id);
  /** Tag of the focused field, whose counterpart for the next call receives the focus. */
  const into = useRef<string | null>(null);
  if (about !== id) {
    setAbout(id);
    // An empty field changes to the next call; an unsaved text stays.
    if (written !== null && !isHalfWritten(agent.extension, written.id)) {
      const field = notes.current?.querySelector('textarea:focus, input:focus');
      into.current = field?.tagName.toLowerCase() ?? null;
      setWritten(null);
    }
  }
  useLayoutEffect(() => {
    if (into.current !== null) notes.current?.querySelector<HTMLElement>(into.current)?.focus();
    into.current = null;
  }, [about]);
  if (id === null) return <NoCall />;
  const party = partyOf(agent, live, conversation);
  const queue = queueOf(agent, live, conversation, queues);
  const title = queue === null ? null : queues.get(queue)?.title || queue;
  const who = party.name || party.number || t('unknown_caller');
  const noted = written?.id ?? id;
  // The offer is published before the phone rings.
  const over = live === undefined && (agent.call_id === null || agent.engagement === 'wrap_up');
  const ending = over ? endingOf(conversation?.legs ?? [], agent.extension, seen.get(id)) : null;
  // Without a talk, only a begun note can be finished.
  const noNote =
    (ending === 'missed' || ending === 'elsewhere') &&
    written === null &&
    !isHalfWritten(agent.extension, id);
  return (
    <>
      <Paper
        withBorder
        component="section"
        aria-labelledby="desk-call"
        className={styles.call}
        data-live={live !== undefined || undefined}
      >
        <CallHead
          agent={agent}
          call={live}
          conversation={conversation}
          party={party}
          queue={title}
          queues={queues}
          ending={ending}
        />
        {live !== undefined && shown !== undefined && (
          <CallControls key={live.call_id} agent={agent} one={shown} settling={mine.settling} />
        )}
        {/* Below the buttons, which must not move when a recording begins or another call rings. */}
        {live !== undefined && (
          <RecordingSign call={live} own={shown?.state === 'talking' || shown?.state === 'held'} />
        )}
        {mine.own.length > 1 && <MyCalls extension={agent.extension} calls={mine} />}
        <Customers key={`customer ${id}`} party={party} />
        <CrmLink
          key={`crm ${id}`}
          callId={id}
          answered={agent.state === 'talking' && live !== undefined && live.call_id === agent.call_id}
          values={{ ...party, conversation: conversation?.id ?? id, queue: queue ?? '' }}
          page={live?.customer?.url}
        />
        {chosen !== null && (
          <Button variant="default" onClick={() => setChosen(null)}>
            {t('back_to_call')}
          </Button>
        )}
      </Paper>
      <Unread of={read} />
      <UnsentNotes shown={noted} onChoose={setChosen} />
      <div className={styles.about}>
        {!noNote && (
          <div ref={notes} onFocus={() => setWritten((before) => before ?? { id, who })}>
            <NotesPanel
              key={`notes ${noted}`}
              id={noted}
              conversation={noted === id ? conversation : undefined}
              begun={begun}
              other={noted === id ? null : (written?.who ?? null)}
              onLeave={() => setWritten(null)}
            />
          </div>
        )}
        <Suspense fallback={<Loading />}>
          <HistoryPanel
            number={party.number}
            known={live !== undefined || conversation !== undefined}
            without={conversation?.id ?? id}
          />
        </Suspense>
      </div>
    </>
  );
}
/** Below the buttons, so that they stay in their place when the customer arrives. */
const Customers = ({ party }: { readonly party: Party }): ReactNode => (
  <Suspense>
    <CustomerCard number={party.number} name={party.name} />
  </Suspense>
);
const NoCall = (): ReactNode => (
  <Paper withBorder component="section" aria-labelledby="desk-call" className={styles.noCall}>
    <PhoneOff size={28} aria-hidden />
    <Title order={2} size="h4" id="desk-call">
      {t('no_call')}
    </Title>
  </Paper>
);
function partyOf(agent: Agent, call: CallState | undefined, conversation: Conversation | undefined): Party {
  if (call !== undefined) return otherParty(call, agent.extension);
  if (conversation === undefined) return { number: '', name: '' };
  const { caller, parties, dialled } = conversation;
  if (caller !== null && caller.extension !== agent.extension) return caller;
  return parties.find((one) => one.extension !== agent.extension) ?? { number: dialled, name: '' };
}
function queueOf(
  agent: Agent,
  call: CallState | undefined,
  conversation: Conversation | undefined,
  queues: ReadonlyMap<string, QueueState>,
): string | null {
  if (call !== undefined && agent.call_id === call.call_id && agent.queue !== null) return agent.queue;
  const waits = [...queues.values()].find((queue) => queue.callers.some((c) => c.call_id === call?.call_id));
  return waits?.name ?? conversation?.queues.at(-1) ?? null;
}

interface CallHeadProps extends CallPanelProps {
  readonly call: CallState | undefined;
  readonly conversation: Conversation | undefined;
  readonly party: Party;
  readonly queue: string | null;
  /** Null while the call lasts. */
  readonly ending: Ending | null;
}
const endingWord = (ending: Ending): string => {
  if (ending === 'talked') return t('last_call');
  return dispositionWord(ending === 'missed' ? 'disposition_missed' : 'leg_answered_elsewhere');
};
const LEG_WORDS = {
  calling: 'calling',
  ringing: 'rings',
  connected: 'talking',
  held: 'held',
  parked: 'held',
} as const;
function CallHead({ agent, call, conversation, party, queue, queues, ending }: CallHeadProps): ReactNode {
  const leg = call === undefined ? undefined : ownLeg(call, agent.extension);
  const held = leg?.held === true;
  // The person's time in the call; while on hold, the time on hold.
  const shown = useSince(leg?.state === 'ringing' ? null : held ? leg?.since : leg?.answered_at);
  const joined = [...queues.values()]
    .flatMap((one) => one.callers)
    .find((caller) => caller.call_id === call?.call_id)?.joined_at;
  const waiting = useSince(joined);
  const visit = conversation?.queue_visits.at(-1);
  const vain = ending === null || conversation === undefined ? null : vainEndOf(conversation);
  const waited = waiting ?? visit?.wait_time ?? null;
  const outgoing =
    call === undefined
      ? conversation?.caller?.extension === agent.extension
      : call.legs[0]?.extension === agent.extension;
  const Sign = ending === 'missed' ? PhoneMissed : outgoing ? ArrowUpRight : ArrowDownLeft;
  return (
    <div className={styles.callHead}>
      <div className={styles.shrink}>
        <Group gap={6} c="dimmed">
          <Sign size={16} aria-hidden />
          <Title order={2} size="sm" fw={600} id="desk-call">
            {ending === null ? t('call') : endingWord(ending)} · {t(outgoing ? 'outgoing' : 'incoming')}
            {ending !== null && conversation !== undefined && ` · ${formatTime(conversation.started_at)}`}
          </Title>
        </Group>
        <Text component="p" className={styles.party} data-testid="party" dir="auto">
          {party.name || party.number || t('unknown_caller')}
        </Text>
        <Group gap="xs">
          {party.name !== '' && party.number !== '' && <Text className={styles.number}>{party.number}</Text>}
          {queue !== null && (
            <Badge variant="light" tt="none" size="lg">
              {queue}
            </Badge>
          )}
          {waited !== null && (
            <Text size="sm" c="dimmed">
              {t('waited', { span: formatSpan(waited) })}
            </Text>
          )}
          {vain !== null && (
            <Badge variant="light" tt="none" size="lg">
              {dispositionWord(`leg_${vain}`)}
            </Badge>
          )}
          {conversation?.outcome != null && (
            <Badge variant="outline" tt="none" size="lg">
              {t('outcome_is', { code: conversation.outcome.code })}
            </Badge>
          )}
        </Group>
      </div>
      {leg !== undefined && (
        <div className={styles.callState} data-state={leg.state}>
          <Text fw={650}>{t(LEG_WORDS[held ? 'held' : leg.state])}</Text>
          {shown !== null && <span className={styles.callTime}>{formatSpan(shown)}</span>}
        </div>
      )}
    </div>
  );
}
