import { hash } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import { createTable } from '../../core/schema.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Migration, Store } from '../../ports/store.ts';
import { base32, newRecoveryCode, newSecret, otpauthUri, stepOf } from './totp.ts';

const RECOVERY_CODES = 8;

interface Tables {
  otp: {
    person_id: number;
    /** Hex. */
    secret: string;
    confirmed_at: number | null;
    /** Newest time step (half minute) whose digits were accepted. */
    last_step: number;
  };
  otp_recovery: { person_id: number; hash: string };
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-otp',
    async up(db) {
      await createTable(db.schema)`otp (
        person_id integer primary key, secret text not null, confirmed_at integer, last_step integer not null)`;
      await createTable(db.schema)`otp_recovery (
        person_id integer not null, hash text not null, constraint otp_recovery_key primary key (person_id, hash))`;
    },
  },
];
export type OtpVerdict = 'off' | 'right' | 'missing' | 'wrong';

export interface Otp {
  isOn(personId: number): Promise<boolean>;
  /** As `isOn`, from memory. */
  has(personId: number): boolean;
  /** Checks the second factor of a sign-in and uses it up. */
  check(personId: number, given: string): Promise<OtpVerdict>;
  /** Creates a secret, which is effective after its confirmation. Throws `otp_already_on`. */
  enrol(personId: number, account: string, issuer: string): Promise<{ secret: string; uri: string }>;
  /** Switches it on with digits of the enrolled secret; returns the recovery codes. Throws `otp_required`. */
  confirm(personId: number, digits: string): Promise<string[]>;
  /** Those of these persons with the second factor on. */
  onFor(people: readonly number[]): Promise<ReadonlySet<number>>;
  /** `note` adds its rows in the same transaction. */
  disable(personId: number, note?: (trx: Transaction<Tables>) => Promise<void>): Promise<void>;
}

/** The second factor: time-based digits, and recovery codes kept as hashes. */
export async function createOtp(store: Store, clock: Clock): Promise<Otp> {
  await store.migrate('otp', migrations);
  const db = store.db<Tables>();
  const codeHash = (personId: number, code: string): string =>
    hash('sha256', `${personId}:${code.toUpperCase().replaceAll(/[^A-Z2-7]/g, '')}`, 'base64url');
  const read = (personId: number) =>
    db.selectFrom('otp').selectAll().where('person_id', '=', personId).executeTakeFirst();

  const rows = await db.selectFrom('otp').select('person_id').where('confirmed_at', 'is not', null).execute();
  const on = new Set(rows.map((row) => row.person_id));
  /** Accepts valid digits once; false if they are wrong or were used before. */
  async function take(
    by: Kysely<Tables>,
    row: Tables['otp'],
    digits: string,
    confirmedAt: number | null,
  ): Promise<boolean> {
    const step = stepOf(Buffer.from(row.secret, 'hex'), digits, clock.now(), row.last_step);
    if (step === undefined) return false;
    const { numUpdatedRows } = await by
      .updateTable('otp')
      .set({ last_step: step, confirmed_at: confirmedAt })
      .where('person_id', '=', row.person_id)
      .where('secret', '=', row.secret)
      .where('last_step', '<', step)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }
  const isOn = async (personId: number): Promise<boolean> => (await read(personId))?.confirmed_at != null;

  return {
    isOn,
    has: (personId) => on.has(personId),
    async check(personId, given) {
      const row = await read(personId);
      if (row === undefined || row.confirmed_at === null) return 'off';
      const text = given.replaceAll(/\s/g, '');
      if (text === '') return 'missing';
      if (await take(db, row, text, row.confirmed_at)) return 'right';
      const { numDeletedRows } = await db
        .deleteFrom('otp_recovery')
        .where('person_id', '=', personId)
        .where('hash', '=', codeHash(personId, text))
        .executeTakeFirst();
      return numDeletedRows > 0n ? 'right' : 'wrong';
    },
    async enrol(personId, account, issuer) {
      const alreadyOn = (): ServiceError =>
        new ServiceError('otp_already_on', 'the second factor is on; switch it off first');
      if (await isOn(personId)) throw alreadyOn();
      const secret = newSecret();
      const values = { secret: secret.toString('hex'), confirmed_at: null, last_step: 0 };
      // It may have been confirmed meanwhile.
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('otp')
        .values({ person_id: personId, ...values })
        .onConflict((c) => c.column('person_id').doUpdateSet(values).where('otp.confirmed_at', 'is', null))
        .executeTakeFirst();
      if (numInsertedOrUpdatedRows === 0n) throw alreadyOn();
      return { secret: base32(secret), uri: otpauthUri(secret, account, issuer) };
    },
    async confirm(personId, digits) {
      const row = await read(personId);
      if (row?.confirmed_at != null) {
        throw new ServiceError('otp_already_on', 'the second factor is on already');
      }
      const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
      await store.transaction<Tables, void>(async (trx) => {
        if (row === undefined || !(await take(trx, row, digits, clock.now()))) {
          throw new ServiceError(
            'otp_required',
            'the digits do not match those that the authenticator shows now',
          );
        }
        await trx.deleteFrom('otp_recovery').where('person_id', '=', personId).execute();
        await trx
          .insertInto('otp_recovery')
          .values(codes.map((code) => ({ person_id: personId, hash: codeHash(personId, code) })))
          .execute();
      });
      on.add(personId);
      return codes;
    },
    async onFor(people) {
      if (people.length === 0) return new Set();
      const rows = await db
        .selectFrom('otp')
        .select('person_id')
        .where('person_id', 'in', people)
        .where('confirmed_at', 'is not', null)
        .execute();
      return new Set(rows.map((row) => row.person_id));
    },
    async disable(personId, note) {
      await store.transaction<Tables, void>(async (trx) => {
        await trx.deleteFrom('otp').where('person_id', '=', personId).execute();
        await trx.deleteFrom('otp_recovery').where('person_id', '=', personId).execute();
        await note?.(trx);
      });
      on.delete(personId);
    },
  };
}
