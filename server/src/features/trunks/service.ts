import type { TrunkState } from '@offhook/contract/trunks.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { LiveView } from '../../ports/live.ts';
import type { SiteTrunk } from '../../ports/site.ts';

export interface TrunkDeps {
  readonly trunks: () => readonly (Pick<SiteTrunk, 'name' | 'title' | 'endpoint' | 'max_calls'> & {
    readonly enabled: boolean;
  })[];
  readonly live: Pick<LiveView, 'live' | 'device' | 'calls'>;
}

/** In order of name. */
export function trunkStates({ trunks, live }: TrunkDeps): TrunkState[] {
  const calls = new Map<string, number>();
  for (const call of live.calls()) {
    for (const endpoint of new Set(call.legs.map((leg) => leg.endpoint))) {
      if (endpoint !== null) calls.set(endpoint, (calls.get(endpoint) ?? 0) + 1);
    }
  }
  return trunks()
    .map(({ name, title, endpoint, enabled, max_calls }) => {
      const device = live.live && enabled ? live.device(endpoint) : undefined;
      const reachable = device?.reachable ?? null;
      return {
        name,
        title,
        enabled,
        reachable,
        since: device === undefined || reachable === null ? null : rfc3339(device.since),
        calls: calls.get(endpoint) ?? 0,
        max_calls,
      };
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
