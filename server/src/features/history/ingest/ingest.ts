import type { Kysely } from 'kysely';
import type { CallRecord, CallRecordBatch, CallRecordCheckpoint } from '../../../ports/call-records.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Store } from '../../../ports/store.ts';
import { inChunks, readFact, writeFact } from '../store.ts';
import { withoutErased } from '../erasure/eraser.ts';
import { keepFinding } from '../proof/findings.ts';
import type { Finding } from '../proof/findings.ts';
import { keepTestChannels } from '../proof/gaps.ts';
import { linkRecords } from './links.ts';
import { createPace, beginTelling } from './tell.ts';
import { BUILT, packRecords, recordsOf, storeRecords } from './packs.ts';
import { withDirectory } from '../record/records.ts';
import type { KnownRecord } from '../record/records.ts';
import type { Tables } from '../tables.ts';
import type { TellDeps } from './tell.ts';

/** Malformed lines kept for support. */
const MALFORMED_KEPT = 1000;
/** Conversations built in one transaction. */
const AT_ONCE = 50;
/** Live conversations built when the reader has caught up; the others are built with their next call record. */
const MOST_OPEN = 10_000;
/** A live conversation without a new call record for this long is closed: its end was lost. */
export const SILENT_US = 12 * 3_600_000_000;
const ENDING: ReadonlySet<CallRecord['type']> = new Set(['hangup', 'channel_end', 'linked_end']);
/** The call records of a conversation stay unpacked for this long after the last one. */
const PACK_AFTER_US = 48 * 3_600_000_000;

export interface IngestDeps extends TellDeps {
  readonly store: Store;
  readonly clock: Clock;
}
/** Conversations of one batch, by root: finished, live with the number of their call records, and to be built later. */
interface News {
  readonly later: string[];
  readonly over: string[];
  readonly soFar: Map<string, number>;
}
export interface Ingest {
  checkpoint(): Promise<CallRecordCheckpoint | null>;
  /** Stores call records, their conversations and the checkpoint in one transaction. Idempotent. */
  store(batch: CallRecordBatch): Promise<void>;
  /**
   * Stores call records reconstructed from the journal, ends their conversations and stores the finding, in one transaction.
   * Idempotent.
   */
  complete(records: readonly CallRecord[], finding: Finding): Promise<void>;
  /** Builds the live conversations that are due. Call it every second. */
  tellDue(): Promise<void>;
  /** Ends all conversations that began before this start of the engine. `boot` is the id of the start. */
  engineBooted(boot: string, at_ms: number): Promise<void>;
  /** Closes conversations whose end was lost, and packs old call records. */
  tidy(): Promise<void>;
}

export function createIngest(deps: IngestDeps): Ingest {
  const { store, directory, clock } = deps;
  const pace = createPace(clock);
  /** `live`: the reader has caught up. `begun`: conversations that an earlier process left open were handled. */
  let live = false;
  let begun = false;
  /** True if more call records follow the newest batch. */
  let behind = false;
  /** Stores call records and builds the conversations they belong to. */
  async function tellNews(
    db: Kysely<Tables>,
    batch: readonly CallRecord[],
    isLive: boolean,
    ended = false,
  ): Promise<News> {
    const news: News = { over: [], soFar: new Map(), later: [] };
    const once = new Map(batch.map((r) => [r.key, r]));
    const given = [...once.values()].map((r) => withDirectory(r, directory));
    const records = await withoutErased(db, given);
    if (records.length === 0) return news;
    const telling = beginTelling(db, deps);
    const restarted = Number((await readFact(db, 'restarted_us')) ?? 0);
    const { touched, merged } = await linkRecords(db, records);
    const known = await toldOf(db, merged);
    const conversations = touched.map((t) => {
      // A stored conversation was merged into this one; build it now, or a reader finds neither.
      const joined = t.joined.some((root) => known.has(root));
      // Until the reader has caught up, more call records from before the engine's restart may follow.
      const over = ended || t.row.built !== BUILT.no || (isLive && t.row.last_us < restarted);
      // Only a merge or one of these records can end it; for any other record the rebuild waits its turn.
      const ends = t.joined.length > 0 || t.records.some((r) => ENDING.has(r.type));
      const mayEnd = over || (t.row.closing === 1 && ends);
      const goesOn = joined || (isLive && (mayEnd || pace.isReady(t.row.root)));
      return { ...t, over, mayEnd, goesOn, tells: mayEnd || goesOn };
    });
    const before = await recordsOf(
      db,
      conversations.filter((c) => c.tells && !c.fresh).map((c) => c.row.root),
    );
    const fresh: KnownRecord[] = [];
    for (const { row, records: own, over, mayEnd, goesOn } of conversations) {
      const stored = before.get(row.root) ?? [];
      const keys = new Set(stored.map((r) => r.key));
      const added = keys.size === 0 ? own : own.filter((r) => !keys.has(r.key));
      // The file is being read again: all of this was stored before.
      if (added.length === 0 && row.built !== BUILT.no && merged.length === 0) continue;
      fresh.push(...added);
      const all = [...stored, ...added];
      // New records of a packed conversation are packed in the next run.
      const next = row.built === BUILT.packed ? { ...row, built: BUILT.yes } : row;
      if (mayEnd && telling.end(next, all, over)) news.over.push(row.root);
      else if (goesOn) {
        telling.soFar(row, all);
        news.soFar.set(row.root, all.length);
      } else {
        telling.keep(row);
        news.later.push(row.root);
      }
    }
    await storeRecords(db, fresh);
    await telling.write(merged);
    news.over.push(...merged);
    return news;
  }
  const openRoots = async (): Promise<readonly string[]> =>
    (
      await store
        .db<Tables>()
        .selectFrom('history_conversations')
        .select('root')
        .where('built', '=', BUILT.no)
        .orderBy('last_us', 'desc')
        .limit(MOST_OPEN)
        .execute()
    ).map((row) => row.root);
  /** Closes open conversations whose newest record is older than the given moment. */
  async function closeBefore(at_us: number): Promise<void> {
    for (;;) {
      const closed = await store.transaction<Tables, number>(async (db) => {
        const telling = beginTelling(db, deps);
        const open = await db
          .selectFrom('history_conversations')
          .selectAll()
          .where('built', '=', BUILT.no)
          .where('last_us', '<', at_us)
          .orderBy('last_us')
          .limit(AT_ONCE)
          .execute();
        const records = await recordsOf(
          db,
          open.map((row) => row.root),
        );
        for (const row of open) telling.end(row, records.get(row.root)!, true);
        await telling.write();
        return open.length;
      });
      if (closed < AT_ONCE) return;
    }
  }

  return {
    async checkpoint() {
      const text = await readFact(store.db<Tables>(), 'checkpoint');
      return text === null ? null : (JSON.parse(text) as CallRecordCheckpoint);
    },
    async store(batch) {
      const news = await store.transaction<Tables, News>(async (db) => {
        const checkpoint = JSON.stringify(batch.checkpoint);
        // Stored, though we were not told so: the connection broke after the commit.
        if ((await readFact(db, 'checkpoint')) === checkpoint)
          return { over: [], soFar: new Map(), later: [] };
        const news = await tellNews(db, batch.records, batch.live);
        await keepMalformed(db, batch.malformed, clock.now());
        await keepTestChannels(db, batch.test_channels ?? [], clock.now());
        await writeFact(db, 'checkpoint', checkpoint);
        return news;
      });
      // Only now: what was rolled back is told with the next try.
      for (const root of news.over) pace.over(root);
      for (const [root, records] of news.soFar) pace.told(root, records);
      for (const root of news.later) pace.postpone(root);
      if (behind && batch.live)
        await closeBefore(Number((await readFact(store.db<Tables>(), 'restarted_us')) ?? 0));
      live = batch.live;
      behind = !live;
    },
    async complete(records, finding) {
      const news = await store.transaction<Tables, News>(async (db) => {
        await keepFinding(db, finding);
        return await tellNews(db, records, true, true);
      });
      for (const root of news.over) pace.over(root);
    },
    async tellDue() {
      if (!live) return;
      if (!begun) for (const root of await openRoots()) pace.postpone(root);
      begun = true;
      const due = pace.due();
      for (let i = 0; i < due.length; i += AT_ONCE) {
        const told = await store.transaction<Tables, Map<string, number>>(async (db) => {
          const telling = beginTelling(db, deps);
          const rows = await db
            .selectFrom('history_conversations')
            .selectAll()
            .where('root', 'in', due.slice(i, i + AT_ONCE))
            .where('built', '=', BUILT.no)
            .execute();
          const told = new Map<string, number>();
          const records = await recordsOf(
            db,
            rows.map((row) => row.root),
          );
          for (const row of rows) {
            const own = records.get(row.root)!;
            telling.soFar(row, own);
            told.set(row.root, own.length);
          }
          await telling.write();
          return told;
        });
        for (const root of due.slice(i, i + AT_ONCE)) {
          const records = told.get(root);
          if (records === undefined) pace.over(root);
          else pace.told(root, records);
        }
      }
    },
    async engineBooted(boot, at_ms) {
      const restarted = await store.transaction<Tables, number>(async (db) => {
        const known = await readFact(db, 'boot');
        if (known !== boot) await writeFact(db, 'boot', boot);
        if (known !== null && known !== boot) await writeFact(db, 'restarted_us', String(at_ms * 1000));
        return Number((await readFact(db, 'restarted_us')) ?? 0);
      });
      // Also in a life that is known: we may have been killed after writing it down.
      if (restarted > 0 && !behind) await closeBefore(restarted);
    },
    async tidy() {
      const now_us = clock.now() * 1000;
      await closeBefore(now_us - SILENT_US);
      await packRecords(store, now_us - PACK_AFTER_US);
    },
  };
}

/** Which of the conversations have a stored record. */
async function toldOf(db: Kysely<Tables>, roots: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await inChunks(roots, (some) =>
    db.selectFrom('conversations').select('root').where('root', 'in', some).execute(),
  );
  return new Set(rows.map((row) => row.root));
}
async function keepMalformed(db: Kysely<Tables>, lines: readonly string[], now: number): Promise<void> {
  if (lines.length === 0) return;
  await inChunks(lines.slice(-MALFORMED_KEPT), async (some) => {
    await db
      .insertInto('history_malformed')
      // Some databases refuse this one character in a text.
      .values(some.map((line) => ({ seen_at: now, line: line.replaceAll('\0', '\ufffd') })))
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
