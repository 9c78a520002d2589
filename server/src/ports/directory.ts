import type { PersonLevel } from '@offhook/contract/ids.ts';

export type EndpointKind = 'sip' | 'webrtc' | 'mobile';
/** One device an extension can be reached at. */
export interface Endpoint {
  readonly name: string;
  readonly kind: EndpointKind;
}
/** An internal phone user. */
export interface Person {
  readonly id: number;
  readonly extension: string;
  readonly username: string;
  readonly name: string;
  readonly email: string | null;
  readonly mobile: string | null;
  readonly department: string | null;
  /** People of one group may pick up each other's ringing calls; null for nobody's. */
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
  /** Of those agents who have one: the higher it is, the later they are rung. */
  readonly penalties?: ReadonlyMap<string, number>;
}
/** A connection to a carrier or another exchange; `endpoint` is its name in the engine. */
export interface TrunkEntry {
  readonly name: string;
  readonly title: string;
  readonly endpoint: string;
}
/** Reasons in order: the first is the default, `*22<n>` takes the n-th. `id` is a slug the engine can keep. */
export interface PauseReason {
  readonly id: string;
  readonly name: string;
  readonly paid: boolean;
  /** After that it is marked as too long; null for no limit. */
  readonly longest_seconds: number | null;
  /** Agents cannot give it to themselves. */
  readonly supervisor_only: boolean;
}

/**
 * Who and what the exchange knows, in memory, O(1) by key. The owner is features/pbx-config.
 * `version` grows by one with every change.
 */
export interface Directory {
  readonly version: number;
  people(): readonly Person[];
  byExtension(extension: string): Person | undefined;
  byUsername(username: string): Person | undefined;
  byEndpoint(endpoint: string): Person | undefined;
  /** Time when the current holder received the extension, ms since 1970; 0 or undefined for its first holder. */
  heldSince?(extension: string): number;
  /** Time when the site was given the person with this id, ms since 1970; 0 or undefined where that is not known. */
  knownSince?(person: number): number;
  queues(): readonly QueueEntry[];
  queue(name: string): QueueEntry | undefined;
  queuesOf(extension: string): readonly QueueEntry[];
  trunks(): readonly TrunkEntry[];
  trunkByEndpoint(endpoint: string): TrunkEntry | undefined;
  /** True where a route leads this number, as it is dialled, over a trunk. */
  leadsOut(number: string): boolean;
  /** Whether the route that leads there is of a class this extension may call; true for who is no extension, or where none leads. */
  mayCall(extension: string, number: string): boolean;
  /** True where the route that leads there is for emergencies. */
  isEmergency(number: string): boolean;
  pauseReasons(): readonly PauseReason[];
  /** Secret the endpoints of this extension register with. */
  sipPassword(extension: string): string;
  /** Called after every change; returns the way to stop. */
  onChange(listener: () => void): () => void;
}
