const CLASS: Readonly<Record<string, string>> = { X: '[0-9]', Z: '[1-9]', N: '[2-9]', '+': '\\+' };
const DIGITS: Readonly<Record<string, string>> = { X: '0123456789', Z: '123456789', N: '23456789' };

/** Part of a pattern before `.` or `!`, and the least length of its numbers. */
function partsOf(pattern: string): { fixed: string; open: boolean; least: number } {
  const end = /[.!]$/.exec(pattern)?.[0];
  const fixed = end === undefined ? pattern : pattern.slice(0, -1);
  return { fixed, open: end !== undefined, least: fixed.length + (end === '.' ? 1 : 0) };
}

/**
 * Matches a number against a dial pattern: X is any digit, Z 1 to 9, N 2 to 9, a final `.` one or more of
 * anything, a final `!` none or more. Every other character matches itself.
 */
export function dialMatcher(pattern: string): (number: string) => boolean {
  const { fixed, open, least } = partsOf(pattern);
  const body = Array.from(fixed, (c) => CLASS[c] ?? c.replaceAll(/[^A-Za-z0-9]/g, '\\$&')).join('');
  const regex = new RegExp(`^${body}${open ? (least > fixed.length ? '.+' : '.*') : ''}$`, 's');
  return (number) => regex.test(number);
}

/** Least length of a number of this pattern; a + counts as one. */
export const shortestOf = (pattern: string): number => partsOf(pattern).least;

/** Characters that a position of a pattern matches: a bit for each key and one for +. */
const BITS: Readonly<Record<string, number>> = Object.fromEntries([
  ...Array.from('0123456789+*#', (c, i) => [c, 1 << i] as const),
  ...Object.entries(DIGITS).map(
    ([c, digits]) => [c, Array.from(digits).reduce((bits, d) => bits | (1 << Number(d)), 0)] as const,
  ),
]);
interface Places {
  readonly bits: readonly number[];
  readonly open: boolean;
  readonly least: number;
}
function placesOf(pattern: string): Places {
  const { fixed, open, least } = partsOf(pattern);
  return { bits: Array.from(fixed, (c) => BITS[c] ?? 0), open, least };
}
function placesMeet(one: Places, two: Places): boolean {
  const common = Math.min(one.bits.length, two.bits.length);
  for (let i = 0; i < common; i++) if ((one.bits[i]! & two.bits[i]!) === 0) return false;
  if (one.open && two.open) return true;
  if (one.open) return two.bits.length >= one.least;
  if (two.open) return one.bits.length >= two.least;
  return one.bits.length === two.bits.length;
}
/** Whether there is a number that both patterns match. */
export const patternsMeet = (a: string, b: string): boolean => placesMeet(placesOf(a), placesOf(b));

/**
 * Layer of each list of patterns, given in order of precedence: a list that overlaps an earlier one is in a
 * later layer. A search layer by layer thus finds the first match, in any order within a layer. O(patterns²),
 * 10 ns each.
 */
export function layersOf(lists: readonly (readonly string[])[]): readonly number[] {
  const all = lists.map((patterns) => patterns.map(placesOf));
  const layers: number[] = [];
  all.forEach((patterns, i) => {
    let layer = 0;
    for (let j = 0; j < i; j++)
      if (layers[j]! >= layer && all[j]!.some((p) => patterns.some((q) => placesMeet(p, q))))
        layer = layers[j]! + 1;
    layers.push(layer);
  });
  return layers;
}
