import { ServiceError } from './errors.ts';
import type { Said } from './said.ts';

export interface SharesOptions {
  /** Bytes, slots or another unit that is shared. */
  readonly total: number;
  /** Most that one holder may have, however much is free. */
  readonly most_own?: number;
  readonly retry_after_seconds: number;
  /** Details of the refusals: where the holder has some of it already, and where others hold it. */
  readonly own: Said;
  readonly others: Said;
}
export interface Shares {
  /**
   * Returns the function that gives the amount back. Throws `too_many_requests` where the holder has some already, else
   * `overloaded`.
   */
  take(holder: number | string, amount: number): () => void;
}

/** Shares a total: no holder may have more than what remains free, so that something is left for the next holder. */
export function createShares(options: SharesOptions): Shares {
  const { total, most_own = Infinity, retry_after_seconds, own, others } = options;
  const held = new Map<number | string, number>();
  let all = 0;
  const add = (holder: number | string, amount: number): void => {
    all += amount;
    const now = (held.get(holder) ?? 0) + amount;
    if (now > 0) held.set(holder, now);
    else held.delete(holder);
  };
  return {
    take(holder, amount) {
      const mine = held.get(holder) ?? 0;
      if (mine + amount > Math.min(most_own, total - all - amount)) {
        throw mine > 0
          ? new ServiceError('too_many_requests', own, { retry_after_seconds })
          : new ServiceError('overloaded', others, { retry_after_seconds });
      }
      add(holder, amount);
      let given = false;
      return () => {
        if (given) return;
        given = true;
        add(holder, -amount);
      };
    },
  };
}
