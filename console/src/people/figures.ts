/** Figures of the service from its metrics (Prometheus text). */

/** Value of each gauge without labels, and the sum over labels of the others. */
export function figuresOf(text: string): ReadonlyMap<string, number> {
  const figures = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name, value] = /^([a-zA-Z_:][\w:]*)(?:\{[^}]*\})? ([^ ]+)/.exec(line) ?? [];
    const n = Number(value);
    if (name !== undefined && !Number.isNaN(n)) figures.set(name, (figures.get(name) ?? 0) + n);
  }
  return figures;
}
