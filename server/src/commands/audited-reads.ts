import type { Audit } from '../ports/audit.ts';
import type { Clock } from '../ports/clock.ts';
import type { Caller } from '../ports/http.ts';
import type { Line } from './audited.ts';

/** A repeat of a read by the same session within this time has no entry of its own. */
export const SAME_READ_MS = 5 * 60_000;
const MOST_REMEMBERED = 10_000;

export interface AuditedReadsOptions {
  readonly audit: Audit;
  readonly clock: Clock;
  /** `first`: an entry at least every five minutes. `last`: none while each read follows within five minutes of the one before. */
  readonly since: 'first' | 'last';
}
interface Read {
  readonly at: number;
  readonly stored: Promise<void>;
}
/** Audits successful reads before the content is sent, so that repeats cannot fill the audit trail. */
export class AuditedReads {
  readonly #options: AuditedReadsOptions;
  /** By session and object; the oldest first. */
  readonly #reads = new Map<string, Read>();
  constructor(options: AuditedReadsOptions) {
    this.#options = options;
  }
  /** Resolves once the entry of this read, or of the one it repeats, is stored. Throws `store_unavailable`. */
  async record({ person_id, session_id }: Caller, what: string, line: Line): Promise<void> {
    const { audit, clock, since } = this.#options;
    const key = `${person_id} ${session_id} ${what}`;
    const at = clock.now();
    const before = this.#reads.get(key);
    // A clock that was set back makes no read a repeat.
    if (before !== undefined && at >= before.at && at - before.at <= SAME_READ_MS) {
      if (since === 'last') this.#remember(key, { ...before, at });
      await before.stored;
      return;
    }
    const stored = audit.record({ ...line, outcome: 'ok' });
    this.#remember(key, { at, stored });
    try {
      await stored;
    } catch (error) {
      // The next read writes it again.
      if (this.#reads.get(key)?.stored === stored) this.#reads.delete(key);
      throw error;
    }
  }

  #remember(key: string, read: Read): void {
    this.#reads.delete(key);
    this.#reads.set(key, read);
    if (this.#reads.size > MOST_REMEMBERED) this.#reads.delete(this.#reads.keys().next().value!);
  }
}
