import type { Kysely } from 'kysely';
import type { ConversationChange } from '@offhook/contract/conversation-list.ts';
import type { Objects } from '../../../rights/rights.ts';
import { inChunks } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import type { Owners } from './annotations.ts';
import { detailsOf, rowsOf, summariesOf } from './read.ts';

/** Changes scanned in one request for a reader who may see only some of them. */
const SCAN = 2_000;

interface Changed {
  readonly change: number;
  readonly root: string;
  /** Null for an id that was merged into another conversation. */
  readonly id: number | null;
}
export interface Changes {
  readonly changes: ConversationChange[];
  readonly since: number;
  readonly more: boolean;
}

/** Changes after `since`, oldest first; O(log n + scanned changes). */
export async function readChanges(
  db: Kysely<Tables>,
  owners: Owners,
  { within, since_ms }: { readonly within: Objects; readonly since_ms: number },
  query: { readonly since: number; readonly limit: number; readonly detail: boolean },
): Promise<Changes> {
  const { limit, detail } = query;
  const window = within === null ? limit + 1 : Math.max(limit + 1, SCAN);
  const all = await changedAfter(db, query.since, window);
  const seen = all.slice(0, window - 1);
  const into = await rootsOfMerged(db, seen);
  const theirs = within === null ? null : await concerned(db, seen, into, within, since_ms);
  const fit = seen.filter((c) => theirs === null || theirs.has(into.get(c.root) ?? c.root));
  const page = fit.slice(0, limit);
  const rows = await rowsOf(
    db,
    page.flatMap((c) => c.id ?? []),
  );
  const shown = await (detail ? detailsOf : summariesOf)(db, owners, rows);
  const byId = new Map(shown.map((c) => [c.id, c]));
  const changes = page.flatMap((c): ConversationChange[] => {
    const { change, root: id } = c;
    if (c.id === null) return [{ change, id, merged_into: into.get(id) ?? null, conversation: null }];
    const conversation = byId.get(id);
    // Changed or merged again after its position was read: reported at the new position.
    return conversation?.change === change ? [{ change, id, merged_into: null, conversation }] : [];
  });
  const cut = fit.length > limit;
  const last = cut ? page.at(-1) : seen.at(-1);
  return { changes, since: last?.change ?? query.since, more: cut || all.length === window };
}

/** One statement: a commit between two would appear at a position that the reader has passed. */
async function changedAfter(db: Kysely<Tables>, since: number, limit: number): Promise<readonly Changed[]> {
  const published = db
    .selectFrom('conversations')
    .select((e) => ['change', 'root', e.ref('id').$castTo<number | null>().as('id')])
    .where('change', '>', since)
    .orderBy('change')
    .limit(limit);
  const merged = db
    .selectFrom('conversation_merged')
    .select((e) => ['change', 'root', e.cast<number | null>(e.val(null), 'bigint').as('id')])
    .where('change', '>', since)
    .orderBy('change')
    .limit(limit);
  const rows = await db
    .selectFrom(published.as('t'))
    .selectAll()
    .unionAll(db.selectFrom(merged.as('m')).selectAll())
    .orderBy('change')
    .limit(limit)
    .execute();
  return rows.map(({ change, root, id }) => ({
    change: Number(change),
    root,
    id: id === null ? null : Number(id),
  }));
}
/** Current roots of merged conversations. */
async function rootsOfMerged(
  db: Kysely<Tables>,
  some: readonly Changed[],
): Promise<ReadonlyMap<string, string>> {
  const merged = some.filter((c) => c.id === null).map((c) => c.root);
  const calls = await inChunks(merged, (part) =>
    db.selectFrom('history_calls').selectAll().where('call', 'in', part).execute(),
  );
  return new Map(calls.map(({ call, root }) => [call, root]));
}
/** Ids of conversations with a party of these extensions. */
async function concerned(
  db: Kysely<Tables>,
  some: readonly Changed[],
  into: ReadonlyMap<string, string>,
  within: readonly string[],
  since_ms: number,
): Promise<ReadonlySet<string>> {
  const rootOf = new Map(some.flatMap((c) => (c.id === null ? [] : [[c.id, c.root] as const])));
  const merged = await inChunks([...new Set(into.values())], (part) =>
    db.selectFrom('conversations').select(['id', 'root']).where('root', 'in', part).execute(),
  );
  for (const { id, root } of merged) rootOf.set(Number(id), root);
  if (since_ms > 0) {
    const before = await inChunks([...rootOf.keys()], (part) =>
      db
        .selectFrom('conversations')
        .select('id')
        .where('id', 'in', part)
        .where('started_ms', '<', since_ms)
        .execute(),
    );
    for (const { id } of before) rootOf.delete(Number(id));
  }
  const extensions = new Set(within);
  // By conversation alone: with the kind in the query, a planner may read every person's keys.
  const keys = await inChunks([...rootOf.keys()], (part) =>
    db
      .selectFrom('conversation_keys')
      .select(['conversation', 'kind', 'value'])
      .where('conversation', 'in', part)
      .execute(),
  );
  const theirs = keys.filter((key) => key.kind === 'person' && extensions.has(key.value));
  return new Set(theirs.map((key) => rootOf.get(Number(key.conversation))!));
}
