import type { LogHolder } from './site-log.ts';

/** Report of a node about itself. */
export interface NodeReport {
  /** e.g. `a`; unique in the site. */
  readonly name: string;
  /** Identity under which the node takes the site's log. */
  readonly holder: LogHolder;
  /** Address for clients. */
  readonly url: string;
  /** `home`: its engine has people and queues of its own, and it never leads. */
  readonly role: 'active' | 'standby' | 'web' | 'home';
  /** `none` at a web node. */
  readonly engine: 'up' | 'down' | 'none';
  /** Version of the configuration that its engine holds, or that a web node checks rights by; null for none yet. */
  readonly version: number | null;
  /** Why its engine does not hold the newest version; null where it does. */
  readonly problem: string | null;
  /** Newest seq in its copy of the log; null where it does not report it. */
  readonly head: number | null;
  /** Calls at its engine; null where that is not known or was not asked for. */
  readonly calls: number | null;
  /** Whether NATS answers it; null where it uses none. */
  readonly bus: boolean | null;
  /** `host:port` of its SIP; null where it does not report one. */
  readonly sip?: string | null;
}
export interface SeenNode extends NodeReport {
  /** Seconds since its last report, by the clock of the record. */
  readonly seconds: number;
  /** True for the one that holds the site's log. */
  readonly holds: boolean;
  /** Events of the log that its copy lacks; null where that is not known. */
  readonly behind: number | null;
  /** Seconds until it passes the site on with the calls that are left, negative afterwards; null where it is not being drained. */
  readonly drain: number | null;
}

/** A desk phone that is registered through the SIP proxy. */
export interface ContactAddress {
  readonly endpoint: string;
  /** Address of the phone itself. */
  readonly uri: string;
  /** Value of the SIP header `Path`, by which requests reach the phone. */
  readonly path: string;
  /** End of the registration, unix seconds. */
  readonly until: number;
}
/** The nodes of a site, kept beside its log. Every method rejects with `ServiceError('store_unavailable')` while it is away. */
export interface SiteNodes {
  /** Replaces the report of this node. False, with nothing changed, where another folder reported under its name in the last minute. */
  report(node: NodeReport): Promise<boolean>;
  /** By name; an engine node that was silent for 30 days is forgotten, a web node after a day. */
  list(): Promise<readonly SeenNode[]>;
  /** Forgets a node that ended, so that its name is free. */
  forget(node: Pick<NodeReport, 'name' | 'holder'>): Promise<void>;
  /** Asks the active node to pass the site on to `name`; null takes the wish back. */
  wish(name: string | null): Promise<void>;
  /**
   * Drains the node `name` until `drain(name, null)`: it does not become active any more, and passes the site on once it has no call, in
   * `seconds` at the latest. False where there is no such node.
   */
  drain(name: string, seconds: number | null): Promise<boolean>;
  /** Name of the node that shall become active; null without a requested switch. */
  wished(): Promise<string | null>;
  /** Replaces contact addresses of the same endpoint and `uri`; nothing where another node than `holder` holds the log. */
  keepAddresses(holder: LogHolder, addresses: readonly ContactAddress[]): Promise<void>;
  /** Contact addresses that were changed after `mark`, and the mark after them; one that is over stays for an hour. */
  addresses(mark: number): Promise<{ readonly mark: number; readonly addresses: readonly ContactAddress[] }>;
  /** The site's key: `own` where there was none yet. */
  key(own: Buffer): Promise<Buffer>;
  close(): Promise<void>;
}
