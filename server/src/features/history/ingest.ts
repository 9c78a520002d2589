import type { Kysely } from 'kysely';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { CallRecordBatch, CallRecordCheckpoint } from '../../ports/call-records.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Store } from '../../ports/store.ts';
import { inChunks } from './chunks.ts';
import { BUILT_BY, buildConversation } from './conversation.ts';
import type { Conversation } from './conversation.ts';
import { readFact, writeFact } from './facts.ts';
import { linkRecords, putConversation } from './links.ts';
import { BUILT, packRecords, recordsOf } from './packs.ts';
import { isComplete, withDirectory } from './records.ts';
import type { KnownRecord } from './records.ts';
import { writeRows } from './rows.ts';
import type { ConversationRow, Tables } from './tables.ts';
import { createTotals } from './totals.ts';
import type { Totals } from './totals.ts';

/** Malformed lines kept for support. */
const MALFORMED_KEPT = 1000;
/** Conversations closed in one transaction. */
const CLOSE_AT_ONCE = 50;
/** A conversation without a sign of life for this long has lost its end. */
export const SILENT_US = 12 * 3_600_000_000;
/** Records are kept one by one for this long after the last of them. */
const PACK_AFTER_US = 48 * 3_600_000_000;

export interface IngestDeps {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly log: Log;
}
export interface Ingest {
  checkpoint(): Promise<CallRecordCheckpoint | null>;
  /** Stores records, their conversations and the checkpoint in one transaction; the same batch again changes nothing. */
  store(batch: CallRecordBatch): Promise<void>;
  /** Everything that began in an earlier life of the engine is over. `boot` names the new life. */
  engineBooted(boot: string, at_ms: number): Promise<void>;
  /** Closes what lost its end, and packs the records of what has long been told. */
  tidy(): Promise<void>;
}

export function createIngest({ store, directory, clock, log }: IngestDeps): Ingest {
  async function fresh(db: Kysely<Tables>, batch: CallRecordBatch): Promise<readonly KnownRecord[]> {
    const given = new Map(batch.records.map((r) => [r.key, r]));
    const known = await inChunks([...given.keys()], (some) =>
      db.selectFrom('history_records').select('key').where('key', 'in', some).execute(),
    );
    for (const { key } of known) given.delete(key);
    const records = [...given.values()].map((r) => withDirectory(r, directory));
    await inChunks(records, async (some) => {
      const rows = some.map((r) => ({ key: r.key, call: r.call, record: JSON.stringify(r) }));
      await db.insertInto('history_records').values(rows).execute();
      return [];
    });
    return records;
  }
  async function build(
    db: Kysely<Tables>,
    row: ConversationRow,
    even: 'unfinished' | null,
    totals: Totals,
  ): Promise<void> {
    const records = await recordsOf(db, row.root);
    if (even === null && !isComplete(records)) return;
    const conversation = tell(records);
    if (conversation) await writeRows(db, conversation, row.root, directory, totals);
    await putConversation(db, { ...row, built: BUILT.yes, built_by: conversation ? BUILT_BY : 0 });
  }
  /** A conversation that cannot be told must not keep all later ones from being told. */
  function tell(records: readonly KnownRecord[]): Conversation | null {
    try {
      return buildConversation(records);
    } catch (error) {
      log.error({ call: records[0]?.call, error: messageOf(error) }, 'a conversation could not be built');
      return null;
    }
  }
  /** Closes open conversations whose newest record is older than the given moment. */
  async function closeBefore(at_us: number): Promise<void> {
    for (;;) {
      const closed = await store.transaction<Tables, number>(async (db) => {
        const totals = createTotals();
        const open = await db
          .selectFrom('history_conversations')
          .selectAll()
          .where('built', '=', BUILT.no)
          .where('last_us', '<', at_us)
          .orderBy('last_us')
          .limit(CLOSE_AT_ONCE)
          .execute();
        for (const row of open) await build(db, row, 'unfinished', totals);
        await totals.write(db);
        return open.length;
      });
      if (closed < CLOSE_AT_ONCE) return;
    }
  }

  return {
    async checkpoint() {
      const text = await readFact(store.db<Tables>(), 'checkpoint');
      return text === null ? null : (JSON.parse(text) as CallRecordCheckpoint);
    },
    store: (batch) =>
      store.transaction<Tables, void>(async (db) => {
        const totals = createTotals();
        const records = await fresh(db, batch);
        if (records.length > 0) {
          const restarted = Number((await readFact(db, 'restarted_us')) ?? 0);
          for (const row of await linkRecords(db, records, totals)) {
            const over = row.built !== BUILT.no || row.last_us < restarted;
            if (over || row.closing === 1) await build(db, row, over ? 'unfinished' : null, totals);
          }
          await totals.write(db);
        }
        await keepMalformed(db, batch.malformed, clock.now());
        await writeFact(db, 'checkpoint', JSON.stringify(batch.checkpoint));
      }),
    async engineBooted(boot, at_ms) {
      const restarted = await store.transaction<Tables, number>(async (db) => {
        const known = await readFact(db, 'boot');
        if (known !== boot) await writeFact(db, 'boot', boot);
        if (known !== null && known !== boot) await writeFact(db, 'restarted_us', String(at_ms * 1000));
        return Number((await readFact(db, 'restarted_us')) ?? 0);
      });
      // Also in a life that is known: we may have been killed after writing it down.
      if (restarted > 0) await closeBefore(restarted);
    },
    async tidy() {
      const now_us = clock.now() * 1000;
      await closeBefore(now_us - SILENT_US);
      await packRecords(store, now_us - PACK_AFTER_US);
    },
  };
}

async function keepMalformed(db: Kysely<Tables>, lines: readonly string[], now: number): Promise<void> {
  if (lines.length === 0) return;
  await inChunks(lines.slice(-MALFORMED_KEPT), async (some) => {
    await db
      .insertInto('history_malformed')
      .values(some.map((line) => ({ seen_at: now, line })))
      .execute();
    return [];
  });
  const newest = await db
    .selectFrom('history_malformed')
    .select((e) => e.fn.max('id').as('id'))
    .executeTakeFirst();
  await db
    .deleteFrom('history_malformed')
    .where('id', '<=', Number(newest?.id ?? 0) - MALFORMED_KEPT)
    .execute();
}
