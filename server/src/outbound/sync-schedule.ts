import type { ConnectorSync } from '@offhook/contract/connectors.ts';
import { rfc3339, rfc3339OrNull } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import { DeliveryLoop } from './delivery-loop.ts';

const EVERY_MS = 3_600_000;
const AFTER_FAILURE_MS = 600_000;

/** The last sync that reached its end: `at` is its beginning. */
export interface SyncEnd {
  readonly at: number | null;
  readonly customers: number;
}
/** Why a sync did not reach its end, in words for an administrator. */
export class SyncFailure extends Error {
  readonly retry_after_seconds: number | null;
  constructor(words: string, retry_after_seconds: number | null = null) {
    super(words);
    this.retry_after_seconds = retry_after_seconds;
  }
}
/** `closed`: begin nothing new. `broken`: end what is in progress. `closing`: end a wait. */
export type SyncStop = Pick<DeliveryLoop, 'broken' | 'closed' | 'closing'>;

/** Runs the sync of one system every hour, and ten minutes after a failure, until `close`. */
export class SyncSchedule<E extends SyncEnd> {
  readonly #parts: SyncScheduleParts<E>;
  readonly #loop: DeliveryLoop;
  #last: E | null = null;
  /** Time of the next sync; null before the last one is read from the store. */
  #next: number | null = null;
  #isRunning = false;
  #wanted = false;
  #words: string | null = null;
  constructor(parts: SyncScheduleParts<E>) {
    this.#parts = parts;
    const { clock } = parts;
    this.#loop = new DeliveryLoop({
      step: () => this.#step(),
      trouble: (error) => {
        this.#fail(error);
        parts.trouble(error);
      },
      clock,
    });
  }
  get state(): ConnectorSync {
    return {
      running: this.#isRunning,
      last_at: rfc3339OrNull(this.#last?.at ?? null),
      customers: this.#last?.customers ?? 0,
      words: this.#words,
      next_at: this.#isRunning || this.#next === null ? null : rfc3339(this.#next),
    };
  }
  /** Begins now; a sync that is under way is followed by another one. */
  start(): void {
    this.#wanted = true;
    this.#loop.wake();
  }
  close(grace: AbortSignal): Promise<void> {
    return this.#loop.close(grace);
  }

  async #step(): Promise<void> {
    const { clock, last, run } = this.#parts;
    this.#last ??= await last();
    const now = clock.now();
    this.#next ??= this.#last.at === null ? now : this.#last.at + EVERY_MS;
    // A sync planned further ahead was planned before the clock was set back.
    const ms = Math.min(this.#next - now, EVERY_MS);
    if (ms > 0 && !this.#wanted) return this.#loop.rest((signal) => clock.sleep(ms, signal));
    this.#wanted = false;
    this.#isRunning = true;
    try {
      const end = await run(this.#last, this.#loop);
      if (end === null) return;
      this.#last = end;
      this.#words = null;
      this.#next = now + EVERY_MS;
    } catch (error) {
      if (!(error instanceof SyncFailure)) throw error;
      this.#fail(error);
    } finally {
      this.#isRunning = false;
    }
  }
  #fail(error: unknown): void {
    const asked = error instanceof SyncFailure ? (error.retry_after_seconds ?? 0) : 0;
    this.#words = messageOf(error);
    this.#next = this.#parts.clock.now() + Math.max(AFTER_FAILURE_MS, asked * 1_000);
  }
}
interface SyncScheduleParts<E extends SyncEnd> {
  readonly clock: Clock;
  /** The end of the last sync, from the store. */
  readonly last: () => Promise<E>;
  /** Null where it was stopped. Throws `SyncFailure` for a fault of the other system or its settings. */
  readonly run: (last: E, stop: SyncStop) => Promise<E | null>;
  /** Receives other errors. */
  readonly trouble: (error: unknown) => void;
}
