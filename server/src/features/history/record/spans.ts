/** A stretch of time, in microseconds since 1970; `to` is never before `from`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The same time without overlaps, in order. */
export function union(spans: readonly Span[]): readonly Span[] {
  const merged: { from: number; to: number }[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from || a.to - b.to)) {
    const last = merged.at(-1);
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else merged.push({ ...span });
  }
  return merged;
}
export const overlap = (a: Span, b: Span): Span | null => {
  const [from, to] = [Math.max(a.from, b.from), Math.min(a.to, b.to)];
  return from < to ? { from, to } : null;
};
/** What is in `spans` and not in `without`. */
export function subtract(spans: readonly Span[], without: readonly Span[]): readonly Span[] {
  const holes = union(without);
  const left: Span[] = [];
  let next = 0;
  for (const { from, to } of union(spans)) {
    while (next < holes.length && holes[next]!.to <= from) next += 1;
    let at = from;
    for (let i = next; i < holes.length && holes[i]!.from < to; i += 1) {
      const hole = holes[i]!;
      if (hole.from > at) left.push({ from: at, to: hole.from });
      at = Math.max(at, hole.to);
    }
    if (at < to) left.push({ from: at, to });
  }
  return left;
}
export const lengthOf = (spans: readonly Span[]): number =>
  union(spans).reduce((sum, s) => sum + s.to - s.from, 0);
/** Whole seconds, cut off as the engine does it, so that parts never add up to more than the whole. */
export const seconds = (us: number): number => Math.max(0, Math.floor(us / 1_000_000));
