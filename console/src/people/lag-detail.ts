/** Detail of the health check `journal`, which the service writes as JSON. */
export const LAG = ['held', 'oldest_ms', 'dropped', 'failed', 'error'] as const;
type Lag = Readonly<Partial<Record<(typeof LAG)[number], string | number | null>>>;

/** The lag of the journal; null for any other text. */
export function lagOf(detail: string): Lag | null {
  if (!detail.startsWith('{')) return null;
  try {
    return JSON.parse(detail) as Lag;
  } catch {
    return null;
  }
}
