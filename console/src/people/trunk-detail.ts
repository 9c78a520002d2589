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
