import { readFileSync, readdirSync } from 'node:fs';

/** Of file descriptors: how many this process may have open, and has. */
export interface Descriptors {
  readonly limit: number;
  readonly used: number;
}
/** What Node itself raised to the hard limit at its start; null where the system does not tell. O(descriptors). */
export function descriptors(): Descriptors | null {
  try {
    const text = readFileSync('/proc/self/limits', 'utf8');
    const limit = /^Max open files +(\d+)/m.exec(text)?.[1];
    // The one the folder is read with is among them.
    return limit === undefined
      ? null
      : { limit: Number(limit), used: readdirSync('/proc/self/fd').length - 1 };
  } catch {
    return null;
  }
}
/**
 * How many connections may be open at once: a quarter of the descriptors stays for the databases, call records, exports,
 * recordings, the engine, and the second socket of what is relayed to it.
 */
export const connectionsFor = ({ limit }: Pick<Descriptors, 'limit'>, most: number): number =>
  Math.min(most, Math.max(1, limit - Math.max(64, Math.ceil(limit / 4))));
/** False where so few are left that work which opens files will fail soon. */
export const enough = ({ limit, used }: Descriptors): boolean =>
  limit - used >= Math.max(16, Math.min(64, limit / 16));
