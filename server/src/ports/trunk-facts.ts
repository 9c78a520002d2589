/** Merges facts of the engine about one server of a trunk into the known state of the trunk. */
import type { EngineEventOf } from './engine-events.ts';
import type { EngineTrunk, EngineTrunkServer } from './engine-state.ts';

const byServer = (a: EngineTrunkServer, b: EngineTrunkServer): number => (a.server < b.server ? -1 : 1);

export function withContact(
  trunk: EngineTrunk,
  { server, reachable, round_trip_ms }: EngineEventOf<'trunk.contact'>,
): EngineTrunk {
  const others = trunk.servers.filter((one) => one.server !== server);
  if (reachable === null) return { ...trunk, servers: others };
  const before = trunk.servers.find((one) => one.server === server);
  const registration = before?.registration ?? null;
  // A registration that failed for lack of an answer is tried again once the server is back.
  const again = before?.reachable === false && reachable && registration?.state === 'rejected';
  const row = {
    server,
    reachable,
    round_trip_ms,
    registration: again ? { ...registration, state: 'pending' as const } : registration,
  };
  return { ...trunk, servers: [...others, row].toSorted(byServer) };
}

/** The engine names a registration by its address and server, which two trunks may share. */
export const withRegistration = (
  trunk: EngineTrunk,
  { server, uri, state }: EngineEventOf<'trunk.registration'>,
): EngineTrunk => ({
  ...trunk,
  servers: trunk.servers.map((one) =>
    one.server === server && one.registration?.uri === uri ? { ...one, registration: { uri, state } } : one,
  ),
});
