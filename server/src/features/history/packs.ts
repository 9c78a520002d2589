import { gunzipSync, gzipSync } from 'node:zlib';
import type { Kysely } from 'kysely';
import type { Store } from '../../ports/store.ts';
import type { KnownRecord } from './records.ts';
import type { Tables } from './tables.ts';

/** Conversations packed in one transaction. */
const AT_ONCE = 20;
/** Values of `built`: not told yet, told, told and its records packed. */
export const BUILT = { no: 0, yes: 1, packed: 2 } as const;

const callsOf = (db: Kysely<Tables>, root: string) =>
  db.selectFrom('history_calls').select('call').where('root', '=', root);

/** Every record of a conversation, the loose ones and the packed ones; some may be there twice. */
export async function recordsOf(db: Kysely<Tables>, root: string): Promise<readonly KnownRecord[]> {
  const packs = await db.selectFrom('history_packs').select('records').where('root', '=', root).execute();
  const loose = await db
    .selectFrom('history_records')
    .select('record')
    .where('call', 'in', callsOf(db, root))
    .execute();
  return [
    ...packs.flatMap((p) => JSON.parse(gunzipSync(p.records).toString()) as KnownRecord[]),
    ...loose.map((r) => JSON.parse(r.record) as KnownRecord),
  ];
}

/**
 * Packs the records of conversations that have been quiet since `before_us`: about a tenth of the space, and still there
 * when rows are to be built anew. A record that comes again later is loose once more and is packed with the next ones.
 */
export async function packRecords(store: Store, before_us: number): Promise<void> {
  for (;;) {
    const packed = await store.transaction<Tables, number>(async (db) => {
      const quiet = await db
        .selectFrom('history_conversations')
        .select('root')
        .where('built', '=', BUILT.yes)
        .where('last_us', '<', before_us)
        .orderBy('last_us')
        .limit(AT_ONCE)
        .execute();
      for (const { root } of quiet) {
        const once = new Map((await recordsOf(db, root)).map((r) => [r.key, r]));
        const records = gzipSync(JSON.stringify([...once.values()]));
        await db.deleteFrom('history_packs').where('root', '=', root).execute();
        await db.insertInto('history_packs').values({ root, records }).execute();
        await db.deleteFrom('history_records').where('call', 'in', callsOf(db, root)).execute();
        await db.deleteFrom('history_channels').where('call', 'in', callsOf(db, root)).execute();
        await db
          .updateTable('history_conversations')
          .set({ built: BUILT.packed })
          .where('root', '=', root)
          .execute();
      }
      return quiet.length;
    });
    if (packed < AT_ONCE) return;
  }
}
