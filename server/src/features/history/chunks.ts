/** Values of one statement; far below the limit of every database. */
const CHUNK = 200;

/** Runs a statement for a few values at a time and gives back all its rows. */
export async function inChunks<T, R>(
  values: readonly T[],
  run: (some: readonly T[]) => Promise<readonly R[]>,
): Promise<R[]> {
  const found: R[] = [];
  for (let i = 0; i < values.length; i += CHUNK) found.push(...(await run(values.slice(i, i + CHUNK))));
  return found;
}
/** Writes values with a statement for a few of them at a time. */
export async function insertAll<T>(
  values: readonly T[],
  insert: (some: readonly T[]) => Promise<unknown>,
): Promise<void> {
  for (let i = 0; i < values.length; i += CHUNK) await insert(values.slice(i, i + CHUNK));
}
