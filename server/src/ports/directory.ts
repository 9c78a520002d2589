import type { PersonLevel } from '@offhook/contract/ids.ts';

export type EndpointKind = 'sip' | 'webrtc' | 'mobile';
/** A device at which an extension can be reached. */
export interface Endpoint {
  readonly name: string;
  readonly kind: EndpointKind;
}
/** End of the name of a device of each kind, after its extension. */
export const DEVICE_SUFFIX: Readonly<Record<EndpointKind, string>> = {
  sip: '',
  webrtc: '-web',
  mobile: '-mobile',
};
const DEVICE = /^([0-9]+)(?:-web|-mobile)?$/;
/** Extension of a device by its name, also of one that the site no longer has; null for any other endpoint. */
export const extensionOfDevice = (endpoint: string): string | null => DEVICE.exec(endpoint)?.[1] ?? null;
/** An internal phone user. */
export interface Person {
  readonly id: number;
  readonly extension: string;
  readonly username: string;
  readonly name: string;
  readonly email: string | null;
  readonly mobile: string | null;
  readonly department: string | null;
  /** People of the same group may pick up each other's ringing calls; null for no group. */
  readonly pickup_group: string | null;
  readonly level: PersonLevel;
  readonly active: boolean;
  readonly endpoints: readonly Endpoint[];
}
export interface QueueEntry {
  /** Machine name, `[a-z0-9_-]`. */
  readonly name: string;
  /** Number people dial. */
  readonly number: string;
  readonly title: string;
  readonly wrap_up_seconds: number;
  /** Extensions that may take its calls. */
  readonly agents: readonly string[];
  /** Penalty of each agent that has one; higher values ring later. */
  readonly penalties?: ReadonlyMap<string, number>;
}
/** A connection to a carrier or another exchange; `endpoint` is its name in the engine. */
export interface TrunkEntry {
  readonly name: string;
  readonly title: string;
  readonly endpoint: string;
}
/** Pause reasons in order: the first is the default, `*22<n>` selects the n-th. `id` is a slug the engine can store. */
export interface PauseReason {
  readonly id: string;
  readonly name: string;
  readonly paid: boolean;
  /** Seconds after which the pause is marked as too long; null for no limit. */
  readonly longest_seconds: number | null;
  /** Only a supervisor can set it. */
  readonly supervisor_only: boolean;
}

/**
 * People, queues, trunks and reasons of the exchange, in memory, O(1) by key. Owner: features/pbx-config. `version` grows by
 * one with every change.
 */
export interface Directory {
  readonly version: number;
  people(): readonly Person[];
  byExtension(extension: string): Person | undefined;
  byUsername(username: string): Person | undefined;
  byEndpoint(endpoint: string): Person | undefined;
  /** Time when the current holder received the extension, ms since 1970; 0 or undefined for its first holder. */
  heldSince?(extension: string): number;
  /** Time when the person with this id was added to the site, ms since 1970; 0 or undefined where that is not known. */
  knownSince?(person: number): number;
  queues(): readonly QueueEntry[];
  queue(name: string): QueueEntry | undefined;
  queuesOf(extension: string): readonly QueueEntry[];
  trunks(): readonly TrunkEntry[];
  trunkByEndpoint(endpoint: string): TrunkEntry | undefined;
  /** True where a route sends this dialled number out over a trunk. */
  leadsOut(number: string): boolean;
  /**
   * Whether this extension may call the class of the route for this number; true for a caller that is no extension, or where no
   * route matches.
   */
  mayCall(extension: string, number: string): boolean;
  /** True where the route for this number is for emergencies. */
  isEmergency(number: string): boolean;
  pauseReasons(): readonly PauseReason[];
  /** Secret the endpoints of this extension register with. */
  sipPassword(extension: string): string;
  /** Called after every change; returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
}
