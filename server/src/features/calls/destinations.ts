import type { CallSettings, Destination } from '@offhook/contract/call-settings.ts';

/** The site's own numbers: people, queues, services, parking slots. */
export interface OwnNumbers {
  has(number: string): boolean;
}
export interface Classified {
  readonly destination: Destination;
  /** Country code of an international number, e.g. `49`; null for others. */
  readonly country: string | null;
}

/** Country codes of one and of two digits (ITU-T E.164); all others have three. */
const ONE = new Set(['1', '7']);
const TWO = new Set(
  '20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98'.split(
    ' ',
  ),
);
export function countryOf(international: string): string {
  const digits = international.slice(1);
  if (ONE.has(digits.slice(0, 1))) return digits.slice(0, 1);
  return TWO.has(digits.slice(0, 2)) ? digits.slice(0, 2) : digits.slice(0, 3);
}

/** Pure. `number`: digits, `*` and `#`, with a leading plus if international. */
export function classify(number: string, own: OwnNumbers, settings: CallSettings): Classified {
  if (/[*#]/.test(number)) return { destination: 'feature_code', country: null };
  if (own.has(number)) return { destination: 'internal', country: null };
  if (settings.emergency.includes(number)) return { destination: 'emergency', country: null };
  const full = number.startsWith('00') ? `+${number.slice(2)}` : number;
  let best: CallSettings['prefixes'][number] | null = null;
  for (const row of settings.prefixes) {
    if (full.startsWith(row.prefix) && row.prefix.length > (best?.prefix.length ?? 0)) best = row;
  }
  if (best === null) return { destination: 'unknown', country: null };
  return { destination: best.destination, country: full.startsWith('+') ? countryOf(full) : null };
}
