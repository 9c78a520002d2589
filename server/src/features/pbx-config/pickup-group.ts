import { createHash } from 'node:crypto';

/** Pickup group of a department: its ASCII letters and digits, with a hash if two departments could have the same. */
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
