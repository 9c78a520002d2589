const CLASS: Readonly<Record<string, string>> = { X: '[0-9]', Z: '[1-9]', N: '[2-9]', '+': '\\+' };
const DIGITS: Readonly<Record<string, string>> = { X: '0123456789', Z: '123456789', N: '23456789' };

/** What stands in front of `.` or `!`, and how many more a number of the pattern has at least. */
function partsOf(pattern: string): { fixed: string; open: boolean; least: number } {
  const end = /[.!]$/.exec(pattern)?.[0];
  const fixed = end === undefined ? pattern : pattern.slice(0, -1);
  return { fixed, open: end !== undefined, least: fixed.length + (end === '.' ? 1 : 0) };
}

/**
 * Whether a number is one of a dial pattern: X is any digit, Z 1 to 9, N 2 to 9, `.` at the end one or more of anything, `!`
 * none or more. Every other character stands for itself.
 */
export function dialMatcher(pattern: string): (number: string) => boolean {
  const { fixed, open, least } = partsOf(pattern);
  const body = Array.from(fixed, (c) => CLASS[c] ?? c.replaceAll(/[^A-Za-z0-9]/g, '\\$&')).join('');
  const regex = new RegExp(`^${body}${open ? (least > fixed.length ? '.+' : '.*') : ''}$`, 's');
  return (number) => regex.test(number);
}

/** Digits a number of this pattern has at least, a + counted as one. */
export const shortestOf = (pattern: string): number => partsOf(pattern).least;

const meet = (a: string, b: string): boolean => {
  const [own, other] = [DIGITS[a] ?? a, DIGITS[b] ?? b];
  for (const c of own) if (other.includes(c)) return true;
  return false;
};
/** Whether there is a number that both patterns match. */
export function patternsMeet(a: string, b: string): boolean {
  const [one, two] = [partsOf(a), partsOf(b)];
  const common = Math.min(one.fixed.length, two.fixed.length);
  for (let i = 0; i < common; i++) if (!meet(one.fixed[i]!, two.fixed[i]!)) return false;
  if (one.open && two.open) return true;
  if (one.open) return two.fixed.length >= one.least;
  if (two.open) return one.fixed.length >= two.least;
  return one.fixed.length === two.fixed.length;
}

/**
 * Lists of patterns, in the order in which they decide, each with the layer it goes to: one that meets an earlier one is in a
 * later layer. So a search layer by layer finds the first by order, whatever decides within a layer. O(patterns²).
 */
export function layersOf(lists: readonly (readonly string[])[]): readonly number[] {
  const layers: number[] = [];
  lists.forEach((patterns, i) => {
    let layer = 0;
    for (let j = 0; j < i; j++)
      if (layers[j]! >= layer && lists[j]!.some((p) => patterns.some((q) => patternsMeet(p, q))))
        layer = layers[j]! + 1;
    layers.push(layer);
  });
  return layers;
}
