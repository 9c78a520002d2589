/** Conversations in which an extension took part, by the time in which something of them may have begun. */
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import type { Conversations } from '../../../ports/conversations.ts';
import { LONG_MS, isLong } from '../store/migrations.ts';
import type { Tables } from '../store/tables.ts';
import { inChunks } from '../store/store.ts';

/** Difference of the clocks of this machine and of an engine. */
const SKEW_MS = 60_000;

/** Start of the `most`-th newest conversation of the extension with the most of them; 0 if none has so many. */
async function startOf(db: Kysely<Tables>, extensions: readonly string[], before_ms: number, most: number) {
  const rows = await inChunks(extensions, async (some) => {
    const people = sql.join(some.map((extension) => sql`(${extension})`));
    // One search of the index for each extension: with `in`, all keys of all extensions would be sorted.
    const { rows: found } = await sql<{ started_ms: number | null }>`
      select (select started_ms from conversation_keys
        where kind = 'person' and value = people.column1 and started_ms < ${before_ms}
        order by started_ms desc limit 1 offset ${most - 1}) as started_ms
      from (values ${people}) as people`.execute(db);
    return found;
  });
  return Math.max(0, ...rows.map(({ started_ms }) => Number(started_ms ?? 0)));
}
/**
 * A short conversation begins at most `LONG_MS` before anything of it. The same time is added after the end, for a conversation
 * whose first records are missing.
 */
export async function callsWithPart(
  db: Kysely<Tables>,
  extensions: readonly string[],
  before_ms: number,
  most: number,
): ReturnType<Conversations['withPart']> {
  const since_ms = await startOf(db, extensions, before_ms, Math.ceil(most / extensions.length));
  const first = since_ms - LONG_MS;
  const near = await inChunks(extensions, (some) =>
    db
      .selectFrom('conversation_keys')
      .select('conversation')
      .where('kind', '=', 'person')
      .where('value', 'in', some)
      .where('started_ms', '>=', first)
      .where('started_ms', '<', before_ms + LONG_MS)
      .execute(),
  );
  const found = await inChunks([...new Set(near.map((key) => key.conversation))], (some) =>
    db.selectFrom('conversations').select(['root', 'state', 'ended_ms']).where('id', 'in', some).execute(),
  );
  const long = await db
    .selectFrom('conversations')
    .select(['id', 'root', 'state', 'ended_ms'])
    .where(isLong)
    .where('started_ms', '<', first)
    .where((e) => e.or([e('ended_ms', '>=', since_ms - SKEW_MS), e('state', '=', 'open')]))
    .execute();
  // By conversation alone: with the person in the query, a planner may read all keys of the person.
  const keys = await inChunks(
    long.map(({ id }) => id),
    (some) =>
      db
        .selectFrom('conversation_keys')
        .select(['conversation', 'kind', 'value'])
        .where('conversation', 'in', some)
        .execute(),
  );
  const theirs = new Set(
    keys
      .filter((key) => key.kind === 'person' && extensions.includes(key.value))
      .map((key) => key.conversation),
  );
  const roots = [...found, ...long.filter(({ id }) => theirs.has(id))]
    .filter(({ state, ended_ms }) => state === 'open' || ended_ms >= since_ms - SKEW_MS)
    .map(({ root }) => root);
  const calls = await inChunks(roots, (some) =>
    db.selectFrom('history_calls').select('call').where('root', 'in', some).execute(),
  );
  return { calls: calls.map(({ call }) => call), since_ms };
}
