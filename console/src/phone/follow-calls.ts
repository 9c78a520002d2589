/** Which of the exchange's calls the calls of this page are, and who is on the other side by now. */
import type { Client } from '@offhook/client';
import { matchLegs } from './match-legs.ts';
import type { LiveCall } from './match-legs.ts';
import { isUp } from './phone-state.ts';
import type { SipCall } from './sip-call.ts';

/** The calls of this person as the exchange's events tell them. */
export interface LiveCalls {
  readonly now: () => Iterable<LiveCall>;
  /** What is told may not be so any more: the service or the engine is not heard. */
  readonly isStale: () => boolean;
  subscribe(listener: () => void): () => void;
}
interface Looked {
  readonly of: LiveCall | undefined;
  found: LiveCall | null;
}
type Mine = { readonly calls: readonly SipCall[]; readonly endpoint: string } | null;
/** Calls that were asked for; the oldest give way. */
const MOST = 50;

export function followCalls(client: Client, live: LiveCalls, mine: () => Mine) {
  /** Calls that were asked for, as of what the events had told of each. */
  const looked = new Map<string, Looked>();
  function learn(): void {
    const own = mine();
    if (own === null) return;
    const told = new Map([...live.now()].map((call) => [call.call_id, call]));
    for (const [id, { of, found }] of looked) if (found !== null && told.get(id) === of) told.set(id, found);
    const up = own.calls.map((call) => call.shown).filter(isUp);
    const known = matchLegs(up, [...new Set(told.values())], own.endpoint);
    for (const call of own.calls) {
      const matched = known.get(call.id);
      if (matched !== undefined) call.know(matched);
      const id = call.shown.call_id;
      if (isUp(call.shown) && id !== null && (matched?.number ?? '') === '') void lookUp(id);
    }
  }
  /** After a transfer the other side came from a call that was not ours, so no event told of it. */
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
  return { learn, end: live.subscribe(learn) };
}
