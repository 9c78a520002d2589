/**
 * An index of every three characters that follow each other in the column `text` of a table: FTS5 in SQLite, pg_trgm in
 * PostgreSQL. The database keeps it with every insert and delete; a text is never updated in place.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { SqliteAdapter, sql } from 'kysely';
import type { Kysely, Transaction } from 'kysely';

/** The part of a table that is searched. */
type Searched<T extends string> = { readonly [name in T]: { id: number; text: string } };

/** A search that is shorter than the three characters of an index entry. */
const TOO_SHORT = /^.{0,2}$/su;
/** Texts compared one by one between two turns of the event loop: about 1 ms. */
const AT_ONCE = 10_000;
/** Texts compared one by one for a search that is too short for the index. */
const MOST_COMPARED = 200_000;
/** Newest texts in which the words of a search are counted, and the count that makes a word a common one. */
const SAMPLED = 256;
const COMMON = SAMPLED / 4;

const indexOf = (table: string): string => `${table}_text`;
export const isSqlite = <T>(db: Kysely<T>): boolean => db.getExecutor().adapter instanceof SqliteAdapter;
export const likeLiteral = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

/** Creates the index within a migration, and indexes the existing texts. */
export async function createTextIndex(db: Transaction<unknown>, table: string): Promise<void> {
  await (isSqlite(db) ? createTrigrams(db, table) : createTrgm(db, table));
}
async function createTrigrams(db: Transaction<unknown>, table: string): Promise<void> {
  const [from, index] = [sql.table(table), sql.table(indexOf(table))];
  const [content, column] = [sql.lit(table), sql.ref(indexOf(table))];
  await sql`create virtual table ${index} using fts5(
    text, content=${content}, content_rowid='id', columnsize=0, tokenize='trigram case_sensitive 1')`.execute(
    db,
  );
  // A deleted text leaves nothing in the index, as nowhere else in the file.
  await sql`insert into ${index} (${column}, rank) values ('secure-delete', 1)`.execute(db);
  await sql`insert into ${index} (${column}) values ('rebuild')`.execute(db);
  await sql`create trigger ${sql.table(`${indexOf(table)}_insert`)} after insert on ${from} begin
    insert into ${index} (rowid, text) values (new.id, new.text); end`.execute(db);
  await sql`create trigger ${sql.table(`${indexOf(table)}_delete`)} after delete on ${from} begin
    insert into ${index} (${column}, rowid, text) values ('delete', old.id, old.text); end`.execute(db);
}
/** Without the extension and the right to create it there is no index, and a search compares every text. */
async function createTrgm(db: Transaction<unknown>, table: string): Promise<void> {
  const { rows } = await sql<{ can: boolean }>`select
    exists (select from pg_extension where extname = 'pg_trgm')
    or (exists (select from pg_available_extensions where name = 'pg_trgm')
      and has_database_privilege(current_database(), 'create')) as can`.execute(db);
  if (rows[0]?.can !== true) return;
  await sql`create extension if not exists pg_trgm`.execute(db);
  // The extension may be in a schema outside the search path.
  const found = await sql<{ name: string }>`select n.nspname as name
    from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'`.execute(
    db,
  );
  await sql`create index ${sql.ref(indexOf(table))} on ${sql.table(table)}
    using gin (text ${sql.id(found.rows[0]!.name, 'gin_trgm_ops')})`.execute(db);
}

/**
 * Ids of the texts that contain this one; null where they are more than `most`, or where too many texts would be compared one
 * by one. O(log n + texts that share their rarest three characters).
 */
export async function textsWith<T extends string>(
  db: Kysely<Searched<T>>,
  table: T,
  text: string,
  most: number,
): Promise<readonly number[] | null> {
  if (text.includes('\0')) return null;
  const limit = most + 1;
  const found = !isSqlite(db)
    ? await contains(db, table, text, limit)
    : TOO_SHORT.test(text)
      ? await compared(db, table, text, limit)
      : await matching(db, table, text, limit);
  return found === null || found.length > most ? null : found;
}
interface Id {
  readonly id: number;
}
const ids = ({ rows }: { readonly rows: readonly Id[] }): readonly number[] =>
  rows.map(({ id }) => Number(id));
/**
 * The index reads the list of every three characters of a phrase. Where a word of the text is rare, the index finds the texts
 * with that word, and the whole text is compared with those: half of the time with 700 matches of 500,000.
 */
async function matching<T>(
  db: Kysely<T>,
  table: string,
  text: string,
  limit: number,
): Promise<readonly number[]> {
  const index = sql.table(indexOf(table));
  const words = text.split(' ').filter((word) => word !== '');
  const rare = words.length > 1 ? phrases(await rareOf(db, table, words)) : '';
  if (rare !== '') {
    const { rows } = await sql<{ n: number }>`select count(*) as n from
      (select rowid from ${index} where text match ${rare} limit ${AT_ONCE})`.execute(db);
    if (rows[0]!.n < AT_ONCE)
      return ids(
        await sql<Id>`select rowid as id from ${index}
          where text match ${rare} and text like ${likeLiteral(text)} escape '\\' limit ${limit}`.execute(db),
      );
  }
  return ids(
    await sql<Id>`select rowid as id from ${index} where text match ${phrases([text])} limit ${limit}`.execute(
      db,
    ),
  );
}
const phrases = (texts: readonly string[]): string =>
  texts.map((text) => `"${text.replaceAll('"', '""')}"`).join(' ');
async function contains<T>(
  db: Kysely<T>,
  table: string,
  text: string,
  limit: number,
  within = sql``,
): Promise<readonly number[]> {
  return ids(
    await sql<Id>`select id from ${sql.table(table)}
      where text like ${likeLiteral(text)} escape '\\' ${within} limit ${limit}`.execute(db),
  );
}
/** A part of a search; `next` is the id below which it continues, null at its end. */
export interface Block {
  readonly ids: readonly number[];
  readonly next: number | null;
}
/**
 * Ids below `before` of texts that contain every one of `words`, newest first, at most `limit`. Words of which none is both
 * long enough for the index and rare end a block after a bounded number of comparisons, found or not.
 */
export async function newestWith<T extends string>(
  db: Kysely<Searched<T>>,
  table: T,
  words: readonly string[],
  before: number,
  limit: number,
): Promise<Block> {
  if (words.some((word) => word.includes('\0'))) return { ids: [], next: null };
  const has = (some: readonly string[]) =>
    sql.join(
      some.map((word) => sql`and text like ${likeLiteral(word)} escape '\\'`),
      sql` `,
    );
  const below = async (from: number, to: number, most: number): Promise<readonly number[]> =>
    ids(
      await sql<Id>`select id from ${sql.table(table)} where id >= ${from} and id < ${to} ${has(words)}
        order by id desc limit ${most}`.execute(db),
    );
  const ended = (found: readonly number[]): Block => ({
    ids: found,
    next: found.length < limit ? null : found.at(-1)!,
  });
  if (!isSqlite(db)) return ended(await below(0, before, limit));
  const rare = await rareOf(db, table, words, before);
  if (rare.length > 0) {
    const others = words.filter((word) => !rare.includes(word));
    return ended(
      ids(
        await sql<Id>`select rowid as id from ${sql.table(indexOf(table))} where text match ${phrases(rare)}
          and rowid < ${before} ${has(others)} order by rowid desc limit ${limit}`.execute(db),
      ),
    );
  }
  const { rows } = await sql<{
    last: number | null;
  }>`select max(id) as last from ${sql.table(table)}`.execute(db);
  const found: number[] = [];
  let to = Math.min(before, Number(rows[0]?.last ?? 0) + 1);
  for (const end = to - MOST_COMPARED; to > Math.max(end, 0) && found.length < limit; to -= AT_ONCE) {
    found.push(...(await below(to - AT_ONCE, to, limit - found.length)));
    await turn();
  }
  return found.length < limit && to > 0 ? { ids: found, next: to } : ended(found);
}
/**
 * The rare words of a search, which few of the newest texts have; only these are looked up in the index. For a common
 * word the index would read most texts: comparing the texts with rare words is faster, or the newest ones without any.
 */
async function rareOf<T>(
  db: Kysely<T>,
  table: string,
  words: readonly string[],
  before = Number.MAX_SAFE_INTEGER,
): Promise<readonly string[]> {
  const long = words.filter((word) => !TOO_SHORT.test(word));
  if (long.length === 0 || words.length === 1) return long;
  const counts = long.map(
    (word, n) => sql`sum(text like ${likeLiteral(word)} escape '\\') as ${sql.ref(`n${n}`)}`,
  );
  const { rows } = await sql<Record<string, number | null>>`select ${sql.join(counts)} from
    (select text from ${sql.table(table)} where id < ${before} order by id desc limit ${SAMPLED})`.execute(
    db,
  );
  return long.filter((_word, n) => (rows[0]?.[`n${n}`] ?? 0) < COMMON);
}
/** Compares one block of ids at a time, so that a read on SQLite never blocks other statements for long. */
async function compared<T>(
  db: Kysely<T>,
  table: string,
  text: string,
  limit: number,
): Promise<readonly number[] | null> {
  // For min and max in one select SQLite reads the whole table; for each in a select of its own, only the index.
  const ends = await sql<{ first: number; last: number }>`select
    (select min(id) from ${sql.table(table)}) as first,
    (select max(id) from ${sql.table(table)}) as last`.execute(db);
  const { first, last } = ends.rows[0]!;
  const found: number[] = [];
  if (Number(last) - Number(first) >= MOST_COMPARED) return null;
  for (let from = Number(first); from <= Number(last) && found.length < limit; from += AT_ONCE) {
    const within = sql`and id >= ${from} and id < ${from + AT_ONCE}`;
    found.push(...(await contains(db, table, text, limit - found.length, within)));
    await turn();
  }
  return found;
}
