/** Stores the pairing of each phone with a device, and its last fetch. */
import type { Kysely } from 'kysely';
import { createTable } from '../../core/schema.ts';
import type { Migration, Store } from '../../ports/store.ts';

export interface Pairing {
  /** Id of the phone's object. */
  readonly phone: number;
  readonly token_hash: string;
  readonly mac: string;
  readonly paired_ms: number;
}
export interface Fetch {
  readonly phone: number;
  readonly at_ms: number;
  readonly address: string;
  readonly user_agent: string;
  readonly file: string;
  readonly version: string;
}
interface Tables {
  phone_pairings: Pairing;
  phone_fetches: Fetch;
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-phones',
    async up({ schema }) {
      await createTable(schema)`phone_pairings (
        phone integer primary key, token_hash text not null, mac text not null, paired_ms bigint not null)`;
      await createTable(schema)`phone_fetches (
        phone integer not null, at_ms bigint not null, address text not null, user_agent text not null,
        file text not null, version text not null, constraint phone_fetches_key primary key (phone))`;
    },
  },
];

/** Every method throws `store_unavailable` if the database fails. */
export class PhoneStore {
  readonly #store: Store;
  private constructor(store: Store) {
    this.#store = store;
  }
  /** Runs the migrations. */
  static async open(store: Store): Promise<PhoneStore> {
    await store.migrate('phones', migrations);
    return new PhoneStore(store);
  }
  get #db(): Kysely<Tables> {
    return this.#store.db<Tables>();
  }
  pairings(): Promise<Pairing[]> {
    return this.#db.selectFrom('phone_pairings').selectAll().execute();
  }
  /** The last fetch of each phone. */
  fetches(): Promise<Fetch[]> {
    return this.#db.selectFrom('phone_fetches').selectAll().execute();
  }
  /** Stores a fetch, and a new pairing unless it is null. */
  async keep(fetch: Fetch, pairing: Pairing | null): Promise<void> {
    await this.#store.transaction<Tables, void>(async (trx) => {
      if (pairing !== null)
        await trx
          .insertInto('phone_pairings')
          .values(pairing)
          .onConflict((c) => c.column('phone').doUpdateSet(pairing))
          .execute();
      await trx
        .insertInto('phone_fetches')
        .values(fetch)
        .onConflict((c) => c.column('phone').doUpdateSet(fetch))
        .execute();
    });
  }
  /** Deletes the rows of phones that the configuration no longer has. */
  async remove(phones: readonly number[]): Promise<void> {
    await this.#store.transaction<Tables, void>(async (trx) => {
      await trx.deleteFrom('phone_pairings').where('phone', 'in', phones).execute();
      await trx.deleteFrom('phone_fetches').where('phone', 'in', phones).execute();
    });
  }
}
