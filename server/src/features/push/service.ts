/** Apps of mobile phones that a call wakes by a push. */
import { PUSH_PLATFORMS } from '@offhook/contract/push.ts';
import type { PushDevice, PushPlatform, PushRegistration } from '@offhook/contract/push.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { writeQueue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import type { Directory, Person } from '../../ports/directory.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { Store } from '../../ports/store.ts';
import { personalDataOf } from './personal-data.ts';
import type { PushResult } from './pusher.ts';
import { PushServices } from './services.ts';
import type { ServicesDeps } from './services.ts';
import { PushStore } from './store.ts';
import type { DeviceRow } from './tables.ts';

/** Sessions, as far as registrations depend on them. */
export interface PushSessions {
  onSessionEnded(listener: (sessionId: number) => void): () => void;
  /** Those of these sessions that have neither ended nor expired. */
  alive(ids: readonly number[]): Promise<ReadonlySet<number>>;
  /** True for a person who must set up a second factor first: until then no app of the person can register. */
  lacksFactor(who: Person): boolean;
}
export interface PushDeps extends Omit<ServicesDeps, 'store'> {
  readonly store: Store;
  readonly directory: Pick<Directory, 'byExtension' | 'people' | 'onChange'>;
  readonly sessions: PushSessions;
  readonly log: Log;
}
const PATIENCE_MS = 30_000;
/** Interval at which registrations of expired sessions are deleted, because no listener is called for an expiry. */
const LOOK_MS = 60_000;

export class Push {
  readonly services: PushServices;
  readonly data: PersonalData;
  readonly #deps: PushDeps;
  readonly #store: PushStore;
  /** By session. */
  readonly #rows: Map<number, DeviceRow>;
  readonly #writes = writeQueue(PATIENCE_MS);
  readonly #listeners = new Set<() => void>();
  readonly #off: readonly (() => void)[];
  readonly #stop = new AbortController();
  readonly #looking: Promise<void>;

  /** Runs the migrations. Throws `store_unavailable`. */
  static async open(deps: PushDeps): Promise<Push> {
    const store = await PushStore.open(deps.store);
    const services = new PushServices({ ...deps, store }, await store.services());
    return new Push(deps, store, services, await store.devices());
  }
  private constructor(deps: PushDeps, store: PushStore, services: PushServices, rows: readonly DeviceRow[]) {
    this.#deps = deps;
    this.#store = store;
    this.services = services;
    this.#rows = new Map(rows.map((row) => [row.session_id, row]));
    this.data = personalDataOf({
      registered: (extension) => {
        const who = deps.directory.byExtension(extension);
        return who === undefined ? [] : this.#of(who.id);
      },
      forget: (sessions) => this.#erase(sessions),
    });
    this.#off = [
      deps.sessions.onSessionEnded((id) => this.#forget([id])),
      deps.directory.onChange(() => this.changed()),
    ];
    this.#looking = this.#look();
  }
  device(caller: Caller): PushDevice | null {
    const row = this.#rows.get(caller.session_id);
    return row === undefined ? null : this.#shown(row);
  }
  /** Throws `not_authenticated` for a caller without a session, and `store_unavailable`. */
  async register({ caller, ip }: Actor, wanted: PushRegistration): Promise<PushDevice> {
    if (caller.key !== null)
      throw new ServiceError('not_authenticated', 'registering an app needs the session of a person');
    const row: DeviceRow = {
      ...wanted,
      session_id: caller.session_id,
      person_id: caller.person_id,
      created_at: this.#deps.clock.now(),
    };
    await this.#writes.run(async () => {
      const replaced = await this.#store.register(row, (trx) =>
        this.#deps.audit.recordIn(trx, {
          ...this.#line(caller, ip, 'push.registered'),
          detail: { session: row.session_id, platform: row.platform, app_id: row.app_id },
        }),
      );
      for (const id of replaced) this.#rows.delete(id);
      this.#rows.set(row.session_id, row);
    });
    // The session may have ended meanwhile.
    const alive = await this.#deps.sessions.alive([row.session_id]);
    if (!alive.has(row.session_id)) {
      this.#forget([row.session_id]);
      throw new ServiceError('not_authenticated', 'sign in again');
    }
    this.changed();
    return this.#shown(row);
  }
  async unregister({ caller, ip }: Actor): Promise<void> {
    const { session_id } = caller;
    if (!this.#rows.has(session_id)) return;
    await this.#writes.run(() =>
      this.#store.forget([session_id], (trx) =>
        this.#deps.audit.recordIn(trx, this.#line(caller, ip, 'push.unregistered')),
      ),
    );
    this.#rows.delete(session_id);
    this.changed();
  }
  count(platform: PushPlatform): number {
    return [...this.#rows.values()].filter((row) => row.platform === platform).length;
  }
  /** Wrong settings of push services and apps, as the last pushes found them. */
  finding(): { readonly ok: boolean; readonly detail: string } {
    const faults = PUSH_PLATFORMS.flatMap((platform) => {
      const rows = [...this.#rows.values()].filter((row) => row.platform === platform);
      const found = rows.flatMap((row) => this.services.fault(platform, row) ?? []);
      return found.length === 0
        ? []
        : [`${platform}: ${[...new Set(found)].join(', ')} (${found.length} of ${rows.length} apps)`];
    });
    return { ok: faults.length === 0, detail: faults.join('; ') };
  }
  /** Sends a test push to the apps of a person. Throws `not_found`. */
  async test(
    actor: Actor,
    platform: PushPlatform,
    extension: string,
  ): Promise<(PushResult & { app_id: string })[]> {
    const who = this.#deps.directory.byExtension(extension);
    if (who === undefined) throw new ServiceError('not_found', say`no person has the extension ${extension}`);
    await this.services.tested(actor, platform);
    const rows = (await this.#alive(this.#of(who.id))).filter((row) => row.platform === platform);
    const data = { type: 'test', extension };
    return Promise.all(
      rows.map(async (row) => ({ ...(await this.#send(row, data, 60)), app_id: row.app_id })),
    );
  }
  /**
   * Sends the push for a call to each app of an extension. Resolves with the number of apps without the results, which
   * `ended` receives later; it is not called without an app.
   */
  async wake(
    extension: string,
    data: Readonly<Record<string, string>>,
    life_seconds: number,
    ended: (results: readonly PushResult[]) => void,
  ): Promise<number> {
    const who = this.#deps.directory.byExtension(extension);
    const wakes = who?.active === true && !this.#deps.sessions.lacksFactor(who);
    const rows = wakes ? await this.#alive(this.#of(who.id)) : [];
    const served = rows.filter(({ platform }) => this.services.has(platform));
    if (served.length > 0)
      void Promise.all(served.map((row) => this.#send(row, data, life_seconds))).then(ended);
    return served.length;
  }
  /** Extensions with a mobile device and an app that a push can wake. */
  wakeable(): Set<string> {
    const people = new Set(
      [...this.#rows.values()]
        .filter(({ platform }) => this.services.has(platform))
        .map(({ person_id }) => person_id),
    );
    return new Set(
      this.#deps.directory
        .people()
        .filter(
          (who) => who.active && people.has(who.id) && who.endpoints.some(({ kind }) => kind === 'mobile'),
        )
        .map((who) => who.extension),
    );
  }
  /** Calls `listener` whenever `wakeable` may have changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }
  readonly changed = (): void => {
    for (const listener of this.#listeners) listener();
  };
  async close(): Promise<void> {
    for (const off of this.#off) off();
    this.#stop.abort();
    await this.#looking;
    this.services.close();
    await this.#writes.run(async () => {});
  }

  async #send(
    row: DeviceRow,
    data: Readonly<Record<string, string>>,
    life_seconds: number,
  ): Promise<PushResult> {
    const { platform, app_id } = row;
    const known = this.services.fault(platform, row);
    const result = await this.services.push(platform, { device: row, data, life_seconds });
    const error = this.services.fault(platform, row);
    if (error !== null && error !== known)
      this.#deps.log.warn({ platform, app_id, error }, 'a setting of a push service or of an app is wrong');
    // The app may have registered again meanwhile, with a new token or because the old one is valid again.
    if (result.outcome === 'gone' && this.#rows.get(row.session_id) === row) this.#forget([row.session_id]);
    return result;
  }
  /** Forgets the registrations of expired sessions: until then their people are shown as reachable, and calls wait for them. */
  async #look(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(LOOK_MS, signal).catch(() => undefined);
      try {
        if (!signal.aborted) await this.#alive([...this.#rows.values()]);
      } catch (error) {
        log.warn(
          { error: messageOf(error) },
          'push registrations of expired sessions could not be looked up',
        );
      }
    }
  }
  #of(personId: number): DeviceRow[] {
    return [...this.#rows.values()].filter(({ person_id }) => person_id === personId);
  }
  /** Those of these registrations whose sessions have neither ended nor expired; the others are forgotten. */
  async #alive(rows: readonly DeviceRow[]): Promise<DeviceRow[]> {
    const ids = rows.map(({ session_id }) => session_id);
    const alive = await this.#deps.sessions.alive(ids);
    this.#forget(ids.filter((id) => !alive.has(id)));
    return rows.filter(({ session_id }) => alive.has(session_id));
  }
  #forget(sessions: readonly number[]): void {
    const known = sessions.filter((id) => this.#rows.delete(id));
    if (known.length === 0) return;
    this.changed();
    this.#writes
      .run(() => this.#store.forget(known))
      .catch((error: unknown) =>
        this.#deps.log.warn({ error: messageOf(error) }, 'a push registration could not be deleted'),
      );
  }
  /** Resolves once the registrations are deleted, and throws if they are not. */
  async #erase(sessions: readonly number[]): Promise<void> {
    if (sessions.length === 0) return;
    await this.#writes.run(() => this.#store.forget(sessions));
    for (const id of sessions) this.#rows.delete(id);
    this.changed();
  }
  #shown({ platform, app_id, environment, created_at }: DeviceRow): PushDevice {
    return {
      platform,
      app_id,
      environment,
      registered_at: rfc3339(created_at),
      served: this.services.has(platform),
    };
  }
  #line(caller: Caller, ip: string | null, action: string) {
    return { action, actor: caller.extension, object: caller.extension, outcome: 'ok' as const, ip };
  }
}
