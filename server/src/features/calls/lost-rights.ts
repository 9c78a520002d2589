import type { PersonLevel } from '@offhook/contract/ids.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { messageOf } from '../../core/errors.ts';
import { extensionOfDevice } from '../../ports/directory.ts';
import type { LiveCall, LiveLeg } from '../../ports/live.ts';
import type { Common } from '../../ports/common.ts';
import type { CallVerbs } from '../../ports/engine-verbs.ts';

/** A session may also expire, or its person lose the level, without a notice to this feature. */
const LOOK_MS = 5_000;

export interface LostRightsDeps extends Common<'directory' | 'live' | 'log'> {
  readonly engine: Pick<CallVerbs, 'sessionOf' | 'hangup'>;
  /** Active persons of those of these sessions that have neither ended nor expired. */
  readonly holders: (
    sessions: readonly number[],
  ) => Promise<ReadonlyMap<number, { readonly level: PersonLevel }>>;
}
interface Lost {
  readonly leg: LiveLeg;
  readonly why: string;
}

/**
 * Ends the legs of persons without a right to them: the listening of supervisors whose session has ended or who may no longer
 * listen, and every leg of a person who was deactivated or removed, or whose extension has a new holder; emergency calls go on.
 * Each look decides by the present state, so this also holds after a restart of the service.
 */
export class LostRights {
  readonly #deps: LostRightsDeps;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;
  #again = false;

  constructor(deps: LostRightsDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.look(), LOOK_MS);
    this.#timer.unref();
  }
  /** Looks after every leg; resolves once that is done. */
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
        await this.#endAll();
      } catch (error) {
        this.#deps.log.warn(
          { error: messageOf(error) },
          'calls without a right are looked for again in a moment',
        );
      }
    }
  }
  async #endAll(): Promise<void> {
    const { engine, live, log } = this.#deps;
    if (!live.live) return;
    const end = async ({ leg, why }: Lost): Promise<void> => {
      try {
        await engine.hangup(leg.id);
        log.info({ leg: leg.id, endpoint: leg.endpoint }, why);
      } catch (error) {
        // One that has ended meanwhile is refused, and any other is found again.
        log.debug({ leg: leg.id, error: messageOf(error) }, 'a leg without a right is not ended yet');
      }
    };
    const calls = live.calls();
    await Promise.all(this.#ofFormerHolders(calls).map(end));
    await Promise.all((await this.#ofFormerListeners(calls)).map(end));
  }
  #ofFormerHolders(calls: readonly LiveCall[]): readonly Lost[] {
    const { directory } = this.#deps;
    const isHeld = (leg: LiveLeg): boolean => {
      const extension = extensionOfDevice(leg.endpoint ?? '') ?? leg.extension;
      if (extension === null) return true;
      const began = leg.answered_at ?? leg.since;
      return (
        directory.byExtension(extension)?.active === true && began >= (directory.heldSince?.(extension) ?? 0)
      );
    };
    const isEmergency = ({ numbers }: LiveCall): boolean =>
      numbers.some((number) => directory.isEmergency(number));
    // The routes of a call are searched only where one of its legs would end.
    return calls
      .flatMap((call) => call.legs.filter((leg) => !isHeld(leg) && !isEmergency(call)))
      .map((leg) => ({ leg, why: 'a call ends because its person may no longer use the extension' }));
  }
  async #ofFormerListeners(calls: readonly LiveCall[]): Promise<readonly Lost[]> {
    const legs = calls.flatMap((call) => (call.placed === 'listen' ? call.legs : []));
    if (legs.length === 0) return [];
    const { engine, holders } = this.#deps;
    const begun = await Promise.all(
      legs.map(async (leg) => ({ leg, session: await engine.sessionOf(leg.id) })),
    );
    const people = await holders([...new Set(begun.flatMap(({ session }) => session ?? []))]);
    const mayListen = (session: number): boolean => {
      const who = people.get(session);
      return who !== undefined && includesLevel(who.level, 'supervisor');
    };
    return begun
      .filter(({ session }) => session !== null && !mayListen(session))
      .map(({ leg }) => ({ leg, why: 'listening ends with the session or the right of its supervisor' }));
  }
}
