import type { TrunkState, TrunksSnapshot } from '@offhook/contract/trunks.ts';
import type { z } from 'zod';
import { rfc3339, rfc3339OrNull } from '../../core/clock.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveView } from '../../ports/live.ts';
import type { Gauges } from '../../ports/metrics.ts';
import type { SiteTrunk } from '../../ports/site.ts';

export interface TrunkDeps {
  readonly trunks: () => readonly (Pick<SiteTrunk, 'name' | 'title' | 'endpoint' | 'max_calls'> & {
    readonly enabled: boolean;
  })[];
  readonly live: Pick<LiveView, 'live' | 'as_of' | 'trunk' | 'calls'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** In order of name. */
export function trunkStates({ trunks, live }: Omit<TrunkDeps, 'clock'>): TrunkState[] {
  const calls = new Map<string, number>();
  for (const call of live.calls()) {
    for (const endpoint of new Set(call.legs.map((leg) => leg.endpoint))) {
      if (endpoint !== null) calls.set(endpoint, (calls.get(endpoint) ?? 0) + 1);
    }
  }
  return trunks()
    .map(({ name, title, endpoint, enabled, max_calls }) => {
      const known = enabled ? live.trunk(name) : undefined;
      return {
        name,
        title,
        enabled,
        reachable: known === undefined || !live.live ? null : known.state !== 'unreachable',
        state: known?.state ?? null,
        reason: known?.reason ?? null,
        since: rfc3339OrNull(known?.since ?? null),
        round_trip_ms: known?.round_trip_ms ?? null,
        servers: known?.servers ?? [],
        calls: calls.get(endpoint) ?? 0,
        max_calls,
      };
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export const trunksSnapshot = (deps: TrunkDeps): z.infer<typeof TrunksSnapshot> => ({
  as_of: rfc3339(deps.live.as_of > 0 ? deps.live.as_of : deps.clock.now()),
  stale: !deps.live.live,
  trunks: trunkStates(deps),
});

/** Trunks that are down, for the health check. */
export const trunkTroubles = (deps: Omit<TrunkDeps, 'clock'>): string[] =>
  trunkStates(deps).flatMap(({ title, reason, since }) =>
    reason === null ? [] : [`${WORDS[reason]}: ${title.replace(/\s+/g, ' ')}, since ${since ?? ''}`],
  );
const WORDS: Readonly<Record<NonNullable<TrunkState['reason']>, string>> = {
  no_answer: 'no answer',
  registration_failed: 'registration failed',
};

/** Without the trunks whose state is unknown; none while the engine is away. */
export function trunkGauges(to: Gauges, deps: Omit<TrunkDeps, 'clock'>): void {
  const known = (): TrunkState[] =>
    deps.live.live ? trunkStates(deps).filter(({ state }) => state !== null) : [];
  to.gaugeBy('offhook_trunk_up', 'Whether calls can leave over the trunk.', 'trunk', () =>
    known().map(({ name, reason }) => [name, Number(reason === null)]),
  );
  to.gaugeBy(
    'offhook_trunk_round_trip_seconds',
    'Time from an OPTIONS to its answer, as last read from the engine.',
    'trunk',
    () =>
      known().flatMap(({ name, round_trip_ms }) =>
        round_trip_ms === null ? [] : [[name, round_trip_ms / 1000] as const],
      ),
  );
}
