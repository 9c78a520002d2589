import { nodeOf } from '@offhook/contract/ids.ts';
import type { Kysely } from 'kysely';
import type { CallRecord, CallRecordBatch, CallRecordCheckpoint } from '../../../ports/call-records.ts';
import type { Common } from '../../../ports/common.ts';
import { inChunks, readFact, writeFact } from '../store/store.ts';
import type { FactKey } from '../store/store.ts';
import { withoutErased } from '../store/eraser.ts';
import { keepFinding } from '../proof/findings.ts';
import type { Finding } from '../proof/findings.ts';
import { keepTestChannels } from '../proof/gaps.ts';
import { linkRecords } from './links.ts';
import type { Touched } from './links.ts';
import { createPace, beginTelling } from './tell.ts';
import { BUILT, packRecords, recordsOf, storeRecords } from '../store/packs.ts';
import { inOrder, isChannel, withDirectory } from '../record/records.ts';
import type { KnownRecord } from '../record/records.ts';
import type { ConversationRow, Tables } from '../store/tables.ts';
import type { Pace, TellDeps } from './tell.ts';

/** Malformed lines kept for support. */
const MALFORMED_KEPT = 1000;
/** Conversations built in one transaction. */
const AT_ONCE = 50;
/** Limit of live conversations built when the reader has caught up; others are built with their next call record. */
const MOST_OPEN = 10_000;
/** A live conversation without a new call record for this long is closed: its end was lost. */
export const SILENT_US = 12 * 3_600_000_000;
const ENDING: ReadonlySet<CallRecord['type']> = new Set(['hangup', 'channel_end', 'linked_end']);
/** The call records of a conversation stay unpacked for this long after the last one. */
const PACK_AFTER_US = 48 * 3_600_000_000;

export interface IngestDeps extends TellDeps, Common<'clock' | 'store'> {
  /** Name of the node whose call records are read; null where the site has only one. */
  readonly node?: string | null | undefined;
  /** Nodes of the site's other engines. */
  readonly others?: readonly string[] | undefined;
}
/** Conversations of one batch, by root: finished, live with the number of their call records, and to be built later. */
interface News {
  readonly later: string[];
  readonly over: string[];
  readonly soFar: Map<string, number>;
}
/** A touched conversation. `over`: records are complete; `mayEnd`: try to end it; `goesOn`: else build it as live. */
interface Plan extends Touched {
  readonly over: boolean;
  readonly mayEnd: boolean;
  readonly goesOn: boolean;
  /** True if its record is built now, which needs its stored call records. */
  readonly tells: boolean;
}

/** How long a conversation that is over at one engine waits for the records of another one. */
const HALF_MS = 60_000;
/** Selects all nodes; no node has this name. */
const ALL = '*';
const keyFor = <T extends 'boot' | 'restarted_us'>(what: T, node: string | undefined): T | `${T}:${string}` =>
  node === undefined ? what : `${what}:${node}`;

/** True for a call between two engines that has ended, except for channels older than a restart of their engine. */
function isHalf(records: readonly KnownRecord[], restarted: (node: string) => number): boolean {
  if (!records.some(({ pair }) => pair !== null && isChannel(pair))) return false;
  const open = new Map<string, number>();
  for (const { type, channel, at_us } of inOrder(records))
    if (type === 'hangup' || type === 'channel_end') open.delete(channel);
    else if (open.has(channel) || type === 'channel_start') open.set(channel, at_us);
  return [...open].every(([channel, at]) => at < restarted(nodeOf(channel)));
}

export class Ingest {
  readonly #deps: IngestDeps;
  readonly #checkpoint: FactKey;
  readonly #pace: Pace;
  /** True once the reader has caught up. */
  #live = false;
  /** True once conversations that an earlier process left open were handled. */
  #begun = false;
  /** True if more call records follow the newest batch. */
  #behind = false;
  readonly #others: readonly string[];
  /** Newest conversation that `closeHalves` examined; null to begin with the oldest. */
  #halfAt: Pick<ConversationRow, 'last_us' | 'root'> | null = null;
  constructor(deps: IngestDeps) {
    this.#others = deps.others ?? [];
    this.#deps = deps;
    this.#checkpoint = deps.node == null ? 'checkpoint' : `checkpoint:${deps.node}`;
    this.#pace = createPace(deps.clock);
  }

  #keyOf(node: string | undefined): FactKey {
    return node === undefined ? this.#checkpoint : `checkpoint:${node}`;
  }
  /** `node`: node of another engine; without it, the engine of this node. */
  async checkpoint(node?: string): Promise<CallRecordCheckpoint | null> {
    const text = await readFact(this.#deps.store.db<Tables>(), this.#keyOf(node));
    return text === null ? null : (JSON.parse(text) as CallRecordCheckpoint);
  }
  /** Stores call records, their conversations and the checkpoint in one transaction. Idempotent. */
  async store(batch: CallRecordBatch, node?: string): Promise<void> {
    const { store, clock } = this.#deps;
    const key = this.#keyOf(node);
    const news = await store.transaction<Tables, News>(async (db) => {
      const checkpoint = JSON.stringify(batch.checkpoint);
      // The batch is stored already: the connection broke after the commit.
      if ((await readFact(db, key)) === checkpoint) return { over: [], soFar: new Map(), later: [] };
      const news = await this.#storeNew(db, batch.records, batch.live);
      await keepMalformed(db, batch.malformed, clock.now());
      await keepTestChannels(db, batch.test_channels ?? [], clock.now());
      await writeFact(db, key, checkpoint);
      return news;
    });
    // Only after the commit, so that the next attempt builds again what was rolled back.
    for (const root of news.over) this.#pace.over(root);
    for (const [root, records] of news.soFar) this.#pace.written(root, records);
    for (const root of news.later) this.#pace.postpone(root);
    // Only the engine of this node decides whether the reader has caught up; another one may be away for long.
    if (node !== undefined) return;
    if (this.#behind && batch.live)
      await this.#closeBefore(Number((await readFact(store.db<Tables>(), 'restarted_us')) ?? 0), null);
    this.#live = batch.live;
    this.#behind = !batch.live;
  }
  /**
   * Stores call records made from the journal, ends their conversations and stores the finding, in one transaction.
   * Idempotent.
   */
  async complete(records: readonly CallRecord[], finding: Finding): Promise<void> {
    const news = await this.#deps.store.transaction<Tables, News>(async (db) => {
      await keepFinding(db, finding);
      return await this.#storeNew(db, records, true, true);
    });
    for (const root of news.over) this.#pace.over(root);
  }
  /** Builds the live conversations that are due. Call it every second. */
  async tellDue(): Promise<void> {
    if (!this.#live) return;
    if (!this.#begun) for (const root of await this.#openRoots()) this.#pace.postpone(root);
    this.#begun = true;
    const due = this.#pace.due();
    for (let i = 0; i < due.length; i += AT_ONCE) {
      const roots = due.slice(i, i + AT_ONCE);
      const built = await this.#buildOpen(roots);
      for (const root of roots) {
        const records = built.get(root);
        if (records === undefined) this.#pace.over(root);
        else this.#pace.written(root, records);
      }
    }
  }
  /**
   * Ends the open conversations whose newest record is older than this start of their engine; `boot` is the id of the
   * start. `node`: node of another engine of the site.
   */
  async engineBooted(boot: string, at_ms: number, node?: string): Promise<void> {
    const [known_boot, restart] = [keyFor('boot', node), keyFor('restarted_us', node)];
    const restarted = await this.#deps.store.transaction<Tables, number>(async (db) => {
      const stored = await readFact(db, known_boot);
      // Earlier versions put the leading node before the start of another engine.
      const known = node === undefined ? stored : (stored?.split(' ').at(-1) ?? null);
      if (known !== boot) await writeFact(db, known_boot, boot);
      if (known !== null && known !== boot) await writeFact(db, restart, String(at_ms * 1000));
      return Number((await readFact(db, restart)) ?? 0);
    });
    // Also for a known start: the service may have been killed between storing the start and closing.
    if (restarted > 0 && (node !== undefined || !this.#behind))
      await this.#closeBefore(restarted, node ?? null);
  }
  /**
   * Closes calls between two engines that ended at one of them over a minute ago and lack records of the other. Examines
   * `AT_ONCE` of the open conversations; the next call continues after them.
   */
  async closeHalves(): Promise<void> {
    const { clock, store } = this.#deps;
    const after = this.#halfAt;
    const closed: string[] = [];
    const open = await store.transaction<Tables, readonly ConversationRow[]>(async (db) => {
      const restarts = await this.#restarts(db);
      let wanted = db
        .selectFrom('history_conversations')
        .selectAll()
        .where('built', '=', BUILT.no)
        .where('closing', '=', 1)
        .where('last_us', '<', (clock.now() - HALF_MS) * 1000);
      if (after !== null)
        wanted = wanted.where((e) =>
          e(e.refTuple('last_us', 'root'), '>', e.tuple(e.val(after.last_us), e.val(after.root))),
        );
      const open = await wanted.orderBy('last_us').orderBy('root').limit(AT_ONCE).execute();
      const records = await recordsOf(
        db,
        open.map((row) => row.root),
      );
      const telling = beginTelling(db, this.#deps);
      for (const row of open) {
        const all = records.get(row.root)!;
        if (!isHalf(all, (node) => restarts.get(node) ?? 0)) continue;
        telling.end(row, all, true);
        closed.push(row.root);
      }
      await telling.write();
      return open;
    });
    this.#halfAt = open.length < AT_ONCE ? null : open.at(-1)!;
    for (const root of closed) this.#pace.over(root);
  }
  /** Closes conversations whose end was lost, and packs old call records. */
  async tidy(): Promise<void> {
    const { clock, store } = this.#deps;
    const now_us = clock.now() * 1000;
    await this.#closeBefore(now_us - SILENT_US, ALL);
    await packRecords(store, now_us - PACK_AFTER_US);
  }

  /** Stores call records and builds the conversations they belong to. */
  async #storeNew(
    db: Kysely<Tables>,
    batch: readonly CallRecord[],
    isLive: boolean,
    ended = false,
  ): Promise<News> {
    const news: News = { over: [], soFar: new Map(), later: [] };
    const once = new Map(batch.map((r) => [r.key, r]));
    const given = [...once.values()].map((r) => withDirectory(r, this.#deps.directory));
    const records = await withoutErased(db, given);
    if (records.length === 0) return news;
    const telling = beginTelling(db, this.#deps);
    const { touched, merged } = await linkRecords(db, records);
    const plans = await this.#plan(db, touched, merged, isLive, ended);
    const before = await recordsOf(
      db,
      plans.filter((c) => c.tells && !c.fresh).map((c) => c.row.root),
    );
    const fresh: KnownRecord[] = [];
    for (const { row, records: own, over, mayEnd, goesOn } of plans) {
      const stored = before.get(row.root) ?? [];
      const keys = new Set(stored.map((r) => r.key));
      const added = keys.size === 0 ? own : own.filter((r) => !keys.has(r.key));
      // The file is being read again: all these records are stored.
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
  /** Decides which of the touched conversations may end and which are built now. */
  async #plan(
    db: Kysely<Tables>,
    touched: readonly Touched[],
    merged: readonly string[],
    isLive: boolean,
    ended: boolean,
  ): Promise<readonly Plan[]> {
    const restarts = await this.#restarts(db);
    const known = await storedAmong(db, merged);
    return touched.map((t) => {
      // A stored conversation was merged into this one; build it now, or a reader finds neither.
      const joined = t.joined.some((root) => known.has(root));
      // Until the reader has caught up, more call records from before the engine's restart may follow.
      const restarted = restarts.get(nodeOf(t.row.root)) ?? restarts.get(null)!;
      const over = ended || t.row.built !== BUILT.no || (isLive && t.row.last_us < restarted);
      // Only a merge or one of these records can end it; after any other record the rebuild waits for its time.
      const ends = t.joined.length > 0 || t.records.some((r) => ENDING.has(r.type));
      const mayEnd = over || (t.row.closing === 1 && ends);
      const goesOn = joined || (isLive && (mayEnd || this.#pace.isReady(t.row.root)));
      return { ...t, over, mayEnd, goesOn, tells: mayEnd || goesOn };
    });
  }
  /** Newest restart of each engine in microseconds since 1970 (0: none), by node; null for the engine of this node. */
  async #restarts(db: Kysely<Tables>): Promise<ReadonlyMap<string | null, number>> {
    const restarts = new Map<string | null, number>();
    for (const node of [null, ...this.#others])
      restarts.set(node, Number((await readFact(db, keyFor('restarted_us', node ?? undefined))) ?? 0));
    return restarts;
  }
  async #openRoots(): Promise<readonly string[]> {
    const rows = await this.#deps.store
      .db<Tables>()
      .selectFrom('history_conversations')
      .select('root')
      .where('built', '=', BUILT.no)
      .orderBy('last_us', 'desc')
      .limit(MOST_OPEN)
      .execute();
    return rows.map((row) => row.root);
  }
  /** Builds the live ones of these conversations; returns the number of their call records, by root. */
  #buildOpen(roots: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#deps.store.transaction<Tables, ReadonlyMap<string, number>>(async (db) => {
      const telling = beginTelling(db, this.#deps);
      const rows = await db
        .selectFrom('history_conversations')
        .selectAll()
        .where('root', 'in', roots)
        .where('built', '=', BUILT.no)
        .execute();
      const records = await recordsOf(
        db,
        rows.map((row) => row.root),
      );
      for (const row of rows) telling.soFar(row, records.get(row.root)!);
      await telling.write();
      return new Map(rows.map(({ root }) => [root, records.get(root)!.length]));
    });
  }
  /** Closes open conversations whose newest record is older. `node`: null for this node's engine, `ALL` for all. */
  async #closeBefore(at_us: number, node: string | null): Promise<void> {
    const others = this.#others.map((one) => `${one}:`);
    for (;;) {
      const closed = await this.#deps.store.transaction<Tables, readonly ConversationRow[]>(async (db) => {
        const telling = beginTelling(db, this.#deps);
        let wanted = db
          .selectFrom('history_conversations')
          .selectAll()
          .where('built', '=', BUILT.no)
          .where('last_us', '<', at_us);
        if (node === null) for (const one of others) wanted = wanted.where('root', 'not like', `${one}%`);
        else if (node !== ALL) wanted = wanted.where('root', 'like', `${node}:%`);
        const open = await wanted.orderBy('last_us').limit(AT_ONCE).execute();
        const records = await recordsOf(
          db,
          open.map((row) => row.root),
        );
        for (const row of open) telling.end(row, records.get(row.root)!, true);
        await telling.write();
        return open;
      });
      for (const { root } of closed) this.#pace.over(root);
      if (closed.length < AT_ONCE) return;
    }
  }
}

/** Conversations among these with a stored record. */
async function storedAmong(db: Kysely<Tables>, roots: readonly string[]): Promise<ReadonlySet<string>> {
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
      // PostgreSQL rejects this character in a text.
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
