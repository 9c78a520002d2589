/** State of each trunk, from the answers to OPTIONS and from registrations. */
import type { TrunkChange } from '@offhook/contract/trunks.ts';
import { rfc3339 } from '../core/clock.ts';
import type { EngineEventOf } from '../ports/engine-events.ts';
import type { EngineSnapshot, EngineTrunk } from '../ports/engine-state.ts';
import type { LiveTrunk } from '../ports/live.ts';
import { withContact, withRegistration } from '../ports/trunk-facts.ts';
import { emit } from './state.ts';
import type { State, Turn } from './state.ts';

type Verdict = Pick<LiveTrunk, 'state' | 'reason'>;

/** One usable server is enough. Null while the facts do not suffice, for example before the first registration. */
function verdictOf({ servers }: EngineTrunk, registers: boolean): Verdict | null {
  const answering = servers.filter(({ reachable }) => reachable === true);
  if (answering.length === 0) {
    const known = servers.length > 0 && servers.every(({ reachable }) => reachable !== null);
    return known ? { state: 'unreachable', reason: 'no_answer' } : null;
  }
  if (!registers) return { state: 'reachable', reason: null };
  const states = answering.map(({ registration }) => registration?.state ?? 'pending');
  if (states.includes('registered')) return { state: 'registered', reason: null };
  return states.includes('pending') ? null : { state: 'rejected', reason: 'registration_failed' };
}
const serversOf = ({ servers }: EngineTrunk): TrunkChange['servers'] =>
  servers.map(({ server, reachable, round_trip_ms }) => ({ server, reachable, round_trip_ms }));
/** Text of the servers and of those that do not answer; its change is an event even while the trunk can be used. */
const answersOf = (servers: TrunkChange['servers'] = []): string =>
  servers.map(({ server, reachable }) => (reachable === false ? `${server} away` : server)).join(', ');
const fastest = (servers: TrunkChange['servers']): number | null =>
  servers.reduce<number | null>(
    (best, { round_trip_ms: ms }) => (ms === null || (best !== null && best <= ms) ? best : ms),
    null,
  );

function refreshTrunk(s: State, t: Turn, endpoint: string): void {
  const trunk = s.site.trunks.get(endpoint);
  const facts = s.trunkFacts.get(endpoint);
  if (trunk === undefined || facts === undefined) return;
  const verdict = verdictOf(facts, trunk.registers);
  if (verdict === null) return;
  const { name, title } = trunk;
  const published = s.publishedTrunks.get(name);
  const servers = serversOf(facts);
  const round_trip_ms = fastest(servers);
  const unchanged = published?.state === verdict.state && published.reason === verdict.reason;
  const since = unchanged ? Date.parse(published.since) : t.at;
  s.trunks.set(name, { name, ...verdict, round_trip_ms, servers, since });
  if (unchanged && answersOf(published.servers) === answersOf(servers)) return;
  const data: TrunkChange = {
    trunk: name,
    title,
    ...verdict,
    since: rfc3339(since),
    round_trip_ms,
    servers,
  };
  s.publishedTrunks.set(name, data);
  emit(t, verdict.reason === null ? 'trunk.up' : 'trunk.down', `trunks/${name}`, data);
}

export function trunkContact(s: State, t: Turn, event: EngineEventOf<'trunk.contact'>): void {
  const { endpoint } = event;
  s.trunkFacts.set(endpoint, withContact(s.trunkFacts.get(endpoint) ?? { endpoint, servers: [] }, event));
  refreshTrunk(s, t, endpoint);
}

export function trunkRegistration(s: State, t: Turn, event: EngineEventOf<'trunk.registration'>): void {
  for (const facts of s.trunkFacts.values()) {
    const after = withRegistration(facts, event);
    if (after.servers.every((one, i) => one === facts.servers[i])) continue;
    s.trunkFacts.set(facts.endpoint, after);
    refreshTrunk(s, t, facts.endpoint);
  }
}

export function seeTrunks(s: State, t: Turn, trunks: EngineSnapshot['trunks']): void {
  if (trunks === undefined) return;
  const present = new Set(trunks.map(({ endpoint }) => endpoint));
  for (const endpoint of s.trunkFacts.keys()) if (!present.has(endpoint)) s.trunkFacts.delete(endpoint);
  for (const row of trunks) {
    const before = s.trunkFacts.get(row.endpoint)?.servers ?? [];
    const servers = row.servers.map((one) => {
      const { registration } = before.find(({ server }) => server === one.server) ?? {};
      // The engine lists the old failure until its next attempt.
      const waits = registration?.state === 'pending' && one.registration?.state === 'rejected';
      return waits ? { ...one, registration } : one;
    });
    s.trunkFacts.set(row.endpoint, { ...row, servers });
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
