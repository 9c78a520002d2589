import { readFileSync, readdirSync } from 'node:fs';

/** File descriptors of this process: limit and current use. */
export interface Descriptors {
  readonly limit: number;
  readonly used: number;
}
/** Null where the system does not report them. Node raises the soft limit to the hard limit at its start. O(descriptors). */
export function descriptors(): Descriptors | null {
  try {
    const text = readFileSync('/proc/self/limits', 'utf8');
    const limit = /^Max open files +(\d+)/m.exec(text)?.[1];
    // Reading the folder opens one descriptor itself.
    return limit === undefined
      ? null
      : { limit: Number(limit), used: readdirSync('/proc/self/fd').length - 1 };
  } catch {
    return null;
  }
}
/**
 * Limit of open connections: a quarter of the descriptors is reserved for databases, call records, exports, recordings, the
 * engine and the second socket of relayed connections.
 */
export const connectionsFor = ({ limit }: Pick<Descriptors, 'limit'>, most: number): number =>
  Math.min(most, Math.max(1, limit - Math.max(64, Math.ceil(limit / 4))));
/** False when too few descriptors are left for work that opens files. */
export const enough = ({ limit, used }: Descriptors): boolean =>
  limit - used >= Math.max(16, Math.min(64, limit / 16));
