import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import type { Endpoint, PauseReason } from './directory.ts';

/**
 * What the renderer is given: the whole configuration of one site, already validated. Where an object is here as it is in the
 * contract, `ConfigBody` says so; what only active people, enabled trunks and the like leave of it is worked out before.
 */
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
  /** May pick up every ringing call, as a supervisor may by the API. */
  readonly pickup_everywhere: boolean;
  /** Its calls may be forwarded to a number outside. */
  readonly forward_outside: boolean;
  readonly recording: RecordingRule;
  /** Number shown outside; null for that of the trunk, or the extension itself. */
  readonly caller_id: string | null;
  /** Classes of outbound routes its phones may use. */
  readonly call_permission: ConfigBody<'extension'>['call_permission'];
}
/** Whether the engine records by itself; on demand is another thing. */
export type RecordingRule = 'never' | 'always';
export interface SiteQueue extends ConfigBody<'queue'> {
  /** Extensions that are members by configuration and cannot leave. */
  readonly static_members: readonly string[];
  /** Extensions that may log in and out (the static ones included). */
  readonly agents: readonly string[];
}
/** A number that plays or does something: echo test, music on hold. */
export type SiteService = ConfigBody<'service'>;
export type SiteParking = ConfigBody<'parking_lot'>;
/** The connection to a carrier or another exchange, known by the address its requests come from. */
export interface SiteTrunk extends Omit<ConfigBody<'trunk'>, 'username' | 'password' | 'enabled'> {
  /** Name in the engine: `trunk-<name>`. */
  readonly endpoint: string;
  /** What its challenges are answered with; null where it asks for nothing. */
  readonly login: { readonly username: string; readonly password: string } | null;
}
/** What becomes of a number: digits taken off its beginning, then others put there. */
export interface NumberChange {
  readonly strip: number;
  readonly prepend: string;
}
export type SiteInboundRoute = ConfigBody<'inbound_route'>;
export type SiteOutboundRoute = ConfigBody<'outbound_route'>;
/** A mailbox that belongs to no extension. */
export type SiteMailbox = ConfigBody<'mailbox'> & { readonly pin: string };
/** What callers can set for their own calls. */
export type CallSetting = 'dnd' | 'forward' | 'forward_busy' | 'forward_no_answer';
/** What a feature code does for the caller. What is dialled behind it is a queue, a pause reason, an extension or a number. */
export type CodeAction =
  | {
      readonly action: 'log_in' | 'log_out' | 'pause' | 'unpause' | 'pick_up_group' | 'pick_up_extension';
    }
  | { readonly action: 'set' | 'clear'; readonly setting: CallSetting };
/** One row of features/feature-codes; the dialplan, the docs table and the console list are generated from it. */
export interface FeatureCode {
  readonly id: string;
  /** Dialplan patterns that lead here, e.g. `*22`, `_*22X`. */
  readonly patterns: readonly string[];
  readonly title: string;
  readonly about: string;
  readonly does: CodeAction;
  /** Where the site dials it by another beginning than its patterns have: `*22` by `*99`. */
  readonly moved?: { readonly from: string; readonly to: string };
}
export interface Site {
  readonly extensions: readonly SiteExtension[];
  readonly queues: readonly SiteQueue[];
  readonly ring_groups: readonly ConfigBody<'ring_group'>[];
  readonly menus: readonly ConfigBody<'menu'>[];
  readonly time_conditions: readonly ConfigBody<'time_condition'>[];
  readonly holidays: readonly ConfigBody<'holidays'>[];
  readonly conferences: readonly ConfigBody<'conference'>[];
  readonly mailboxes: readonly SiteMailbox[];
  readonly services: readonly SiteService[];
  readonly parking_lots: readonly SiteParking[];
  readonly music_classes: readonly ConfigBody<'music_class'>[];
  readonly prompts: readonly ConfigBody<'prompt'>[];
  readonly pause_reasons: readonly PauseReason[];
  readonly feature_codes: readonly FeatureCode[];
  readonly settings: ConfigBody<'settings'>;
  readonly trunks: readonly SiteTrunk[];
  readonly inbound_routes: readonly SiteInboundRoute[];
  /** In the order they are tried in. */
  readonly outbound_routes: readonly SiteOutboundRoute[];
}
