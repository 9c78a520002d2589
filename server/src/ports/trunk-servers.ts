/** The servers of a trunk whose host is a domain with SRV records, or, behind the SIP proxy, a name. */
import type { SiteTrunk } from './site.ts';

/** Further servers of one trunk are left out. */
export const MOST_SERVERS = 8;
export interface TrunkServer {
  /** Name of the server, by which its certificate is checked. */
  readonly host: string;
  readonly port: number;
  /** Its IPv4 addresses, sorted. */
  readonly addresses: readonly string[];
}
/** By name of the trunk, in the order in which they are tried. */
export type TrunkServers = ReadonlyMap<string, readonly TrunkServer[]>;
/** Asks once; throws with one sentence where no usable server is known. */
export type FindServers = (
  trunk: Pick<SiteTrunk, 'host' | 'port' | 'transport' | 'srv'>,
  signal: AbortSignal,
) => Promise<readonly TrunkServer[]>;
/** `vouched`: whether the server is one of the domain; null where it could not be reached. `fault` is one sentence, or null. */
export interface ServerProof {
  readonly vouched: boolean | null;
  readonly fault: string | null;
}
export type ProveServer = (domain: string, server: TrunkServer, signal: AbortSignal) => Promise<ServerProof>;
