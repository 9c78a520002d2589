/** Reads what the health page shows from the texts of the service: its metrics and the details of its checks. */

/** Of metrics as Prometheus text: value of each gauge without labels, and the sum over labels of the others. */
export function figuresOf(text: string): ReadonlyMap<string, number> {
  const figures = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name, value] = /^([a-zA-Z_:][\w:]*)(?:\{[^}]*\})? ([^ ]+)/.exec(line) ?? [];
    const n = Number(value);
    if (name !== undefined && !Number.isNaN(n)) figures.set(name, (figures.get(name) ?? 0) + n);
  }
  return figures;
}

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

/** Detail of the health check `trunks`, as `trunkTroubles` of the service writes it. */
const REASONS = { 'no answer': 'no_answer', 'registration failed': 'registration_failed' } as const;
const NEXT = /; (?=(?:no answer|registration failed): )/;
const TROUBLE = /^(no answer|registration failed): (.+), since (\S+)$/;

export interface TrunkTrouble {
  readonly reason: (typeof REASONS)[keyof typeof REASONS];
  /** Title of the trunk. */
  readonly name: string;
  /** RFC 3339. */
  readonly since: string;
}
/** Trunks that are down; null for any other text. */
export function trunkTroublesOf(detail: string): readonly TrunkTrouble[] | null {
  const troubles: TrunkTrouble[] = [];
  for (const part of detail.split(NEXT)) {
    const [, reason, name = '', since = ''] = TROUBLE.exec(part) ?? [];
    if (reason === undefined || Number.isNaN(Date.parse(since))) return null;
    troubles.push({ reason: REASONS[reason as keyof typeof REASONS], name, since });
  }
  return troubles;
}
