/**
 * The call plan: the target of every number and of every destination. The renderer prints it as the dialplan,
 * the route test walks it.
 */
import type { Destination } from '@offhook/contract/config-fields.ts';
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import type {
  FeatureCode,
  NumberChange,
  Site,
  SiteCallLimit,
  SiteExtension,
  SiteMailbox,
  SiteOutboundRoute,
  SiteParking,
  SiteQueue,
  SiteTrunk,
} from '../ports/site.ts';
import { HANG_UP } from './causes.ts';
import type { CauseName } from './causes.ts';
import { dialMatcher } from './dial-pattern.ts';
import { outboundFinder, outboundOrder } from './routes.ts';
import type { Opening } from './site-time.ts';

/** Objects of a site that can be a destination, by kind. */
interface Places {
  readonly extension: SiteExtension;
  readonly queue: SiteQueue;
  readonly ring_group: ConfigBody<'ring_group'>;
  readonly menu: ConfigBody<'menu'>;
  readonly time_condition: ConfigBody<'time_condition'>;
  readonly conference: ConfigBody<'conference'>;
  readonly mailbox: SiteMailbox;
}
export type PlaceKind = keyof Places;
export type Place<K extends PlaceKind = PlaceKind> = {
  readonly [P in K]: { readonly kind: P; readonly key: string; readonly object: Places[P] };
}[K];
type HangUp = Extract<Destination, { kind: 'hang_up' }>;
/** A destination, resolved in this site. */
export type Target =
  | Place
  | { readonly kind: 'service'; readonly key: string }
  /** `strip` is null without a called number: `prepend` is then the whole number. */
  | {
      readonly kind: 'trunk';
      readonly trunk: SiteTrunk;
      readonly strip: number | null;
      readonly prepend: string;
    }
  | {
      readonly kind: 'hang_up';
      readonly reason: HangUp['reason'];
      readonly cause: CauseName;
      readonly play: HangUp['play'];
    }
  /** An inactive extension, or a trunk that is switched off. */
  | {
      readonly kind: 'off';
      readonly of: 'extension' | 'trunk';
      readonly key: string;
      readonly cause: CauseName;
    }
  | { readonly kind: 'missing'; readonly of: PlaceKind; readonly key: string };
/** Meaning of a dialled number; feature codes and parking lots are not destinations of the configuration. */
export type Dialled =
  | Target
  | { readonly kind: 'feature_code'; readonly code: FeatureCode }
  | { readonly kind: 'parking'; readonly lot: SiteParking };

/** Kinds of numbers of the exchange. */
export type NumberKind = 'people' | 'queues' | 'places' | 'services' | 'feature_codes' | 'parking';
/** Kinds that a phone can dial, in search order; outside numbers come last. */
export const INTERNAL: readonly NumberKind[] = [
  'people',
  'queues',
  'places',
  'services',
  'feature_codes',
  'parking',
];
/** Kinds that a call placed by the API can reach. */
export const REACH = INTERNAL.filter((kind) => kind !== 'feature_codes');
/** Kinds that calls can be forwarded to; outside numbers only with `forward_outside`. */
export const FORWARDED: readonly NumberKind[] = ['people', 'queues', 'places'];

export interface CallPlan {
  readonly site: Site;
  readonly extensions: ReadonlyMap<string, SiteExtension>;
  readonly trunks: ReadonlyMap<string, SiteTrunk>;
  /** Ring groups, menus, time conditions, conferences and mailboxes by number, in the order of the site. */
  readonly places: ReadonlyMap<string, NumberedPlace>;
  /** `called`: true if a trunk destination dials the number that was called from outside, changed. */
  target(to: Destination, called?: boolean): Target;
  /** Null for a number of none of these kinds. O(queues, feature codes and parking lots). */
  own(number: string, kinds: readonly NumberKind[]): Dialled | null;
  /** The outbound route of a number. */
  outside(number: string): SiteOutboundRoute | null;
}

export type NumberedPlace = Place<'ring_group' | 'menu' | 'time_condition' | 'conference' | 'mailbox'>;

const byName = <T extends { readonly name: string }>(objects: readonly T[]): ReadonlyMap<string, T> =>
  new Map(objects.map((o) => [o.name, o]));
/** Patterns that reach a feature code: its own, or those with the site's prefix for it. */
export const dialledPatterns = ({ patterns, moved }: FeatureCode): readonly string[] =>
  moved === undefined ? patterns : patterns.map((p) => p.replace(moved.from, moved.to));
const isDialled =
  (number: string) =>
  (code: FeatureCode): boolean =>
    dialledPatterns(code).some((p) => (p.startsWith('_') ? dialMatcher(p.slice(1))(number) : p === number));
const isParked =
  (number: string) =>
  (lot: SiteParking): boolean => {
    const slot = Number(number);
    return (
      lot.number === number || (String(slot) === number && slot >= lot.first_slot && slot <= lot.last_slot)
    );
  };

/** True for digits with an optional leading +. */
export const isNumber = (text: string): boolean => /^\+?[0-9]+$/.test(text);
/** The number that is dialled over a trunk. */
export const changedNumber = (
  { strip, prepend }: { readonly strip: number | null; readonly prepend: NumberChange['prepend'] },
  number: string,
): string => prepend + (strip === null ? '' : number.slice(strip));
/** Emergency numbers are permitted to all and count against no limit of a trunk. */
export const isEmergency = (route: Pick<SiteOutboundRoute, 'class'>): boolean => route.class === 'emergency';
export const mayCall = (
  person: Pick<SiteExtension, 'call_permission'> | undefined,
  route: Pick<SiteOutboundRoute, 'class'>,
): boolean => isEmergency(route) || person?.call_permission.includes(route.class) === true;
/** Call limits that apply to a call of this extension over this route. */
export const limitsOf = (
  { call_limits }: Pick<Site, 'call_limits'>,
  extension: string,
  route: Pick<SiteOutboundRoute, 'class'>,
): readonly SiteCallLimit[] =>
  call_limits.filter(
    (l) =>
      (l.classes as readonly string[]).includes(route.class) &&
      (l.extensions.length === 0 || l.extensions.includes(extension)),
  );
/** Spellings of the sign before a country code. */
export const COUNTRY_SIGNS = ['+', '00', '011'] as const;
/** Whether a limit permits the country of a number; `numbers`: its spellings, as dialled and as sent to a trunk. */
export function permitsCountry(
  { countries }: Pick<SiteCallLimit, 'countries'>,
  route: Pick<SiteOutboundRoute, 'class'>,
  numbers: readonly string[],
): boolean {
  const begins = countries.flatMap((c) => COUNTRY_SIGNS.map((sign) => sign + c.slice(1)));
  if (countries.length === 0 || numbers.some((n) => begins.some((b) => n.startsWith(b)))) return true;
  if (route.class === 'international' || route.class === 'premium') return false;
  return !numbers.some((n) => n.startsWith('+') || n.startsWith('00'));
}
/** Destinations of a time condition, by opening. */
export const leadsTo = (t: ConfigBody<'time_condition'>): Readonly<Record<Opening['is'], Destination>> => ({
  open: t.when_open,
  closed: t.when_closed,
  holiday: t.on_holiday ?? t.when_closed,
});
/** Active members of a ring group, in its order. */
export const activeMembers = (
  { members }: ConfigBody<'ring_group'>,
  { extensions }: Pick<CallPlan, 'extensions'>,
): readonly SiteExtension[] => members.flatMap((m) => extensions.get(m) ?? []);

type Maps = { readonly [K in PlaceKind]: ReadonlyMap<string, Places[K]> };
const mapsOf = (site: Site): Maps => ({
  extension: new Map(site.extensions.map((e) => [e.extension, e])),
  queue: byName(site.queues),
  ring_group: byName(site.ring_groups),
  menu: byName(site.menus),
  time_condition: byName(site.time_conditions),
  conference: byName(site.conferences),
  mailbox: new Map(site.mailboxes.map((m) => [m.number, m])),
});
function resolved(to: Destination, called: boolean, maps: Maps, trunks: CallPlan['trunks']): Target {
  switch (to.kind) {
    case 'service':
      return to;
    case 'hang_up':
      return { ...to, cause: HANG_UP[to.reason] };
    case 'trunk': {
      const trunk = trunks.get(to.key);
      return trunk === undefined
        ? { kind: 'off', of: 'trunk', key: to.key, cause: 'out_of_order' }
        : { kind: 'trunk', trunk, strip: called ? to.strip : null, prepend: to.prepend };
    }
    default: {
      const { kind, key } = to;
      // A stored site can hold any kind.
      const object = Object.hasOwn(maps, kind) ? maps[kind].get(key) : undefined;
      if (object !== undefined) return { kind, key, object } as Place;
      return kind === 'extension'
        ? { kind: 'off', of: kind, key, cause: 'unknown' }
        : { kind: 'missing', of: kind, key };
    }
  }
}
/** Kinds of `places`, in search order. */
const WITH_NUMBER = ['ring_group', 'menu', 'time_condition', 'conference', 'mailbox'] as const;
function placesOf(maps: Maps): CallPlan['places'] {
  const places = new Map<string, NumberedPlace>();
  for (const kind of WITH_NUMBER)
    for (const [key, object] of maps[kind])
      if (object.number !== null && !places.has(object.number))
        places.set(object.number, { kind, key, object } as NumberedPlace);
  return places;
}

/** Never throws: a reference to an object that the site lacks is a target of kind `missing`. O(objects). */
export function callPlan(site: Site): CallPlan {
  const maps = mapsOf(site);
  const trunks = byName(site.trunks);
  const places = placesOf(maps);
  const found: Readonly<Record<NumberKind, (number: string) => Dialled | null>> = {
    people(number) {
      const object = maps.extension.get(number);
      return object === undefined ? null : { kind: 'extension', key: number, object };
    },
    queues(number) {
      const object = site.queues.find((q) => q.number === number);
      return object === undefined ? null : { kind: 'queue', key: object.name, object };
    },
    places: (number) => places.get(number) ?? null,
    services: (number) =>
      site.services.some((s) => s.number === number) ? { kind: 'service', key: number } : null,
    feature_codes(number) {
      const code = site.feature_codes.find(isDialled(number));
      return code === undefined ? null : { kind: 'feature_code', code };
    },
    parking(number) {
      const lot = site.parking_lots.find(isParked(number));
      return lot === undefined ? null : { kind: 'parking', lot };
    },
  };
  return {
    site,
    extensions: maps.extension,
    trunks,
    places,
    target: (to, called = false) => resolved(to, called, maps, trunks),
    own(number, kinds) {
      for (const kind of kinds) {
        const dialled = found[kind](number);
        if (dialled !== null) return dialled;
      }
      return null;
    },
    outside: outboundFinder(outboundOrder(site.outbound_routes)),
  };
}
