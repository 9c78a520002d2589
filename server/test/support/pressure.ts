import { readFileSync } from 'node:fs';

/**
 * Milliseconds since the boot of this machine in which at least one task waited for a processor or a disk; 0 where the kernel does
 * not count them.
 */
export function stalledMs(): number {
  try {
    return Math.max(...['cpu', 'io'].map(totalOf)) / 1000;
  } catch {
    return 0;
  }
}
const totalOf = (resource: string): number =>
  Number(/^some .*total=(\d+)/m.exec(readFileSync(`/proc/pressure/${resource}`, 'utf8'))?.[1] ?? 0);
