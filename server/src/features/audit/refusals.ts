import { createRateLimit } from '../../core/rate-limit.ts';
import { networkOf } from '../../core/networks.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';

/**
 * Rate of refusals of one person, or of one network for unknown people, that are written as lines of their own; a
 * person at a keyboard stays below it.
 */
const RATE = { burst: 60, per_second: 1 };
/** Limit of separately counted kinds; further ones are added to the total of their person. */
const MAX_KINDS = 500;

interface Counted {
  entry: AuditEntry;
  times: number;
  readonly since: number;
}
/** Counts refusals of a flood and writes one line for each kind. */
export interface Refusals {
  /** True when the refusal is only counted and gets no line of its own. */
  counts(entry: AuditEntry): boolean;
  /** Lines of the refusals counted since the last call. */
  take(): AuditEntry[];
  /** Takes back lines that could not be written, up to `MAX_KINDS`. */
  giveBack(entries: readonly AuditEntry[]): void;
}

export function createRefusals(clock: Clock): Refusals {
  const limit = createRateLimit(clock, RATE);
  let counted = new Map<string, Counted>();
  let unwritten: AuditEntry[] = [];
  return {
    counts(entry) {
      if (entry.outcome !== 'refused') return false;
      const who = entry.actor ?? `network ${networkOf(entry.ip ?? '')}`;
      try {
        limit.take(who);
        return false;
      } catch {
        const kind = JSON.stringify([who, entry.action, entry.detail?.['code'] ?? entry.detail?.['reason']]);
        const known = counted.get(counted.size < MAX_KINDS || counted.has(kind) ? kind : who);
        if (known === undefined) {
          counted.set(counted.size < MAX_KINDS ? kind : who, { entry, times: 1, since: clock.now() });
        } else {
          const object = known.entry.object === entry.object ? entry.object : null;
          known.entry = { ...entry, action: known.entry.action, object };
          known.times += 1;
        }
        return true;
      }
    },
    take() {
      const lines = [...counted.values()].map(({ entry, times, since }) => ({
        ...entry,
        detail: { ...entry.detail, times, since: rfc3339(since) },
      }));
      counted = new Map();
      const all = [...unwritten, ...lines];
      unwritten = [];
      return all;
    },
    giveBack(entries) {
      unwritten = [...entries, ...unwritten].slice(0, MAX_KINDS);
    },
  };
}
