import { MAX_PUSH_DEVICES } from '@offhook/contract/push.ts';
import type { PushPlatform } from '@offhook/contract/push.ts';
import type { Transaction } from 'kysely';
import type { Store } from '../../ports/store.ts';
import { migrations } from './tables.ts';
import type { DeviceRow, PushTables, ServiceRow } from './tables.ts';

type Also = (trx: Transaction<PushTables>) => Promise<void>;

/** Tables of push registrations and services. Every method throws `store_unavailable` if the database fails. */
export class PushStore {
  readonly #store: Store;
  private constructor(store: Store) {
    this.#store = store;
  }
  /** Runs the migrations. */
  static async open(store: Store): Promise<PushStore> {
    await store.migrate('push', migrations);
    return new PushStore(store);
  }
  devices(): Promise<DeviceRow[]> {
    return this.#store.db<PushTables>().selectFrom('push_devices').selectAll().execute();
  }
  services(): Promise<ServiceRow[]> {
    return this.#store.db<PushTables>().selectFrom('push_services').selectAll().execute();
  }
  /** Stores the registration of a session; returns the other sessions whose registrations it replaces. */
  register(row: DeviceRow, also: Also): Promise<number[]> {
    return this.#store.transaction<PushTables, number[]>(async (trx) => {
      const others = await trx
        .selectFrom('push_devices')
        .selectAll()
        .where((is) => is.or([is('person_id', '=', row.person_id), is('token', '=', row.token)]))
        .where('session_id', '!=', row.session_id)
        .orderBy('created_at', 'desc')
        .orderBy('session_id', 'desc')
        .execute();
      // A token identifies one app: the next person who signs in there replaces the registration.
      const same = others.filter(({ token }) => token === row.token);
      const mine = others.filter(({ token }) => token !== row.token);
      const gone = [...same, ...mine.slice(MAX_PUSH_DEVICES - 1)].map(({ session_id }) => session_id);
      await trx
        .deleteFrom('push_devices')
        .where('session_id', 'in', [...gone, row.session_id])
        .execute();
      await trx.insertInto('push_devices').values(row).execute();
      await also(trx);
      return gone;
    });
  }
  async forget(sessions: readonly number[], also?: Also): Promise<void> {
    if (sessions.length === 0) return;
    await this.#store.transaction<PushTables, void>(async (trx) => {
      await trx.deleteFrom('push_devices').where('session_id', 'in', sessions).execute();
      await also?.(trx);
    });
  }
  async setService(row: ServiceRow, also: Also): Promise<void> {
    await this.#store.transaction<PushTables, void>(async (trx) => {
      await trx
        .insertInto('push_services')
        .values(row)
        .onConflict((c) => c.column('platform').doUpdateSet(row))
        .execute();
      await also(trx);
    });
  }
  async removeService(platform: PushPlatform, also: Also): Promise<void> {
    await this.#store.transaction<PushTables, void>(async (trx) => {
      await trx.deleteFrom('push_services').where('platform', '=', platform).execute();
      await also(trx);
    });
  }
}
