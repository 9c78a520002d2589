/** The first page of `rows`, which were read with a limit of `limit` + 1; `at` returns the cursor after a row. */
export function pageOf<T>(
  rows: readonly T[],
  limit: number,
  at: (row: T) => string | number,
): { readonly page: readonly T[]; readonly next_cursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { page, next_cursor: rows.length > limit && last !== undefined ? String(at(last)) : null };
}
/** Number of rows, none of which is kept. */
export async function lengthOf(rows: AsyncIterable<unknown>): Promise<number> {
  let n = 0;
  for await (const _row of rows) n += 1;
  return n;
}
