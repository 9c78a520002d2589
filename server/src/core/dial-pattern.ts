const CLASS: Readonly<Record<string, string>> = { X: '[0-9]', Z: '[1-9]', N: '[2-9]', '+': '\\+' };

/**
 * Whether a number is one of a dial pattern: X is any digit, Z 1 to 9, N 2 to 9, `.` at the end one or more of anything, `!`
 * none or more. Every other character stands for itself.
 */
export function dialMatcher(pattern: string): (number: string) => boolean {
  const open = /[.!]$/.exec(pattern)?.[0];
  const fixed = open === undefined ? pattern : pattern.slice(0, -1);
  const body = Array.from(fixed, (c) => CLASS[c] ?? c.replaceAll(/[^A-Za-z0-9]/g, '\\$&')).join('');
  const end = open === undefined ? '' : open === '.' ? '.+' : '.*';
  const regex = new RegExp(`^${body}${end}$`, 's');
  return (number) => regex.test(number);
}
