/**
 * Selects the route of a call, for the engine's dialplan, the calls of the API and the route test. Routes are
 * those of the contract.
 */
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { dialMatcher, layersOf } from './dial-pattern.ts';

type Inbound = ConfigBody<'inbound_route'>;
type Outbound = ConfigBody<'outbound_route'>;
const plain = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Orders emergency routes first, then by position, then by name. */
export function outboundOrder(routes: readonly Outbound[]): readonly Outbound[] {
  const rank = (r: Outbound): number => (r.class === 'emergency' ? 0 : 1);
  return [...routes].sort((a, b) => rank(a) - rank(b) || a.position - b.position || plain(a.name, b.name));
}
/** Finds the first of the ordered outbound routes that matches a number. */
export const outboundFinder = (ordered: readonly Outbound[]): ((number: string) => Outbound | null) => {
  const all = ordered.map((route) => ({ route, matches: route.patterns.map(dialMatcher) }));
  return (number) => all.find((r) => r.matches.some((m) => m(number)))?.route ?? null;
};
/**
 * Outbound routes for a search layer by layer: no two routes of a layer match the same number. O(patterns²),
 * at most `MOST_PATTERNS` in a site.
 */
export function outboundLayers(routes: readonly Outbound[]): readonly (readonly Outbound[])[] {
  const ordered = outboundOrder(routes);
  const layers: Outbound[][] = [];
  layersOf(ordered.map((r) => r.patterns)).forEach((layer, i) => (layers[layer] ??= []).push(ordered[i]!));
  return layers;
}
export const MOST_PATTERNS = 2_000;
/** The engine searches at most 128 contexts for one number, including the service's own. */
export const MOST_LAYERS = 64;

/** Routes for the same called numbers: the longest caller first, and a trunk's own before those of all trunks. */
export interface NumberGroup {
  readonly number: string | null;
  readonly prefix: boolean;
  /** Ends with the first route for every caller. */
  readonly routes: readonly Inbound[];
}
const closeness = (g: Pick<Inbound, 'number' | 'prefix'>): number =>
  g.number === null ? 0 : g.prefix ? g.number.length : 1_000;
/**
 * Groups for the calls of one trunk: whole numbers first, then the longest prefix, then any number. A call
 * without a route in a group continues with the next group for its number. Groups of one layer never match
 * the same number.
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
/** The inbound route of a call. */
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
