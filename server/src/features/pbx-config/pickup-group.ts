import { createHash } from 'node:crypto';

/** A department as a pickup group: its plain letters, with a hash if two names could collide. */
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
