import type { Kysely } from 'kysely';
import { newestChange, readFact, writeFact } from '../store/store.ts';
import { BUILT, recordsOf } from '../store/packs.ts';
import { BUILT_BY } from '../record/build.ts';
import type { ConversationRow, Tables } from '../store/tables.ts';
import { beginTelling } from './tell.ts';
import type { TellDeps } from './tell.ts';
import type { Store } from '../../../ports/store.ts';

/** Conversations rebuilt in one transaction. */
const AT_ONCE = 200;
const RULES = String(BUILT_BY);

/** Milliseconds since 1970: conversations whose last record is at `from_ms` or later, and before `to_ms`. */
export interface RebuildRange {
  readonly from_ms: number;
  readonly to_ms: number;
}
export interface RebuildProgress {
  readonly done: number;
  /** Conversations in the whole range, including those done by an earlier run. */
  readonly total: number;
  /** Changes in the feed since this run began: one for each conversation whose record changed. */
  readonly changed: number;
}
/** Progress of a rebuild, stored in the transaction that writes its records. */
interface Place extends RebuildRange {
  /** Version of the build rules; with another version the range is rebuilt from its start. */
  readonly rules: string;
  readonly last_us: number;
  readonly root: string;
  readonly done: number;
}

/**
 * Rebuilds every finished conversation of a range from its stored call records, with the present rules. Notes and
 * outcomes stay; conversations with an unchanged record, or without call records, are not written. After a crash the
 * same range continues where it stopped. Throws `store_unavailable`.
 */
export async function rebuildConversations(
  deps: TellDeps & { readonly store: Store },
  range: RebuildRange,
  onProgress: (progress: RebuildProgress) => void,
  signal: AbortSignal,
): Promise<RebuildProgress> {
  const { store } = deps;
  const db = store.db<Tables>();
  const { total } = await inRange(db, range)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  const known = JSON.parse((await readFact(db, 'rebuild')) ?? 'null') as Place | null;
  const same = known?.from_ms === range.from_ms && known.to_ms === range.to_ms && known.rules === RULES;
  let place: Place = same ? known : { ...range, rules: RULES, last_us: -1, root: '', done: 0 };
  const before = await newestChange(db);
  const progress = async (): Promise<RebuildProgress> => ({
    done: place.done,
    total: Number(total),
    changed: (await newestChange(db)) - before,
  });
  while (!signal.aborted) {
    const next = await store.transaction<Tables, Place | null>(async (trx) => {
      const rows = await after(trx, range, place);
      const last = rows.at(-1);
      if (last === undefined) return null;
      await tellAgain(trx, deps, rows);
      const { last_us, root } = last;
      const reached = { ...place, last_us, root, done: place.done + rows.length };
      await writeFact(trx, 'rebuild', JSON.stringify(reached));
      return reached;
    });
    if (next === null) {
      await db.deleteFrom('history_facts').where('key', '=', 'rebuild').execute();
      break;
    }
    place = next;
    onProgress(await progress());
  }
  return await progress();
}

const inRange = (db: Kysely<Tables>, { from_ms, to_ms }: RebuildRange) =>
  db
    .selectFrom('history_conversations')
    .where('built', '!=', BUILT.no)
    .where('last_us', '>=', from_ms * 1000)
    .where('last_us', '<', to_ms * 1000);
const after = (db: Kysely<Tables>, range: RebuildRange, { last_us, root }: Place) =>
  inRange(db, range)
    .selectAll()
    .where((e) => e(e.refTuple('last_us', 'root'), '>', e.tuple(e.val(last_us), e.val(root))))
    .orderBy('last_us')
    .orderBy('root')
    .limit(AT_ONCE)
    .execute();
async function tellAgain(
  db: Kysely<Tables>,
  deps: TellDeps,
  rows: readonly ConversationRow[],
): Promise<void> {
  const telling = beginTelling(db, deps);
  const records = await recordsOf(
    db,
    rows.map((row) => row.root),
  );
  for (const row of rows) {
    const own = records.get(row.root)!;
    if (own.length > 0) telling.end(row, own, true);
  }
  await telling.write();
}
