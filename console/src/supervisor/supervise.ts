/** Data and actions of a supervisor's lists; pure. */
import type { AgentSummary } from '@offhook/contract/agents.ts';
import type { CallState, LegState, QueueState } from '@offhook/client';
import type { QueueCaller } from '@offhook/contract/queues.ts';
import { fold } from '@offhook/contract/search.ts';

/** A party of a call, listed once for any number of its devices. */
export interface Side {
  readonly leg_id: string;
  readonly extension: string | null;
  readonly number: string;
  readonly name: string;
  readonly talks: boolean;
  readonly held: boolean;
}
const TALKS: ReadonlySet<LegState['state']> = new Set(['connected', 'held']);
export function sidesOf(call: CallState): Side[] {
  const sides = new Map<string, Side>();
  const outside = call.legs.find(({ extension }) => extension === null);
  for (const leg of call.legs) {
    const { leg_id, extension, number, held, state } = leg;
    const name = (leg === outside ? call.customer?.name : undefined) ?? leg.name;
    const key = extension ?? leg_id;
    const talks = TALKS.has(state);
    const known = sides.get(key);
    if (known === undefined || (talks && !known.talks)) {
      sides.set(key, { leg_id, extension, number, name, talks, held });
    }
  }
  return [...sides.values()];
}
/** Name of a party; its number without one. */
export const nameOf = ({ name, number }: { readonly name: string; readonly number: string }): string =>
  name === '' ? number : name;
export type CallWord = 'waiting' | 'ringing' | 'talking' | 'on_hold' | 'parked' | 'listening';
/** `queues`: a caller waits in one of them while no agent's phone rings. */
export function callWord(call: CallState, queues: Iterable<QueueState>): CallWord {
  const { answered_at, call_id, legs, placed } = call;
  if (placed === 'listen') return 'listening';
  if (legs.some(({ slot }) => slot !== null)) return 'parked';
  if (answered_at === null) {
    const rings = legs.some(({ state }) => state === 'ringing');
    return !rings && waitsIn(call_id, queues) !== undefined ? 'waiting' : 'ringing';
  }
  return legs.some(({ held }) => held) ? 'on_hold' : 'talking';
}
const waitsIn = (id: string, queues: Iterable<QueueState>): QueueState | undefined =>
  [...queues].find(({ callers }) => callers.some(({ call_id }) => call_id === id));
/** Queue in which a call waits, rings agents, or was answered; null for other calls. */
export const queueOf = (
  id: string,
  queues: Iterable<QueueState>,
  agents: Iterable<AgentSummary>,
): string | null =>
  waitsIn(id, queues)?.name ??
  [...agents].find(({ call_id, queue }) => call_id === id && queue !== null)?.queue ??
  null;
/** True for the own call with which a supervisor listens to another call. */
export const isListening = ({ placed, legs }: CallState, own: string): boolean =>
  placed === 'listen' && legs.some(({ extension }) => extension === own);
/** The call and party that a listening call listens to. */
export function listenedTo(
  own: CallState,
  calls: Iterable<CallState>,
  me: string,
  known?: string,
): { readonly call_id: string; readonly side: Side } | null {
  const found = [...calls].flatMap((call) =>
    call.call_id === own.call_id || call.placed === 'listen'
      ? []
      : sidesOf(call)
          .filter((one) => one.talks && one.extension === own.dialled && one.extension !== me)
          .map((side) => ({ call_id: call.call_id, side })),
  );
  // Of two calls of the same person, the known one, else the one not held.
  return (
    found.find(({ call_id }) => call_id === known) ?? found.find(({ side }) => !side.held) ?? found[0] ?? null
  );
}
/** Time beside the word of a call: the start of its hold, else its answer or start. */
export const timeOf = (call: CallState): string =>
  call.legs.find(({ held }) => held)?.since ?? call.answered_at ?? call.started_at;
/** True if another person of the site talks in the call and can be listened to; nobody listens to an own call. */
export const canListen = (call: CallState, own: string): boolean =>
  call.answered_at !== null &&
  call.legs.every(({ extension }) => extension !== own) &&
  sidesOf(call).some((side) => side.talks && side.extension !== null);

const ORDER: readonly AgentSummary['state'][] = [
  'not_responding',
  'talking',
  'held',
  'offered',
  'wrap_up',
  'busy_other',
  'available',
  'not_ready',
  'unreachable',
  'logged_out',
];
/** `state`: most urgent first. `since`: longest in its state first. */
export type AgentOrder = 'state' | 'name' | 'since';
/** Equal entries are ordered by name. */
export function agentsInOrder(
  agents: Iterable<AgentSummary>,
  lang: string,
  by: AgentOrder = 'state',
): AgentSummary[] {
  const { compare } = new Intl.Collator(lang, { numeric: true, sensitivity: 'base' });
  const byName = (a: AgentSummary, b: AgentSummary): number =>
    compare(a.name, b.name) || compare(a.extension, b.extension);
  const orders: Readonly<Record<AgentOrder, typeof byName>> = {
    state: (a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state),
    name: () => 0,
    since: (a, b) => Date.parse(a.since) - Date.parse(b.since),
  };
  return [...agents].sort((a, b) => orders[by](a, b) || byName(a, b));
}
/** Present states, in the order of the list. */
export const statesOf = (agents: Iterable<AgentSummary>): AgentSummary['state'][] => {
  const seen = new Set([...agents].map(({ state }) => state));
  return ORDER.filter((state) => seen.has(state));
};
/** Every word of `q` is somewhere in the texts. */
export function holds(q: string, texts: readonly (string | null)[]): boolean {
  const text = texts.map((one) => fold(one ?? '')).join('\n');
  return fold(q)
    .split(' ')
    .every((word) => text.includes(word));
}

/** Position of a caller among those of the same priority; only this position can be changed. */
export interface Place {
  /** From 1. */
  readonly at: number;
  readonly of: number;
}
export function placeOf(callers: readonly QueueCaller[], caller: QueueCaller): Place {
  const same = callers.filter(({ priority }) => (priority ?? 0) === (caller.priority ?? 0));
  return { at: same.findIndex(({ id }) => id === caller.id) + 1, of: same.length };
}
