/** Branded identifiers. An id of the engine always carries its node: `ast1:1763683200.42`. */
declare const brand: unique symbol;
type Brand<T, B extends string> = T & { readonly [brand]: B };

/** One engine instance, e.g. `ast1`. */
export type NodeId = Brand<string, 'NodeId'>;
/** A dialled number of the site, always a string of digits on the wire. */
export type Extension = Brand<string, 'Extension'>;
/** `<node>:<engine channel id>`. */
export type ChannelId = Brand<string, 'ChannelId'>;
/** `<node>:<id of the first channel>`; stable over transfers. */
export type CallId = Brand<string, 'CallId'>;
/** `<node>:<engine bridge id>`. */
export type BridgeId = Brand<string, 'BridgeId'>;
/** One ring of one agent for one queue call: `<queue>:<caller channel>:<agent channel>`. */
export type OfferId = Brand<string, 'OfferId'>;

export const nodeId = (s: string): NodeId => s as NodeId;
export const extension = (s: string): Extension => s as Extension;
export const channelId = (node: NodeId, id: string): ChannelId => `${node}:${id}` as ChannelId;
export const callId = (node: NodeId, id: string): CallId => `${node}:${id}` as CallId;
export const bridgeId = (node: NodeId, id: string): BridgeId => `${node}:${id}` as BridgeId;
/** Node of such an id. */
export const nodeOf = (id: string): NodeId => nodeId(id.slice(0, id.indexOf(':')));

/** Levels of access, lowest first; each includes the ones before it. */
export const LEVELS = ['public', 'user', 'agent', 'supervisor', 'admin'] as const;
export type Level = (typeof LEVELS)[number];
/** The level a signed-in person can have. */
export type PersonLevel = Exclude<Level, 'public'>;
/** True when `has` is at least `needs`. */
export const includesLevel = (has: Level, needs: Level): boolean =>
  LEVELS.indexOf(has) >= LEVELS.indexOf(needs);
/** Roles as existing clients name them, one per level. */
export const ROLE_OF_LEVEL = {
  user: 'user',
  agent: 'cc_agent',
  supervisor: 'cc_manager',
  admin: 'admin',
} as const;
export const ROLE_NAME_OF_LEVEL = {
  user: 'User',
  agent: 'Agent',
  supervisor: 'Supervisor',
  admin: 'Administrator',
} as const;
