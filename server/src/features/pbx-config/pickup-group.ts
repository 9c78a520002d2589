import { createHash } from 'node:crypto';

/** A department as a pick-up group: its own letters where they are plain, and a hash where two names could meet. */
export function pickupGroup(department: string | null): string | null {
  if (department === null || department.trim() === '') return null;
  const plain = department
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()
    .replaceAll(' ', '-')
    .slice(0, 30);
  if (/^[A-Za-z0-9]+( [A-Za-z0-9]+)*$/.test(department) && department.length <= 30) return plain;
  const hash = createHash('sha256').update(department).digest('hex').slice(0, 8);
  return plain === '' ? `group-${hash}` : `${plain}-${hash}`;
}
