import type { Personal } from '@offhook/contract/extensions.ts';
import { createTable } from '../../core/schema.ts';
import type { Migration, Store } from '../../ports/store.ts';

/** Statement of a person; `dnd` is stored only so that its expiry ends do not disturb. */
export interface Statement {
  readonly personal: Personal;
  readonly note: string | null;
  /** Milliseconds since 1970; null for no expiry. */
  readonly expires_at: number | null;
  /** Id of the person who made it; null in a row of an earlier version until a start finds its holder. */
  readonly person: number | null;
}
interface Tables {
  personal_presence: {
    extension: string;
    personal: Personal;
    note: string | null;
    expires_at: number | null;
    person: number | null;
  };
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-personal-presence',
    async up(db) {
      await createTable(db.schema)`personal_presence (
        extension text primary key, personal text not null, note text, expires_at integer)`;
    },
  },
  {
    id: '0110-presence-person',
    async up(db) {
      await db.schema.alterTable('personal_presence').addColumn('person', 'integer').execute();
    },
  },
];

/** Statements of persons, by extension. Every method throws `store_unavailable`. */
export interface PresenceStore {
  /** A row of an earlier version has no person; it gets the present holder of its extension. */
  load(holderOf: (extension: string) => number | null): Promise<Map<string, Statement>>;
  /** Null deletes it. */
  save(extension: string, statement: Statement | null): Promise<void>;
}

/** Runs the migrations. */
export async function createPresenceStore(store: Store): Promise<PresenceStore> {
  await store.migrate('presence', migrations);
  const db = store.db<Tables>();
  return {
    load: (holderOf) =>
      // Stored, so that the row does not pass on to a later holder.
      store.transaction<Tables, Map<string, Statement>>(async (trx) => {
        const statements = new Map<string, Statement>();
        for (const row of await trx.selectFrom('personal_presence').selectAll().execute()) {
          const { extension, ...statement } = row;
          const person = statement.person ?? holderOf(extension);
          statements.set(extension, { ...statement, person });
          if (person !== statement.person)
            await trx
              .updateTable('personal_presence')
              .set({ person })
              .where('extension', '=', extension)
              .execute();
        }
        return statements;
      }),
    async save(extension, statement) {
      if (statement === null) {
        await db.deleteFrom('personal_presence').where('extension', '=', extension).execute();
        return;
      }
      await db
        .insertInto('personal_presence')
        .values({ extension, ...statement })
        .onConflict((c) => c.column('extension').doUpdateSet({ ...statement }))
        .execute();
    },
  };
}
