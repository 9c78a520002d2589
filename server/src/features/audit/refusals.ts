import { createRateLimit } from '../../core/rate-limit.ts';
import { networkOf } from '../../core/networks.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';

/** Refusals of one person, or of one network where the person is unknown, that have a line each: more than hands make. */
const RATE = { burst: 60, per_second: 1 };
/** Kinds of refusals that are counted apart; one more is counted with all others of its person. */
const MAX_KINDS = 500;

interface Counted {
  entry: AuditEntry;
  times: number;
  readonly since: number;
}
/** What is refused in a flood is counted, and written as one line for each kind. */
export interface Refusals {
  /** True where this one is counted and has no line of its own. */
  counts(entry: AuditEntry): boolean;
  /** The lines of what was counted since the last time. */
  take(): AuditEntry[];
  /** They could not be written. */
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
