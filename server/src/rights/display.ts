/** What a display on the wall is told: of its board, and nothing else. One place for REST and every transport of the stream. */
import type { Agent, AgentSummary } from '@offhook/contract/agents.ts';
import type { Queue } from '@offhook/contract/queues.ts';
import { reaches } from './rights.ts';
import type { CallersShown, Objects, Principal } from './rights.ts';

/** What is cut out of all that a display is sent; displays with the same cut are sent the same bytes. */
export interface Cut {
  readonly queues: Objects;
  readonly callers: CallersShown;
}
/** A reply, or a snapshot of a topic. */
interface State {
  readonly queues?: readonly Queue[];
  readonly queue?: Queue;
  readonly agents?: readonly Agent[];
  readonly agent?: Agent;
}
type Party = Queue['callers'][number]['caller'];

/** Null for everybody who is no display. */
export const cutOf = ({ key }: Principal): Cut | null =>
  key?.board === undefined ? null : { queues: key.queues, callers: key.board.callers };

/** The last digits of a number, for a wall that passers-by can read: `•••678`. */
export const lastDigits = (number: string): string =>
  number.length <= 3 ? number : `${'•'.repeat(Math.min(3, number.length - 3))}${number.slice(-3)}`;

function partyFor({ callers }: Cut, party: Party): Party {
  if (callers === 'full') return party;
  return { number: callers === 'none' ? '' : lastDigits(party.number), name: '' };
}
const queueFor = (cut: Cut, queue: Queue): Queue => ({
  ...queue,
  callers: queue.callers.map((one) => ({ ...one, caller: partyFor(cut, one.caller) })),
});
/** What it does stays; for which queue and in which call only where that is the board's. */
const summaryFor = <A extends AgentSummary>({ queues }: Cut, agent: A): A =>
  agent.queue !== null && reaches(queues, agent.queue)
    ? agent
    : { ...agent, queue: null, call_id: null, offer_id: null };
const agentFor = (cut: Cut, agent: Agent): Agent => ({
  ...summaryFor(cut, agent),
  queues: agent.queues.filter(({ queue }) => reaches(cut.queues, queue)),
});
/** A reply or snapshot with queues or agents, as a display is shown it. */
export function cutState<S extends State>(cut: Cut, state: S): S {
  const { queues, queue, agents, agent } = state;
  return {
    ...state,
    ...(queues === undefined ? {} : { queues: queues.map((one) => queueFor(cut, one)) }),
    ...(queue === undefined ? {} : { queue: queueFor(cut, queue) }),
    ...(agents === undefined ? {} : { agents: agents.map((one) => agentFor(cut, one)) }),
    ...(agent === undefined ? {} : { agent: agentFor(cut, agent) }),
  };
}
/** The same for who asks, whoever it is. */
export function shownTo<S extends State>(who: Principal, state: S): S {
  const cut = cutOf(who);
  return cut === null ? state : cutState(cut, state);
}

interface EventFields {
  readonly agent?: AgentSummary;
  readonly caller?: Party;
  readonly queue?: string | null;
  readonly call_id?: string | null;
  readonly offer_id?: string;
}
/** `data` of an event. It is never left out, because each event names the one before it: what is not of the board is empty. */
export function cutEvent(cut: Cut, data: EventFields): EventFields {
  const { agent, caller, queue } = data;
  const beyond = typeof queue === 'string' && !reaches(cut.queues, queue);
  return {
    ...data,
    ...(beyond ? { queue: '' } : {}),
    ...(beyond && typeof data.call_id === 'string' ? { call_id: '' } : {}),
    ...(beyond && data.offer_id !== undefined ? { offer_id: '' } : {}),
    ...(agent === undefined ? {} : { agent: summaryFor(cut, agent) }),
    ...(caller === undefined ? {} : { caller: partyFor(cut, caller) }),
  };
}
