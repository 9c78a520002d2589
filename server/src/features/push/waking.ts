/**
 * Wakes apps for calls. The engine's own store has the extensions with an app, so that the dialplan holds a call only for those;
 * it reports each held call, and waits on only while the answer of the service says so.
 */
import { Backoff } from '../../core/backoff.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PushVerbs, WakeRequest } from '../../ports/engine.ts';
import type { Push } from './service.ts';

const RETRY = { first_ms: 500, most_ms: 60_000, spread: [0.5, 1] } as const;

export interface WakingDeps {
  readonly push: Push;
  readonly engine: PushVerbs;
  /** Longest time for which a call is held, in seconds. */
  readonly wait_seconds: number;
  readonly clock: Clock;
  readonly log: Log;
}

export class Waking {
  readonly #deps: WakingDeps;
  readonly #end = new AbortController();
  readonly #backoff = new Backoff(RETRY);
  #isUp = false;
  #wanted = 0;
  #syncing: Promise<void> | null = null;

  constructor(deps: WakingDeps) {
    this.#deps = deps;
    deps.push.onChange(() => this.#sync());
  }
  /** The engine is there again. */
  again(): void {
    this.#isUp = true;
    this.#backoff.reset();
    this.#sync();
  }
  /** The dialplan holds a call for an app. */
  async asked({ extension, channel, call }: WakeRequest): Promise<void> {
    const { push, wait_seconds, log } = this.#deps;
    try {
      const data = { type: 'incoming_call', extension, call_id: call };
      const sent = await push.wake(extension, data, wait_seconds, (results) => {
        if (!results.some(({ outcome }) => outcome === 'accepted')) this.#answer(channel, null);
      });
      this.#answer(channel, sent === 0 ? null : wait_seconds);
    } catch (error) {
      this.#answer(channel, null);
      log.warn({ error: messageOf(error), extension }, 'an app could not be woken');
    }
  }
  async close(): Promise<void> {
    this.#end.abort();
    await this.#syncing;
  }

  /** A call that has ended meanwhile has no channel that could be answered. */
  #answer(channel: string, seconds: number | null): void {
    this.#deps.engine.answerWake(channel, seconds, { signal: this.#end.signal }).catch((error: unknown) => {
      this.#deps.log.debug({ error: messageOf(error) }, 'the call that waited for an app is over');
    });
  }
  #sync(): void {
    this.#wanted += 1;
    if (!this.#isUp || this.#end.signal.aborted) return;
    this.#syncing ??= this.#run().finally(() => (this.#syncing = null));
  }
  async #run(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#end;
    while (!signal.aborted) {
      const wanted = this.#wanted;
      try {
        await this.#compare();
        this.#backoff.reset();
        if (wanted === this.#wanted) return;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ServiceError && error.code === 'engine_unavailable') {
          this.#isUp = false;
          return;
        }
        log.warn({ error: messageOf(error) }, 'extensions with an app could not be stored in the engine');
        await clock.sleep(this.#backoff.next(), signal).catch(() => {});
      }
    }
  }
  /** Makes the engine's store as the registrations are. */
  async #compare(): Promise<void> {
    const { engine, push } = this.#deps;
    const { signal } = this.#end;
    const changes = new Map<string, true | null>();
    const wanted = push.wakeable();
    await engine.storedWakeable(
      (extension) => {
        if (!wanted.delete(extension)) changes.set(extension, null);
      },
      { signal },
    );
    for (const extension of wanted) changes.set(extension, true);
    await engine.keepWakeable(changes, { signal });
  }
}
