/**
 * Limits everything sent to a display to its wallboard, and agents sent to an API key to its queues; shared by REST and
 * every transport of events.
 */
import type { Agent, AgentSummary } from '@offhook/contract/agents.ts';
import type { EventType } from '@offhook/contract/events.ts';
import type { Queue } from '@offhook/contract/queues.ts';
import { nounOf } from './topics.ts';
import { reaches } from './rights.ts';
import type { CallersShown, Objects, Principal } from './rights.ts';

/** Filter for events of a display or a limited key. Readers with equal filters share frames. */
export interface Cut {
  readonly queues: Objects;
  readonly callers: CallersShown;
  /** True for a key that is not a display: calls of its extensions keep their queue. */
  readonly agents_only?: true;
}
/** A reply, or a snapshot of a topic. */
interface State {
  readonly queues?: readonly Queue[];
  readonly queue?: Queue;
  readonly agents?: readonly Agent[];
  readonly agent?: Agent;
}
type Party = Queue['callers'][number]['caller'];

/** Null for a principal that is neither a display nor a key limited to some queues. */
export function cutOf({ key }: Principal): Cut | null {
  if (key?.board !== undefined) return { queues: key.queues, callers: key.board.callers };
  return key === null || key.queues === null
    ? null
    : { queues: key.queues, callers: 'full', agents_only: true };
}

/** Last digits of a number, for a wall that passers-by can read: `•••678`. */
export const lastDigits = (number: string): string =>
  number.length <= 3 ? number : `${'•'.repeat(Math.min(3, number.length - 3))}${number.slice(-3)}`;

function partyFor({ callers }: Cut, party: Party): Party {
  if (callers === 'full') return party;
  return { number: callers === 'none' ? '' : lastDigits(party.number), name: '' };
}
/** Only a display with `full` callers shows customers. */
function withoutCustomer<T extends { readonly customer?: unknown }>(
  { callers }: Cut,
  data: T,
): Omit<T, 'customer'> | T {
  const { customer: _customer, ...rest } = data;
  return callers === 'full' ? data : rest;
}
const queueFor = (cut: Cut, queue: Queue): Queue => ({
  ...queue,
  callers: queue.callers.map((one) => ({
    ...withoutCustomer(cut, one),
    caller: partyFor(cut, one.caller),
  })),
});
/** Keeps the agent's state; hides its queue, call and offer if the queue is not in the filter. */
const summaryFor = <A extends AgentSummary>({ queues }: Cut, agent: A): A =>
  agent.queue !== null && reaches(queues, agent.queue)
    ? agent
    : { ...agent, queue: null, call_id: null, offer_id: null };
const agentFor = (cut: Cut, agent: Agent): Agent => ({
  ...summaryFor(cut, agent),
  queues: agent.queues.filter(({ queue }) => reaches(cut.queues, queue)),
});
/** A reply or snapshot with queues or agents, filtered. */
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
/** The state that this principal receives; unchanged unless `cutOf` has a filter for it. */
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
  readonly customer?: unknown;
}
/**
 * Filters `data` of an event: fields about a queue that is not in the filter become empty. Events are never dropped,
 * because each names the event before it.
 */
export function cutEvent(cut: Cut, data: EventFields): EventFields {
  const { agent, caller, queue } = data;
  const beyond = typeof queue === 'string' && !reaches(cut.queues, queue);
  return {
    ...withoutCustomer(cut, data),
    ...(beyond ? { queue: '' } : {}),
    ...(beyond && typeof data.call_id === 'string' ? { call_id: '' } : {}),
    ...(beyond && data.offer_id !== undefined ? { offer_id: '' } : {}),
    ...(agent === undefined ? {} : { agent: summaryFor(cut, agent) }),
    ...(caller === undefined ? {} : { caller: partyFor(cut, caller) }),
  };
}
/** The JSON of an envelope with its `data` filtered. */
export function cutEnvelope(cut: Cut, json: string): string {
  const envelope = JSON.parse(json) as { readonly type: EventType; readonly data: EventFields };
  if (cut.agents_only === true && nounOf(envelope.type) !== 'agent') return json;
  return JSON.stringify({ ...envelope, data: cutEvent(cut, envelope.data) });
}
