import type { PersonLevel } from '@offhook/contract/ids.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { messageOf } from '../../core/errors.ts';
import type { LiveLeg } from '../../ports/live.ts';
import type { Common } from '../../ports/common.ts';
import type { CallVerbs } from '../../ports/engine-verbs.ts';

/** A session may also expire, or its person lose the level, without a notice to this feature. */
const LOOK_MS = 5_000;

export interface ListenersDeps extends Common<'live' | 'log'> {
  readonly engine: Pick<CallVerbs, 'sessionOf' | 'hangup'>;
  /** Active persons of those of these sessions that have neither ended nor expired. */
  readonly holders: (
    sessions: readonly number[],
  ) => Promise<ReadonlyMap<number, { readonly level: PersonLevel }>>;
}

/**
 * Ends the listening of supervisors whose session has ended or who may no longer listen. The engine keeps the session with the leg,
 * so this also holds after a restart of the service.
 */
export class Listeners {
  readonly #deps: ListenersDeps;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;
  #again = false;

  constructor(deps: ListenersDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.look(), LOOK_MS);
    this.#timer.unref();
  }
  /** Looks after every listening; resolves once that is done. */
  async look(): Promise<void> {
    this.#again = true;
    this.#looking ??= this.#run().finally(() => (this.#looking = null));
    await this.#looking;
  }
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }
  async #run(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      try {
        await this.#endFormer();
      } catch (error) {
        this.#deps.log.warn({ error: messageOf(error) }, 'listening is looked after again in a moment');
      }
    }
  }
  async #endFormer(): Promise<void> {
    const { engine, holders, live, log } = this.#deps;
    const legs = live.calls().flatMap((call) => (call.placed === 'listen' ? call.legs : []));
    if (legs.length === 0 || !live.live) return;
    const origins = await Promise.all(
      legs.map(async (leg) => [leg, await engine.sessionOf(leg.id)] as const),
    );
    const begun = origins.filter((one): one is [LiveLeg, number] => one[1] !== null);
    const people = await holders([...new Set(begun.map(([, session]) => session))]);
    for (const [leg, session] of begun) {
      const who = people.get(session);
      if (who !== undefined && includesLevel(who.level, 'supervisor')) continue;
      log.info({ leg: leg.id, session }, 'listening ends with the session or the right of its supervisor');
      // One that has ended meanwhile is refused, and any other is found again.
      await engine.hangup(leg.id).catch((error: unknown) => {
        log.debug({ leg: leg.id, error: messageOf(error) }, 'listening is not ended yet');
      });
    }
  }
}
