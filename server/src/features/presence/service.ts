import type { OwnPresence, PresenceChange } from '@offhook/contract/presence.ts';
import { rfc3339OrNull } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { Lanes } from '../../commands/lanes.ts';
import { say } from '../../core/said.ts';
import type { Log } from '../../core/log.ts';
import type { Principal } from '../../rights/rights.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { DoNotDisturb } from '../../ports/do-not-disturb.ts';
import type { LiveView, PresenceSaid, Said } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { Store } from '../../ports/store.ts';
import { personalDataOf } from './personal-data.ts';
import { createPresenceStore } from './store.ts';
import type { Statement } from './store.ts';

export interface PresenceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Directory;
  readonly live: Pick<LiveView, 'live' | 'features'>;
  readonly doNotDisturb: DoNotDisturb;
  readonly tell: (input: PresenceSaid) => void;
}
export interface PresenceService {
  /** From memory. Throws `forbidden`. */
  read(who: Principal): OwnPresence;
  /**
   * Replaces what the person says; resolves once it is written down and the model shows it. Throws what `read` does,
   * `invalid_request`, `too_many_requests`, `store_unavailable`, and for do not disturb what the engine throws; then nothing is changed.
   */
  change(actor: Actor, change: PresenceChange): Promise<OwnPresence>;
  /** To be called once the model can be told. */
  begin(): void;
  /** To be called after every batch of facts: do not disturb that a phone ended is not said any more. O(1) where nobody changed it. */
  onStepped(): void;
  readonly data: PersonalData;
  close(): Promise<void>;
}

const LONGEST_MS = 366 * 86_400_000;
/** A wait may be longer than timers can, and the machine's clock be set meanwhile. */
const LOOK_MS = 60_000;
const RETRY_MS = 5_000;
/** Changes of one extension that may wait. */
const MOST_WAITING = 10;

/** Runs the migrations and reads what was said. */
export async function createPresence(deps: PresenceDeps): Promise<PresenceService> {
  const { clock, log, directory, live, doNotDisturb } = deps;
  const store = await createPresenceStore(deps.store);
  const statements = await store.load();
  const lanes = new Lanes(
    MOST_WAITING,
    (size, extension) => say`${size} changes of ${extension} are already waiting; try again later`,
  );
  const stopped = new AbortController();
  let woken = new AbortController();
  let running = Promise.resolve();
  let seen: LiveView['features'] | null = null;

  const isOver = (extension: string, { expires_at }: Statement): boolean =>
    (expires_at !== null && expires_at <= clock.now()) || directory.byExtension(extension) === undefined;
  const saidIn = (statement: Statement): Said => {
    const { personal, note, expires_at } = statement;
    return { personal: personal === 'dnd' ? 'not_set' : personal, note, expires_at };
  };
  const tell = (extension: string, said: Said | null): void =>
    deps.tell({ type: 'presence.said', at: clock.now(), people: new Map([[extension, said]]) });
  const keep = async (extension: string, statement: Statement): Promise<void> => {
    const nothing = statement.personal === 'not_set' && statement.note === null;
    await store.save(extension, nothing ? null : statement);
    if (nothing) statements.delete(extension);
    else statements.set(extension, statement);
    tell(extension, nothing ? null : saidIn(statement));
  };
  const ownOf = (extension: string): OwnPresence => {
    const statement = statements.get(extension);
    const said = statement === undefined || isOver(extension, statement) ? undefined : saidIn(statement);
    return {
      personal: doNotDisturb.isOn(extension) ? 'dnd' : (said?.personal ?? 'not_set'),
      note: said?.note ?? null,
      expires_at: rfc3339OrNull(said?.expires_at ?? null),
    };
  };

  /** The time is over: first for everybody to see, then in the engine, and on disk last, so that a start in between goes on. */
  const end = async (extension: string): Promise<void> => {
    const statement = statements.get(extension);
    if (statement === undefined || !isOver(extension, statement)) return;
    tell(extension, null);
    const own = directory.byExtension(extension) !== undefined;
    if (statement.personal === 'dnd' && own && doNotDisturb.isOn(extension)) {
      await doNotDisturb.set(null, extension, false);
    }
    await store.save(extension, null);
    statements.delete(extension);
  };
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      woken = new AbortController();
      let wait = LOOK_MS;
      for (const [extension, statement] of statements) {
        if (!isOver(extension, statement)) continue;
        try {
          await lanes.run(extension, () => end(extension));
        } catch (error) {
          log.warn({ extension, error: messageOf(error) }, 'a presence whose time is over could not end yet');
          wait = RETRY_MS;
        }
      }
      for (const { expires_at } of statements.values()) {
        const left = (expires_at ?? Infinity) - clock.now();
        if (left > 0) wait = Math.min(wait, left);
      }
      await clock.sleep(wait, AbortSignal.any([stopped.signal, woken.signal])).catch(() => undefined);
    }
  };

  const changeIn = async (actor: Actor, extension: string, statement: Statement): Promise<void> => {
    const wasOn = doNotDisturb.isOn(extension);
    const on = statement.personal === 'dnd';
    if (on !== wasOn) await doNotDisturb.set(actor, extension, on);
    try {
      await keep(extension, statement);
    } catch (error) {
      if (on !== wasOn) {
        await doNotDisturb.set(actor, extension, wasOn).catch((failed: unknown) => {
          log.warn({ extension, error: messageOf(failed) }, 'do not disturb could not be put back');
        });
      }
      throw error;
    }
  };
  const ensureOwn = (who: Principal): string => {
    if (who.key !== null || directory.byExtension(who.extension)?.active !== true) {
      throw new ServiceError('forbidden', 'who has no extension has no presence');
    }
    return who.extension;
  };
  const timeOf = ({ personal, note, expires_at }: PresenceChange): number | null => {
    if (expires_at === null) return null;
    const time = Date.parse(expires_at);
    const now = clock.now();
    if (time <= now) throw new ServiceError('invalid_request', 'expires_at: is over already');
    if (time > now + LONGEST_MS)
      throw new ServiceError('invalid_request', 'expires_at: more than 366 days ahead');
    if (personal === 'not_set' && note === null) {
      throw new ServiceError('invalid_request', 'expires_at: nothing is said that could be over');
    }
    return time;
  };

  const forgetGone = directory.onChange(() => {
    if (Array.from(statements).some(([extension, statement]) => isOver(extension, statement))) woken.abort();
  });
  return {
    read: (who) => ownOf(ensureOwn(who)),
    async change(actor, change) {
      const extension = ensureOwn(actor.caller);
      const { personal, note } = change;
      const statement = { personal, note, expires_at: timeOf(change) };
      await lanes.run(extension, () => changeIn(actor, extension, statement));
      woken.abort();
      return ownOf(extension);
    },
    begin() {
      const open = Array.from(statements).filter(([extension, statement]) => !isOver(extension, statement));
      const people = new Map(open.map(([extension, statement]) => [extension, saidIn(statement)]));
      deps.tell({ type: 'presence.said', at: clock.now(), people });
      running = run();
    },
    onStepped() {
      if (!live.live || live.features === seen) return;
      seen = live.features;
      for (const [extension, { personal }] of statements) {
        if (personal !== 'dnd' || doNotDisturb.isOn(extension)) continue;
        const forget = async (): Promise<void> => {
          const now = statements.get(extension);
          if (now?.personal !== 'dnd' || doNotDisturb.isOn(extension)) return;
          await keep(extension, { ...now, personal: 'not_set' });
        };
        lanes.run(extension, forget).catch((error: unknown) => {
          seen = null;
          log.warn({ extension, error: messageOf(error) }, 'what was said could not be written down');
        });
      }
    },
    data: personalDataOf({ statements, lanes, keep }),
    async close() {
      forgetGone();
      stopped.abort();
      await running;
      await lanes.idle();
    },
  };
}
