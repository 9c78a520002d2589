import type { Clock } from '../../../ports/clock.ts';

/*
 * stopped ──start()──> starting ──booted──> running ──┐
 *    ^                    ^  │                         ├─ it ends ─> backoff ──(0.5 s … 30 s)──> starting
 *    │                    │  └──── ends at once ───────┘                ^
 *    └── stop() from any state      adopted (was there already) ────────┘
 */
export type EngineState = 'stopped' | 'starting' | 'running' | 'backoff' | 'adopted';
export interface EngineProcessStatus {
  readonly state: EngineState;
  readonly pid: number | null;
  /** Start of this state, milliseconds since 1970. */
  readonly since: number;
  /** Number of restarts since `start()`. */
  readonly restarts: number;
  /** Why it last ended or did not start, with its last lines; null without a failure. */
  readonly last_error: string | null;
}
/** Changes kept for one slow reader. */
const QUEUE = 64;

/** The status of the engine's process, with the readers of its changes. */
export class ProcessStatus {
  readonly #clock: Clock;
  readonly #readers = new Set<(status: EngineProcessStatus) => void>();
  #now: EngineProcessStatus;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#now = { state: 'stopped', pid: null, since: clock.now(), restarts: 0, last_error: null };
  }
  get now(): EngineProcessStatus {
    return this.#now;
  }
  enter(
    state: EngineState,
    pid: number | null,
    more: Partial<Pick<EngineProcessStatus, 'restarts' | 'last_error'>> = {},
  ): void {
    this.#now = { ...this.#now, pid, ...more, state, since: this.#clock.now() };
    for (const read of this.#readers) read(this.#now);
  }
  /** The present status, then every change, until the signal aborts. A slow reader misses the oldest. */
  async *changes(signal: AbortSignal): AsyncGenerator<EngineProcessStatus> {
    const waiting: EngineProcessStatus[] = [this.#now];
    let wake: () => void = () => undefined;
    const read = (next: EngineProcessStatus): void => {
      waiting.push(next);
      if (waiting.length > QUEUE) waiting.shift();
      wake();
    };
    const abort = (): void => wake();
    this.#readers.add(read);
    signal.addEventListener('abort', abort, { once: true });
    try {
      while (!signal.aborted) {
        const next = waiting.shift();
        if (next) yield next;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#readers.delete(read);
      signal.removeEventListener('abort', abort);
    }
  }
}
