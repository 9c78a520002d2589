/** State of each trunk, from the answers to OPTIONS and from registrations. */
import type { TrunkChange } from '@offhook/contract/trunks.ts';
import { rfc3339 } from '../core/clock.ts';
import type { EngineEventOf, EngineSnapshot, EngineTrunk } from '../ports/engine.ts';
import type { LiveTrunk } from '../ports/live.ts';
import { emit } from './state.ts';
import type { State, Turn } from './state.ts';

type Verdict = Pick<LiveTrunk, 'state' | 'reason'>;

/** Null while the engine has not said enough, for example before the first registration. */
function verdictOf({ reachable, registration }: EngineTrunk, registers: boolean): Verdict | null {
  if (reachable === false) return { state: 'unreachable', reason: 'no_answer' };
  if (reachable === null) return null;
  if (!registers) return { state: 'reachable', reason: null };
  if (registration?.state === 'registered') return { state: 'registered', reason: null };
  if (registration?.state === 'rejected') return { state: 'rejected', reason: 'registration_failed' };
  return null;
}

function refreshTrunk(s: State, t: Turn, endpoint: string): void {
  const trunk = s.site.trunks.get(endpoint);
  const facts = s.trunkFacts.get(endpoint);
  if (trunk === undefined || facts === undefined) return;
  const verdict = verdictOf(facts, trunk.registers);
  if (verdict === null) return;
  const { name, title } = trunk;
  const published = s.publishedTrunks.get(name);
  const before = s.trunks.get(name);
  const { round_trip_ms } = facts;
  if (before !== undefined && before.state === verdict.state && before.reason === verdict.reason) {
    if (before.round_trip_ms !== round_trip_ms) s.trunks.set(name, { ...before, round_trip_ms });
    return;
  }
  const unchanged = published?.state === verdict.state && published.reason === verdict.reason;
  const since = unchanged ? Date.parse(published.since) : t.at;
  s.trunks.set(name, { name, ...verdict, round_trip_ms, since });
  if (unchanged) return;
  const data: TrunkChange = { trunk: name, title, ...verdict, since: rfc3339(since), round_trip_ms };
  s.publishedTrunks.set(name, data);
  emit(t, verdict.reason === null ? 'trunk.up' : 'trunk.down', `trunks/${name}`, data);
}

export function trunkContact(s: State, t: Turn, event: EngineEventOf<'trunk.contact'>): void {
  const { endpoint, reachable, round_trip_ms } = event;
  const before = s.trunkFacts.get(endpoint);
  // A registration that failed for lack of an answer is tried again once the far side is back.
  const again = before?.reachable === false && reachable && before.registration?.state === 'rejected';
  const registration = again
    ? { ...before.registration!, state: 'pending' as const }
    : (before?.registration ?? null);
  s.trunkFacts.set(endpoint, { endpoint, reachable, round_trip_ms, registration });
  refreshTrunk(s, t, endpoint);
}

/** The engine names a registration by its address, which two trunks may share. */
export function trunkRegistration(s: State, t: Turn, event: EngineEventOf<'trunk.registration'>): void {
  for (const facts of s.trunkFacts.values()) {
    if (facts.registration?.uri !== event.uri) continue;
    s.trunkFacts.set(facts.endpoint, { ...facts, registration: { uri: event.uri, state: event.state } });
    refreshTrunk(s, t, facts.endpoint);
  }
}

export function seeTrunks(s: State, t: Turn, trunks: EngineSnapshot['trunks']): void {
  if (trunks === undefined) return;
  const present = new Set(trunks.map(({ endpoint }) => endpoint));
  for (const endpoint of s.trunkFacts.keys()) if (!present.has(endpoint)) s.trunkFacts.delete(endpoint);
  for (const row of trunks) {
    const before = s.trunkFacts.get(row.endpoint);
    // The engine lists the old failure until its next attempt.
    const waits = before?.registration?.state === 'pending' && row.registration?.state === 'rejected';
    s.trunkFacts.set(row.endpoint, waits ? { ...row, registration: before.registration } : row);
    refreshTrunk(s, t, row.endpoint);
  }
}

/** Applies a changed directory: a trunk that is gone or disabled has no state. */
export function followTrunks(s: State, t: Turn): void {
  const names = new Set([...s.site.trunks.values()].map(({ name }) => name));
  for (const name of s.trunks.keys()) if (!names.has(name)) s.trunks.delete(name);
  for (const name of s.publishedTrunks.keys()) if (!names.has(name)) s.publishedTrunks.delete(name);
  for (const endpoint of s.site.trunks.keys()) refreshTrunk(s, t, endpoint);
}
