/** Number suggested for a new extension. */

/** First free number above the lowest of `extensions`, as long as the first of them; null without one to start from. */
export function freeNumber(extensions: readonly string[], taken: ReadonlySet<string>): string | null {
  const own = extensions.filter((one) => /^[1-9]\d{1,9}$/.test(one));
  if (own.length === 0) return null;
  const length = own[0]?.length;
  const known = new Set([...own, ...taken]);
  const same = own.filter((one) => one.length === length).map(Number);
  // Starts at the lowest, because a gap between two blocks of numbers is suitable, too.
  for (let next = Math.min(...same) + 1; String(next).length === length; next += 1) {
    if (!known.has(String(next))) return String(next);
  }
  return null;
}
