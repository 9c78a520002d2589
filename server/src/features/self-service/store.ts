import { createTable } from '../../core/schema.ts';
import type { ExtensionFeatures } from '../../ports/engine-state.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Migration, Store } from '../../ports/store.ts';

interface Row {
  extension: string;
  dnd: number;
  forward: string;
  forward_busy: string;
  forward_no_answer: string;
  ring_seconds: number;
  devices: ExtensionFeatures['devices'];
  changed_at: number;
}
interface Tables {
  extension_features: Row;
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-extension-features',
    async up(db) {
      await createTable(db.schema)`extension_features (
        extension text primary key, dnd integer not null, forward text not null, forward_busy text not null,
        forward_no_answer text not null, ring_seconds integer not null, devices text not null,
        changed_at integer not null)`;
    },
  },
];

/** Intended settings by extension. Every method throws `store_unavailable`. */
export interface FeatureStore {
  load(): Promise<Map<string, ExtensionFeatures>>;
  /** Writes the features, or deletes them if null, with an audit entry in the same transaction. */
  save(extension: string, features: ExtensionFeatures | null, line?: AuditEntry): Promise<void>;
}

/** Runs the migrations. */
export async function createFeatureStore(store: Store, audit: Required<Audit>): Promise<FeatureStore> {
  await store.migrate('self-service', migrations);
  return {
    async load() {
      const rows = await store.db<Tables>().selectFrom('extension_features').selectAll().execute();
      return new Map(rows.map(({ extension, dnd, ...row }) => [extension, { ...row, dnd: dnd === 1 }]));
    },
    async save(extension, features, line) {
      await store.transaction<Tables, void>(async (trx) => {
        if (features === null) {
          await trx.deleteFrom('extension_features').where('extension', '=', extension).execute();
        } else {
          const row = { ...features, dnd: features.dnd ? 1 : 0 };
          await trx
            .insertInto('extension_features')
            .values({ extension, ...row })
            .onConflict((c) => c.column('extension').doUpdateSet(row))
            .execute();
        }
        if (line !== undefined) await audit.recordIn(trx, line);
      });
    },
  };
}
