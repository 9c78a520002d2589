import { CompiledQuery } from 'kysely';
import type { Kysely } from 'kysely';

/** Statements stay prepared, one for each number of rows. */
const ROWS_PER_STATEMENT = 50;

/**
 * Inserts rows by a statement whose text is built once for each number of rows, because building it costs more than
 * running it. All rows have the same keys in the same order, and no value is undefined. Use a result with one database.
 */
export function insertOf<T, R extends object>(
  build: (db: Kysely<T>, rows: readonly R[]) => { compile(): CompiledQuery },
): (db: Kysely<T>, rows: readonly R[]) => Promise<void> {
  const texts = new Map<number, string>();
  return async (db, rows) => {
    for (let i = 0; i < rows.length; i += ROWS_PER_STATEMENT) {
      const some = rows.slice(i, i + ROWS_PER_STATEMENT);
      const text = texts.get(some.length) ?? build(db, some).compile().sql;
      texts.set(some.length, text);
      await db.executeQuery(
        CompiledQuery.raw(
          text,
          some.flatMap((row) => Object.values(row as Record<string, unknown>)),
        ),
      );
    }
  };
}
