/**
 * Which route is for a call: told once here, for the engine's dialplan, for what the API may call and for the route test.
 * Routes are as the contract has them.
 */
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { dialMatcher, layersOf } from './dial-pattern.ts';

type Inbound = ConfigBody<'inbound_route'>;
type Outbound = ConfigBody<'outbound_route'>;
const plain = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Emergency numbers go first whatever their position; then by position, and by name where that is the same. */
export function outboundOrder(routes: readonly Outbound[]): readonly Outbound[] {
  const rank = (r: Outbound): number => (r.class === 'emergency' ? 0 : 1);
  return [...routes].sort((a, b) => rank(a) - rank(b) || a.position - b.position || plain(a.name, b.name));
}
/** The outbound route a number is for, of the routes in their order. */
export const outboundFinder = (ordered: readonly Outbound[]): ((number: string) => Outbound | null) => {
  const all = ordered.map((route) => ({ route, matches: route.patterns.map(dialMatcher) }));
  return (number) => all.find((r) => r.matches.some((m) => m(number)))?.route ?? null;
};
/**
 * The same for a search layer by layer: within a layer no two routes are for the same number. O(patterns²), of which a site has
 * `MOST_PATTERNS` at most.
 */
export function outboundLayers(routes: readonly Outbound[]): readonly (readonly Outbound[])[] {
  const ordered = outboundOrder(routes);
  const layers: Outbound[][] = [];
  layersOf(ordered.map((r) => r.patterns)).forEach((layer, i) => (layers[layer] ??= []).push(ordered[i]!));
  return layers;
}
export const MOST_PATTERNS = 2_000;
/** The engine looks into 128 contexts for one number at most, those of the house with them. */
export const MOST_LAYERS = 64;

/** Routes for the same called numbers, the one with the longest caller first, one of the trunk before one of all. */
export interface NumberGroup {
  readonly number: string | null;
  readonly prefix: boolean;
  /** Nothing stands behind one that is for every caller. */
  readonly routes: readonly Inbound[];
}
const closeness = (g: Pick<Inbound, 'number' | 'prefix'>): number =>
  g.number === null ? 0 : g.prefix ? g.number.length : 1_000;
/**
 * What is for calls of one trunk, the whole number first, then the longest beginning, then any number; of these the longest
 * caller, then the trunk itself. A call for which a group has no route goes on to the next that is for its number. Groups of
 * one list are never for the same number.
 */
export function inboundOrder(routes: readonly Inbound[], trunk: string): readonly (readonly NumberGroup[])[] {
  const groups = new Map<string, Inbound[]>();
  for (const r of routes) {
    if (r.trunk !== null && r.trunk !== trunk) continue;
    const key = `${closeness(r)} ${r.number}`;
    const own = groups.get(key);
    if (own === undefined) groups.set(key, [r]);
    else own.push(r);
  }
  const layers = new Map<number, NumberGroup[]>();
  for (const found of groups.values()) {
    found.sort(
      (a, b) =>
        (b.caller?.length ?? 0) - (a.caller?.length ?? 0) ||
        Number(a.trunk === null) - Number(b.trunk === null) ||
        plain(a.name, b.name),
    );
    const all = found.findIndex((r) => r.caller === null);
    const { number, prefix } = found[0]!;
    const group = { number, prefix, routes: all === -1 ? found : found.slice(0, all + 1) };
    const layer = layers.get(closeness(group));
    if (layer === undefined) layers.set(closeness(group), [group]);
    else layer.push(group);
  }
  return [...layers].sort(([a], [b]) => b - a).map(([, found]) => found);
}
/** The inbound route a call is for. */
export function inboundRoute(
  layers: readonly (readonly NumberGroup[])[],
  number: string,
  caller: string,
): Inbound | null {
  for (const groups of layers)
    for (const g of groups) {
      const matches = g.number === null || (g.prefix ? number.startsWith(g.number) : number === g.number);
      const route = matches
        ? g.routes.find((r) => r.caller === null || caller.startsWith(r.caller))
        : undefined;
      if (route !== undefined) return route;
    }
  return null;
}
