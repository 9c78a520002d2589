import type { Kysely } from 'kysely';
import type { Store } from '../../../ports/store.ts';
import { inChunks, insertAll } from './store.ts';
import type { KnownRecord } from '../record/records.ts';
import type { Tables } from './tables.ts';
import { hash } from 'node:crypto';
import { constants, deflateSync, unzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { ConversationRecord } from '../record/record.ts';

/** Conversations packed in one transaction. */
const AT_ONCE = 20;
/** Values of `built`: the final record is not built yet; built; built, and the call records packed. */
export const BUILT = { no: 0, yes: 1, packed: 2 } as const;

const callsOf = (db: Kysely<Tables>, root: string) =>
  db.selectFrom('history_calls').select('call').where('root', '=', root);

/** All call records of these conversations by root, packed ones too. Of duplicates, the first stored is returned. */
export async function recordsOf(
  db: Kysely<Tables>,
  roots: readonly string[],
): Promise<ReadonlyMap<string, readonly KnownRecord[]>> {
  const found = new Map(roots.map((root) => [root, new Map<string, KnownRecord>()]));
  const add = (root: string, records: readonly KnownRecord[]): void => {
    const own = found.get(root)!;
    for (const record of records) if (!own.has(record.key)) own.set(record.key, record);
  };
  const packs = await inChunks(roots, (some) =>
    db.selectFrom('history_packs').selectAll().where('root', 'in', some).execute(),
  );
  for (const { root, records } of packs) add(root, unpack<KnownRecord[]>(records));
  const calls = await inChunks(roots, (some) =>
    db.selectFrom('history_calls').selectAll().where('root', 'in', some).execute(),
  );
  const rootOf = new Map(calls.map(({ call, root }) => [call, root]));
  const loose = await inChunks([...rootOf.keys()], (some) =>
    db.selectFrom('history_loose').selectAll().where('call', 'in', some).orderBy('id').execute(),
  );
  for (const { call, records } of loose) add(rootOf.get(call)!, unpack<KnownRecord[]>(records));
  return new Map([...found].map(([root, own]) => [root, [...own.values()]]));
}
/** Stores call records, one row per call: a row per record would cost ten times the time and space. */
export async function storeRecords(db: Kysely<Tables>, records: readonly KnownRecord[]): Promise<void> {
  const rows = [...Map.groupBy(records, (r) => r.call as string)].map(([call, own]) => ({
    call,
    records: pack(JSON.stringify(own)),
  }));
  await insertAll(rows, (some) => db.insertInto('history_loose').values(some).execute());
}

/**
 * Packs the call records of conversations without a new one since `before_us`, to about a tenth of the space; a rebuild
 * still reads them. A record that arrives later is stored unpacked and is packed in the next run.
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
      const known = await recordsOf(
        db,
        quiet.map((q) => q.root),
      );
      for (const [root, own] of known) {
        const records = pack(JSON.stringify(own));
        await db.deleteFrom('history_packs').where('root', '=', root).execute();
        await db.insertInto('history_packs').values({ root, records }).execute();
        await db.deleteFrom('history_loose').where('call', 'in', callsOf(db, root)).execute();
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

/** Measured with 2 to 12 kB of JSON: two thirds of the time of deflate at its fastest level, for the same size. */
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** First byte of zstd data. */
const ZSTD = 0x28;

/** For call records, which are written often and read for a rebuild only. */
export const pack = (json: string): Buffer => zstdCompressSync(json, FAST);
/** Also reads zlib, which `writeRecord` writes, and gzip, which releases before 0.2 wrote. */
export const unpack = <T>(bytes: Uint8Array): T =>
  JSON.parse((bytes[0] === ZSTD ? zstdDecompressSync(bytes) : unzipSync(bytes)).toString()) as T;

export const readRecord = (bytes: Uint8Array): ConversationRecord => unpack<ConversationRecord>(bytes);
/** Deflate: a page of a list reads fifty records, each in 10 µs instead of 27 with zstd (2.5 kB of JSON, same size). */
export const writeRecord = (record: ConversationRecord): Buffer =>
  deflateSync(JSON.stringify(record), { level: constants.Z_BEST_SPEED });
/** Hash of the record without `built_by`: a new version of the build rules alone is not a change. */
export const fingerprintOf = (record: ConversationRecord): string =>
  hash('sha256', JSON.stringify({ ...record, built_by: 0 }), 'base64url').slice(0, 24);
