import type { ExtensionFeatures } from '../../ports/engine.ts';
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
      await db.schema
        .createTable('extension_features')
        .addColumn('extension', 'text', (c) => c.primaryKey())
        .addColumn('dnd', 'integer', (c) => c.notNull())
        .addColumn('forward', 'text', (c) => c.notNull())
        .addColumn('forward_busy', 'text', (c) => c.notNull())
        .addColumn('forward_no_answer', 'text', (c) => c.notNull())
        .addColumn('ring_seconds', 'integer', (c) => c.notNull())
        .addColumn('devices', 'text', (c) => c.notNull())
        .addColumn('changed_at', 'integer', (c) => c.notNull())
        .execute();
    },
  },
];

/** What was meant, by extension. Every method throws `store_unavailable`. */
export interface FeatureStore {
  load(): Promise<Map<string, ExtensionFeatures>>;
  /** Writes the features, or with null forgets them, and a line of the audit trail with them. */
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
