/** Merges of what is typed in a form with an object that was stored meanwhile. Pure. */

export const equal = (a: unknown, b: unknown): boolean => stable(a) === stable(b);
const stable = (value: unknown): string =>
  JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  ) ?? 'undefined';

/** Returns `theirs`, with those fields of `mine` that differ from `base`. */
export function merged<T extends object>(base: T, mine: T, theirs: T): T {
  const names = Object.keys({ ...base, ...mine }) as (keyof T)[];
  const own = names.filter((name) => !equal(base[name], mine[name])).map((name) => [name, mine[name]]);
  return { ...theirs, ...(Object.fromEntries(own) as Partial<T>) };
}
