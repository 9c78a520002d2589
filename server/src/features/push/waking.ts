/**
 * Wakes apps for calls. The engine's own store has the extensions with an app, so that the dialplan holds calls only
 * for these. The dialplan reports each held call, and the reply sets how long it waits for the app to register.
 */
import { EngineCopy } from '../../commands/engine-copy.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PushVerbs, WakeRequest } from '../../ports/engine-verbs.ts';
import type { PushWakeable } from '../../ports/live.ts';
import type { Push } from './service.ts';

export interface WakingDeps {
  readonly push: Push;
  readonly engine: PushVerbs;
  /** Reports the extensions with an app to the live model. */
  readonly tell: (input: PushWakeable) => void;
  /** Longest time for which a call is held, in seconds. */
  readonly wait_seconds: number;
  readonly clock: Clock;
  readonly log: Log;
}

export class Waking {
  readonly #deps: WakingDeps;
  readonly #copy: EngineCopy;
  /** True from the first connect of the engine; the model gets no report before it. */
  #begun = false;

  constructor(deps: WakingDeps) {
    this.#deps = deps;
    this.#copy = new EngineCopy({
      compare: (signal) => this.#compare(signal),
      failed: 'extensions with an app could not be stored in the engine',
      ...deps,
    });
    deps.push.onChange(() => {
      this.#copy.changed();
      if (this.#begun) this.#report();
    });
  }
  /** Call after each connect of the engine. */
  again(): void {
    this.#begun = true;
    this.#report();
    this.#copy.again();
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
  close(): Promise<void> {
    return this.#copy.close();
  }

  #report(): void {
    const { clock, push, tell } = this.#deps;
    tell({ type: 'push.wakeable', at: clock.now(), extensions: push.wakeable() });
  }
  /** Sends the reply for a held call; an error only means that the call has ended. */
  #answer(channel: string, seconds: number | null): void {
    this.#deps.engine.answerWake(channel, seconds, { signal: this.#copy.signal }).catch((error: unknown) => {
      this.#deps.log.debug({ error: messageOf(error) }, 'the call that waited for an app is over');
    });
  }
  /** Makes the engine's store match the registrations. */
  async #compare(signal: AbortSignal): Promise<void> {
    const { engine, push } = this.#deps;
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
