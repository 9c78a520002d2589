import type { OwnPresence, PresenceChange } from '@offhook/contract/presence.ts';
import { rfc3339OrNull } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { Lanes } from '../../commands/lanes.ts';
import { say } from '../../core/said.ts';
import type { Principal } from '../../rights/rights.ts';
import type { DoNotDisturb } from '../../ports/do-not-disturb.ts';
import type { LiveView, PresenceSaid, Said } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import { personalDataOf } from './personal-data.ts';
import { createPresenceStore } from './store.ts';
import type { PresenceStore, Statement } from './store.ts';

export interface PresenceDeps extends Common<'clock' | 'directory' | 'log' | 'store'> {
  readonly live: Pick<LiveView, 'live' | 'features'>;
  readonly doNotDisturb: DoNotDisturb;
  readonly tell: (input: PresenceSaid) => void;
}

const LONGEST_MS = 366 * 86_400_000;
/** Longest wait: timers have a limit, and a change of the machine's clock is noticed at its end. */
const LOOK_MS = 60_000;
const RETRY_MS = 5_000;
/** Limit of waiting changes of one extension. */
const MOST_WAITING = 10;

function saidIn(statement: Statement): Said {
  const { personal, note, expires_at } = statement;
  return { personal: personal === 'dnd' ? 'not_set' : personal, note, expires_at };
}

/** Statements of persons about their own presence, including do not disturb. */
export class Presence {
  readonly #deps: PresenceDeps;
  readonly #store: PresenceStore;
  readonly #statements: Map<string, Statement>;
  readonly #lanes = new Lanes(
    MOST_WAITING,
    (size, extension) => say`${size} changes of ${extension} are already waiting; try again later`,
  );
  readonly #stopped = new AbortController();
  readonly #forgetGone: () => void;
  #woken = new AbortController();
  #running = Promise.resolve();
  #seen: LiveView['features'] | null = null;
  readonly data: PersonalData;

  /** Runs the migrations and reads the statements; the directory must know the holders. */
  static async open(deps: PresenceDeps): Promise<Presence> {
    const store = await createPresenceStore(deps.store);
    const statements = await store.load((extension) => deps.directory.byExtension(extension)?.id ?? null);
    return new Presence(deps, store, statements);
  }
  private constructor(deps: PresenceDeps, store: PresenceStore, statements: Map<string, Statement>) {
    this.#deps = deps;
    this.#store = store;
    this.#statements = statements;
    const keep = (extension: string, statement: Statement): Promise<void> => this.#keep(extension, statement);
    this.data = personalDataOf({ statements, lanes: this.#lanes, keep });
    this.#forgetGone = deps.directory.onChange(() => {
      if (Array.from(statements).some(([extension, statement]) => this.#isOver(extension, statement)))
        this.#woken.abort();
    });
  }
  /** From memory. Throws `forbidden`. */
  read(who: Principal): OwnPresence {
    return this.#ownOf(this.#ensureOwn(who));
  }
  /**
   * Replaces the statement of a person; resolves once it is stored and the model shows it. Throws the errors of `read`,
   * `invalid_request`, `too_many_requests`, `store_unavailable`, and for do not disturb those of the engine. After an
   * error nothing has changed.
   */
  async change(actor: Actor, change: PresenceChange): Promise<OwnPresence> {
    const extension = this.#ensureOwn(actor.caller);
    const { personal, note } = change;
    const person = this.#deps.directory.byExtension(extension)?.id ?? null;
    const statement = { personal, note, expires_at: this.#timeOf(change), person };
    await this.#lanes.run(extension, () => this.#changeIn(actor, extension, statement));
    this.#woken.abort();
    return this.#ownOf(extension);
  }
  /** Call it once the model accepts input. */
  begin(): void {
    const open = [...this.#statements].filter(
      ([extension, statement]) => !this.#isOver(extension, statement),
    );
    const people = new Map(open.map(([extension, statement]) => [extension, saidIn(statement)]));
    this.#deps.tell({ type: 'presence.said', at: this.#deps.clock.now(), people });
    this.#running = this.#run();
  }
  /**
   * Call it after every batch of facts: drops a do-not-disturb statement that the phone has ended. O(1)
   * without a change.
   */
  onStepped(): void {
    const { log, live, doNotDisturb } = this.#deps;
    if (!live.live || live.features === this.#seen) return;
    this.#seen = live.features;
    for (const [extension, { personal }] of this.#statements) {
      if (personal !== 'dnd' || doNotDisturb.isOn(extension)) continue;
      const forget = async (): Promise<void> => {
        const now = this.#statements.get(extension);
        if (now?.personal !== 'dnd' || doNotDisturb.isOn(extension)) return;
        await this.#keep(extension, { ...now, personal: 'not_set' });
      };
      this.#lanes.run(extension, forget).catch((error: unknown) => {
        this.#seen = null;
        log.warn({ extension, error: messageOf(error) }, 'the end of a personal status could not be stored');
      });
    }
  }
  async close(): Promise<void> {
    this.#forgetGone();
    this.#stopped.abort();
    await this.#running;
    await this.#lanes.idle();
  }

  /** True for an expired statement, and for one of a person who no longer holds the extension. */
  #isOver(extension: string, { expires_at, person }: Statement): boolean {
    const { clock, directory } = this.#deps;
    if (expires_at !== null && expires_at <= clock.now()) return true;
    return directory.byExtension(extension)?.id !== person;
  }
  #tell(extension: string, said: Said | null): void {
    this.#deps.tell({
      type: 'presence.said',
      at: this.#deps.clock.now(),
      people: new Map([[extension, said]]),
    });
  }
  async #keep(extension: string, statement: Statement): Promise<void> {
    const nothing = statement.personal === 'not_set' && statement.note === null;
    await this.#store.save(extension, nothing ? null : statement);
    if (nothing) this.#statements.delete(extension);
    else this.#statements.set(extension, statement);
    this.#tell(extension, nothing ? null : saidIn(statement));
  }
  #ownOf(extension: string): OwnPresence {
    const statement = this.#statements.get(extension);
    const said =
      statement === undefined || this.#isOver(extension, statement) ? undefined : saidIn(statement);
    return {
      personal: this.#deps.doNotDisturb.isOn(extension) ? 'dnd' : (said?.personal ?? 'not_set'),
      note: said?.note ?? null,
      expires_at: rfc3339OrNull(said?.expires_at ?? null),
    };
  }
  /**
   * Ends a statement that is over: in the model first, then in the engine, on disk last, so that the service ends it again
   * after a restart in between.
   */
  async #end(extension: string): Promise<void> {
    const { directory, doNotDisturb } = this.#deps;
    const statement = this.#statements.get(extension);
    if (statement === undefined || !this.#isOver(extension, statement)) return;
    this.#tell(extension, null);
    const own = directory.byExtension(extension) !== undefined;
    if (statement.personal === 'dnd' && own && doNotDisturb.isOn(extension)) {
      await doNotDisturb.set(null, extension, false);
    }
    await this.#store.save(extension, null);
    this.#statements.delete(extension);
  }
  async #run(): Promise<void> {
    const { clock, log } = this.#deps;
    while (!this.#stopped.signal.aborted) {
      this.#woken = new AbortController();
      let wait = LOOK_MS;
      for (const [extension, statement] of this.#statements) {
        if (!this.#isOver(extension, statement)) continue;
        try {
          await this.#lanes.run(extension, () => this.#end(extension));
        } catch (error) {
          log.warn(
            { extension, error: messageOf(error) },
            'a personal status past its end could not be cleared yet',
          );
          wait = RETRY_MS;
        }
      }
      for (const { expires_at } of this.#statements.values()) {
        const left = (expires_at ?? Infinity) - clock.now();
        if (left > 0) wait = Math.min(wait, left);
      }
      await clock
        .sleep(wait, AbortSignal.any([this.#stopped.signal, this.#woken.signal]))
        .catch(() => undefined);
    }
  }
  async #changeIn(actor: Actor, extension: string, statement: Statement): Promise<void> {
    const { log, doNotDisturb } = this.#deps;
    const wasOn = doNotDisturb.isOn(extension);
    const on = statement.personal === 'dnd';
    if (on !== wasOn) await doNotDisturb.set(actor, extension, on);
    try {
      await this.#keep(extension, statement);
    } catch (error) {
      if (on !== wasOn) {
        await doNotDisturb.set(actor, extension, wasOn).catch((failed: unknown) => {
          log.warn({ extension, error: messageOf(failed) }, 'do not disturb could not be restored');
        });
      }
      throw error;
    }
  }
  #ensureOwn(who: Principal): string {
    if (who.key !== null || this.#deps.directory.byExtension(who.extension)?.active !== true) {
      throw new ServiceError('forbidden', 'presence needs an extension, and you have none');
    }
    return who.extension;
  }
  #timeOf({ personal, note, expires_at }: PresenceChange): number | null {
    if (expires_at === null) return null;
    const time = Date.parse(expires_at);
    const now = this.#deps.clock.now();
    if (time <= now) throw new ServiceError('invalid_request', 'expires_at: must be in the future');
    if (time > now + LONGEST_MS)
      throw new ServiceError('invalid_request', 'expires_at: must be at most 366 days ahead');
    if (personal === 'not_set' && note === null) {
      throw new ServiceError('invalid_request', 'expires_at: needs an activity or a note to expire');
    }
    return time;
  }
}
