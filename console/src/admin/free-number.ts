/** The number offered to a new extension. */

/** The first number after those of `extensions` that nothing else has; null where there is no extension to go on from. */
export function freeNumber(extensions: readonly string[], taken: ReadonlySet<string>): string | null {
  const own = extensions.filter((one) => /^[1-9]\d{1,9}$/.test(one));
  if (own.length === 0) return null;
  const length = own[0]?.length;
  const known = new Set([...own, ...taken]);
  const same = own.filter((one) => one.length === length).map(Number);
  // Not one past the highest: a gap between two blocks of numbers is as good.
  for (let next = Math.min(...same) + 1; String(next).length === length; next += 1) {
    if (!known.has(String(next))) return String(next);
  }
  return null;
}
