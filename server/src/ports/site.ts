import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import type { Endpoint, PauseReason } from './directory.ts';
import type { FoundAddress } from './external-address.ts';
import type { TrunkServer } from './trunk-servers.ts';

/** Encrypted media of desk phones and trunks. */
export type SrtpRule = ConfigBody<'extension'>['srtp'];
/** True for an extension or a queue of the engine that is rendered. */
export const isHere = ({ elsewhere = null }: { readonly elsewhere?: string | null }): boolean =>
  elsewhere === null;
export interface SiteExtension {
  readonly extension: string;
  readonly name: string;
  readonly email: string | null;
  readonly endpoints: readonly Endpoint[];
  readonly sip_password: string;
  readonly voicemail_pin: string;
  readonly voicemail: boolean;
  /** People of the same group (a slug) can pick up each other's ringing calls; null for none. */
  readonly pickup_group: string | null;
  /** May pick up every ringing call, as a supervisor may through the API. */
  readonly pickup_everywhere: boolean;
  /** The feature code of the extension may block its last caller. */
  readonly blocks_callers: boolean;
  /** May forward its calls to an outside number. */
  readonly forward_outside: boolean;
  readonly recording: RecordingRule;
  /** Number shown outside; null for that of the trunk, or the extension itself. */
  readonly caller_id: string | null;
  /** Classes of outbound routes its phones may use. */
  readonly call_permission: ConfigBody<'extension'>['call_permission'];
  readonly srtp: SrtpRule;
  /** Address that its desk phones send media to; null for that of the network. */
  readonly media_address: string | null;
  /** Language of prompts of its own calls; null for that of the site. */
  readonly language: string | null;
  /** Node of the engine where it is homed; absent or null for that of the leading node. */
  readonly engine?: string | null;
  /** Node of that engine where it is another one than the rendered one; absent or null for the rendered one. */
  readonly elsewhere?: string | null;
}
/** Another engine of the site, as this one reaches it. */
export interface OtherEngine {
  readonly node: string;
  readonly host: string;
  readonly port: number;
}
/** Homes of a site: nodes of engines, null for that of the leading node. */
export interface Homes {
  readonly extension: (extension: string) => string | null;
  readonly queue: (name: string) => string | null;
}
/** Owner of each number that can have a mailbox: id of its person, also of an inactive one, or of the mailbox object. */
export type MailboxOwners = Readonly<Record<string, number>>;
/** Whether the engine records by itself; independent of recording on demand. */
export type RecordingRule = 'never' | 'always';
export interface SiteQueue extends ConfigBody<'queue'> {
  /** Extensions that are members by configuration and cannot leave. */
  readonly static_members: readonly string[];
  /** Extensions that may sign in and out (static members included). */
  readonly agents: readonly string[];
  /** As that of an extension. */
  readonly elsewhere?: string | null;
}
/** A number that plays or does something: echo test, music on hold. */
export type SiteService = ConfigBody<'service'>;
export type SiteParking = ConfigBody<'parking_lot'>;
/** A connection to a carrier or another exchange, identified by the address of its requests, and by its account if others have this address. */
export interface SiteTrunk extends Omit<ConfigBody<'trunk'>, 'username' | 'password' | 'enabled'> {
  /** Name in the engine: `trunk-<name>`. */
  readonly endpoint: string;
  /** Credentials for its challenges; null where it sends none. */
  readonly login: { readonly username: string; readonly password: string } | null;
  /** Servers found in DNS, in the order in which they are tried; none where `host` is the only one. */
  readonly servers: readonly TrunkServer[];
}
/** Change of a number: digits removed from its beginning, then others prepended. */
export interface NumberChange {
  readonly strip: number;
  readonly prepend: string;
}
export type SiteInboundRoute = ConfigBody<'inbound_route'>;
export type SiteOutboundRoute = ConfigBody<'outbound_route'>;
/** A desk phone at which people sign in by a feature code. */
export interface SharedPhone {
  readonly name: string;
  /** Name in the engine: `desk_<id>`. */
  readonly endpoint: string;
  readonly sip_password: string;
  /** Name that the called person sees while no person is signed in at the phone. */
  readonly title: string;
  readonly srtp: SrtpRule;
}
export type SiteCallLimit = ConfigBody<'call_limit'>;
/** A mailbox without an extension. */
export type SiteMailbox = ConfigBody<'mailbox'> & { readonly pin: string };
/** Settings that callers can make for their own calls. */
export type CallSetting = 'dnd' | 'forward' | 'forward_busy' | 'forward_no_answer';
/**
 * Action of a feature code for the caller. The digits dialled after it are a queue, a pause reason, an extension or a number.
 */
export type CodeAction =
  | {
      readonly action:
        | 'log_in'
        | 'log_out'
        | 'pause'
        | 'unpause'
        | 'pick_up_group'
        | 'pick_up_extension'
        | 'block_caller'
        | 'sign_in'
        | 'sign_out'
        | 'night_switch';
    }
  | { readonly action: 'set' | 'clear'; readonly setting: CallSetting };
/** One row of features/feature-codes; the source of the dialplan, the docs table and the console list. */
export interface FeatureCode {
  readonly id: string;
  /** Dialplan patterns of this code, e.g. `*22`, `_*22X`. */
  readonly patterns: readonly string[];
  readonly title: string;
  readonly about: string;
  readonly does: CodeAction;
  /** Set where the site uses another prefix than the patterns: `*99` instead of `*22`. */
  readonly moved?: { readonly from: string; readonly to: string };
}
/** Addresses and ports under which this machine is reached from outside. */
export type SiteNetwork = ConfigBody<'network'>;
/**
 * Input of the renderer: the validated configuration of one site. Objects with the contract's own shape are typed as
 * `ConfigBody`; inactive people, disabled trunks and the like are already removed.
 */
export interface Site {
  readonly extensions: readonly SiteExtension[];
  readonly queues: readonly SiteQueue[];
  readonly ring_groups: readonly ConfigBody<'ring_group'>[];
  readonly menus: readonly ConfigBody<'menu'>[];
  readonly time_conditions: readonly ConfigBody<'time_condition'>[];
  readonly holidays: readonly ConfigBody<'holidays'>[];
  readonly conferences: readonly ConfigBody<'conference'>[];
  readonly mailboxes: readonly SiteMailbox[];
  /** Absent in the site that a leading node of an older version sends. */
  readonly mailbox_owners?: MailboxOwners;
  readonly services: readonly SiteService[];
  readonly parking_lots: readonly SiteParking[];
  readonly music_classes: readonly ConfigBody<'music_class'>[];
  readonly prompts: readonly ConfigBody<'prompt'>[];
  readonly pause_reasons: readonly PauseReason[];
  readonly feature_codes: readonly FeatureCode[];
  readonly settings: ConfigBody<'settings'>;
  readonly network: SiteNetwork;
  /** External address that was found; null where there is none yet, or the network has a fixed one. */
  readonly found_address: FoundAddress | null;
  /** SIP proxy that trunks pass; null or absent for the first one. */
  readonly trunk_proxy?: { readonly host: string; readonly port: number } | null;
  readonly trunks: readonly SiteTrunk[];
  readonly inbound_routes: readonly SiteInboundRoute[];
  /** In the order in which they are tried. */
  readonly outbound_routes: readonly SiteOutboundRoute[];
  readonly call_limits: readonly SiteCallLimit[];
  readonly shared_phones: readonly SharedPhone[];
  /** Engines beside the rendered one; none or absent where the site has one engine. */
  readonly engines?: readonly OtherEngine[];
  /** Node of the leading engine, where another one is rendered; absent or null for the leading one. */
  readonly leading?: string | null;
}
