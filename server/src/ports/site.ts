import type { Endpoint, PauseReason } from './directory.ts';

/** What the renderer is given: the whole configuration of one site, already validated. */
export interface SiteExtension {
  readonly extension: string;
  readonly name: string;
  readonly email: string | null;
  readonly endpoints: readonly Endpoint[];
  readonly sip_password: string;
  readonly voicemail_pin: string;
  readonly voicemail: boolean;
  /** People of one group (a slug) can pick up each other's ringing calls; null for none. */
  readonly pickup_group: string | null;
  /** Its calls may be forwarded to a number outside. */
  readonly forward_outside: boolean;
  readonly recording: RecordingRule;
}
/** Whether the engine records by itself; on demand is another thing. */
export type RecordingRule = 'never' | 'always';
export interface SiteQueue {
  readonly name: string;
  readonly number: string;
  readonly title: string;
  readonly strategy: 'ringall' | 'leastrecent' | 'fewestcalls' | 'random' | 'rrmemory' | 'linear';
  /** How long one agent rings. */
  readonly ring_seconds: number;
  readonly wrap_up_seconds: number;
  /** How long a caller waits at most; 0 for ever. */
  readonly max_wait_seconds: number;
  /** How many may wait; 0 for any number. */
  readonly max_callers: number;
  /** Whether one may join, or go on waiting, when no member could take a call: all paused or unreachable. */
  readonly join_when_empty: boolean;
  readonly leave_when_empty: boolean;
  /** A key that leads a caller out of the queue to a number of ours; null for none. */
  readonly exit: { readonly key: string; readonly number: string } | null;
  readonly recording: RecordingRule;
  /** Extensions that are members by configuration and cannot leave. */
  readonly static_members: readonly string[];
  /** Extensions that may log in and out (the static ones included). */
  readonly agents: readonly string[];
}
/** A number that plays or does something: echo test, music on hold. */
export interface SiteService {
  readonly number: string;
  readonly kind: 'echo' | 'music_on_hold' | 'voicemail';
  readonly title: string;
}
export interface SiteParking {
  readonly number: string;
  readonly first_slot: number;
  readonly last_slot: number;
  readonly timeout_seconds: number;
}
/** The connection to a carrier or another exchange, known by the address its requests come from. */
export interface SiteTrunk {
  readonly name: string;
  readonly title: string;
  /** Name in the engine: `trunk-<name>`. */
  readonly endpoint: string;
  readonly host: string;
  readonly port: number;
  readonly transport: 'udp' | 'tcp';
  /** What its challenges are answered with; null where it asks for nothing. */
  readonly login: { readonly username: string; readonly password: string } | null;
  /** True where we register there with that login, so that it knows our address. */
  readonly register: boolean;
  readonly codecs: readonly ('ulaw' | 'alaw' | 'g722' | 'opus')[];
  /** Number that calls from inside are shown with; null for the extension itself. */
  readonly outbound_number: string | null;
}
/** What becomes of a number: digits taken off its beginning, then others put there. */
export interface NumberChange {
  readonly strip: number;
  readonly prepend: string;
}
/** Where a call from a trunk goes; the longest match of the trunk's own routes decides, and no match is no way in. */
export interface SiteInboundRoute {
  readonly trunk: string;
  /** As received, or what it begins with. */
  readonly number: string;
  readonly prefix: boolean;
  /** A number of ours, or out again over a trunk. */
  readonly to: { readonly number: string } | ({ readonly trunk: string } & NumberChange);
}
/** Where a number outside is reached; the longest prefix decides, and those of one prefix are tried in order. */
export interface SiteOutboundRoute extends NumberChange {
  readonly prefix: string;
  readonly trunk: string;
}
/**
 * One feature code, defined by one file in features/feature-codes/codes/; the dialplan, the docs table and the console
 * list are generated from it. `dialplan` returns the steps for the matched pattern, one application call each; a step may
 * carry a label, in lower case. A step may use what the renderer leaves for it, so that it works while the service is down:
 * - variable `OFFHOOK_EXTENSION`: the extension of the endpoint that dials, empty for anything else; never caller ID;
 * - context `agent-queues`: `Gosub(agent-queues,<extension>,1)` leaves the names of the extension's queues, joined by `&`, in
 *   `GOSUB_RETVAL`; `<extension>*<queue number>` leaves the one name. Test with `DIALPLAN_EXISTS` before;
 * - context `forward-way`: `Gosub(forward-way,<extension>,1)` leaves the context in which a number must be there for the calls of
 *   the extension to be forwarded to it; what stands under `offhook-forward/<extension>` in the engine's own store is followed.
 */
export interface FeatureCode {
  readonly id: string;
  /** Dialplan patterns that lead here, e.g. `*22`, `_*22X`. */
  readonly patterns: readonly string[];
  readonly title: string;
  readonly about: string;
  dialplan(site: Site): readonly DialplanStep[];
}
export interface DialplanStep {
  readonly label?: string;
  readonly app: string;
  readonly data?: string;
}
export interface Site {
  readonly extensions: readonly SiteExtension[];
  readonly queues: readonly SiteQueue[];
  readonly services: readonly SiteService[];
  readonly parking: SiteParking | null;
  readonly pause_reasons: readonly PauseReason[];
  readonly feature_codes: readonly FeatureCode[];
  /** Sound that both sides hear before a call is recorded by rule; null for none. */
  readonly recording_announcement: string | null;
  readonly trunks: readonly SiteTrunk[];
  readonly inbound_routes: readonly SiteInboundRoute[];
  readonly outbound_routes: readonly SiteOutboundRoute[];
}
