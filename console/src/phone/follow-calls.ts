/** Matches the calls of this page with those of the exchange, and follows their other side. */
import type { Client, StreamEvent } from '@offhook/client';
import { isTaken, matchLegs } from './match-legs.ts';
import type { LiveCall, Matched } from './match-legs.ts';
import { isLive, isUp } from './phone-state.ts';
import type { SipCall } from './sip-call.ts';

/** The calls of this person by the events of the exchange. */
export interface LiveCalls {
  readonly now: () => Iterable<LiveCall>;
  /** The state may be outdated: the service or the engine is away. */
  readonly isStale: () => boolean;
  subscribe(listener: () => void): () => void;
  onEvent(listener: (event: StreamEvent) => void): () => void;
}
export type LeftReason = Extract<StreamEvent, { type: 'call.left' }>['data']['reason'];
interface Looked {
  readonly of: LiveCall | undefined;
  found: LiveCall | null;
}
type Mine = { readonly calls: readonly SipCall[]; readonly endpoint: string } | null;
type Contacts = Awaited<ReturnType<Client['contacts']>>;
/** Number of remembered calls; the oldest are dropped. */
const MOST = 50;

export function followCalls(client: Client, live: LiveCalls, mine: () => Mine) {
  /** Calls read over the API, each with the state by events at the time of the read. */
  const looked = new Map<string, Looked>();
  /** Names of dialled numbers without a leg yet. */
  const names = new Map<string, string>();
  /** Reasons why rings of this phone ended, by leg, from `call.left`; the oldest are dropped. */
  const left = new Map<string, LeftReason>();
  function learn(): void {
    const own = mine();
    if (own === null) return;
    const byId = new Map([...live.now()].map((call) => [call.call_id, call]));
    for (const [id, { of, found }] of looked) if (found !== null && byId.get(id) === of) byId.set(id, found);
    const alive = own.calls.map((call) => call.shown).filter(isLive);
    const known = matchLegs(alive, [...new Set(byId.values())], own.endpoint);
    for (const call of own.calls) {
      const matched = known.get(call.id);
      if (matched !== undefined) call.know({ ...matched, name: matched.name || nameOf(matched) });
      const over = isLive(call.shown) ? undefined : byId.get(call.shown.call_id ?? '');
      const reason = left.get(call.shown.leg_id ?? '');
      if (reason !== undefined) call.rangOut(reason);
      // Until `call.left` of the own leg arrives, the legs of the call show whether another device answered.
      else if (over !== undefined && isTaken(over, own.endpoint)) call.taken();
      const id = call.shown.call_id;
      if (isUp(call.shown) && id !== null && (matched?.number ?? '') === '') void lookUp(id);
    }
  }
  function nameOf({ placed, number }: Matched): string {
    if (placed === null || number === '') return '';
    const known = names.get(number);
    if (known !== undefined) return known;
    names.set(number, '');
    const learnt = ({ contacts }: Contacts): void => {
      names.set(number, contacts.find((contact) => contact.extension === number)?.name ?? '');
      learn();
    };
    // After a failure the number is shown, and the next call looks it up again.
    client.contacts({ q: number }).then(learnt, () => names.delete(number));
    return '';
  }
  /** After a transfer the other side came from a call of which this person received no events. */
  async function lookUp(id: string): Promise<void> {
    const of = [...live.now()].find((call) => call.call_id === id);
    const before = looked.get(id);
    if (before !== undefined && before.of === of) return;
    const entry: Looked = { of, found: null };
    looked.delete(id);
    looked.set(id, entry);
    const [oldest] = looked.keys();
    if (looked.size > MOST && oldest !== undefined) looked.delete(oldest);
    const reply = await client.calls.get(id).catch(() => null);
    entry.found = reply?.call ?? null;
    if (entry.found !== null) learn();
  }
  const ends = [
    live.onEvent((event) => {
      if (event.type !== 'call.left' || event.data.leg.endpoint !== mine()?.endpoint) return;
      left.set(event.data.leg.leg_id, event.data.reason);
      const [oldest] = left.keys();
      if (left.size > MOST && oldest !== undefined) left.delete(oldest);
    }),
    live.subscribe(learn),
  ];
  return { learn, end: () => ends.forEach((end) => end()) };
}
