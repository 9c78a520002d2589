/** The ledger of erasures: each entry contains the hash of the previous one. */
import { createHash, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { Kysely } from 'kysely';
import type { Subject } from '../../numbers/subject.ts';
import type { JobRow, Tables } from './store.ts';

const derive = promisify(
  scrypt as (
    value: string,
    salt: Buffer,
    length: number,
    done: (error: Error | null, key: Buffer) => void,
  ) => void,
);
/** Slow on purpose: a reader of the ledger could try all numbers. The contract states the cost, Node's default. */
export const hashOf = async (subject: Subject, salt: string): Promise<string> =>
  (await derive(subject.value, Buffer.from(salt, 'hex'), 32)).toString('hex');
export const newSalt = (): string => randomBytes(16).toString('hex');

/** Hash over the immutable fields of an entry, in fixed order. */
function entryHash(row: JobRow, previous: string, place: number): string {
  const facts = [
    previous,
    place,
    row.id,
    row.subject_kind,
    row.salt,
    row.subject_hash,
    row.by,
    row.reason,
    Number(row.created_ms),
    Number(row.finished_ms),
    row.before_places,
    row.erased_places,
    row.after_places,
    row.verified,
    row.remains,
  ];
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}
/** Previous hash of the first entry. */
const BEGINNING = '0'.repeat(64);

/** Appends a finished erasure to the ledger, in the transaction that finishes it. */
export async function enter(db: Kysely<Tables>, row: JobRow): Promise<void> {
  const last = await db
    .selectFrom('privacy_jobs')
    .select(['place', 'hash'])
    .where('place', 'is not', null)
    .orderBy('place', 'desc')
    .limit(1)
    .executeTakeFirst();
  const place = Number(last?.place ?? 0) + 1;
  const previous_hash = last?.hash ?? BEGINNING;
  const hash = entryHash(row, previous_hash, place);
  await db.updateTable('privacy_jobs').set({ place, previous_hash, hash }).where('id', '=', row.id).execute();
}
export async function isIntact(db: Kysely<Tables>): Promise<boolean> {
  const rows = await db
    .selectFrom('privacy_jobs')
    .selectAll()
    .where('place', 'is not', null)
    .orderBy('place')
    .execute();
  let previous = BEGINNING;
  for (const [i, row] of rows.entries()) {
    if (Number(row.place) !== i + 1 || row.previous_hash !== previous) return false;
    if (row.hash !== entryHash(row, previous, i + 1)) return false;
    previous = row.hash;
  }
  return true;
}
