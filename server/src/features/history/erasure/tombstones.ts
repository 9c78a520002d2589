import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Subject } from '../../../numbers/subject.ts';
import { inChunks, readFact, writeFact } from '../store.ts';
import type { KnownRecord } from '../record/records.ts';
import type { Tables } from '../tables.ts';
import { tokensOf, withoutTokens } from './eraser.ts';

/** What makes tokens of this site mean nothing elsewhere. */
async function tokenKey(db: Kysely<Tables>): Promise<Buffer> {
  const known = await readFact(db, 'token_key');
  if (known !== null) return Buffer.from(known, 'base64url');
  const key = randomBytes(32);
  await writeFact(db, 'token_key', key.toString('base64url'));
  return key;
}
/** What comes later of these calls is erased when it is stored. */
export async function setTombstones(
  db: Kysely<Tables>,
  calls: readonly string[],
  subject: Subject,
  names: readonly string[],
  placeholder: string,
): Promise<void> {
  const key = await tokenKey(db);
  for (const call of calls) {
    const before = await db
      .selectFrom('history_tombstones')
      .select('tokens')
      .where('call', '=', call)
      .where('placeholder', '=', placeholder)
      .executeTakeFirst();
    const known = before === undefined ? [] : before.tokens.split(' ');
    const tokens = [...new Set([...known, ...tokensOf(key, subject, names)])].join(' ');
    await db
      .insertInto('history_tombstones')
      .values({ call, placeholder, tokens })
      .onConflict((c) => c.columns(['call', 'placeholder']).doUpdateSet({ tokens }))
      .execute();
  }
}
/** Records as they may be stored: those of conversations of which something was erased lose it again. */
export async function withoutErased(
  db: Kysely<Tables>,
  records: readonly KnownRecord[],
): Promise<readonly KnownRecord[]> {
  const calls = [...new Set(records.map((r) => r.call as string))];
  const stones = await inChunks(calls, (some) =>
    db.selectFrom('history_tombstones').selectAll().where('call', 'in', some).execute(),
  );
  if (stones.length === 0) return records;
  const key = await tokenKey(db);
  const byCall = Map.groupBy(stones, (stone) => stone.call);
  return records.map((record) =>
    (byCall.get(record.call) ?? []).reduce(
      (left, { tokens, placeholder }) => withoutTokens(left, key, new Set(tokens.split(' ')), placeholder),
      record,
    ),
  );
}
/** Those of the conversations of which something was erased. */
export async function rootsWithTombstones(
  db: Kysely<Tables>,
  roots: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await inChunks(roots, (some) =>
    db
      .selectFrom('history_tombstones')
      .innerJoin('history_calls', 'history_calls.call', 'history_tombstones.call')
      .select('history_calls.root')
      .where('history_calls.root', 'in', some)
      .execute(),
  );
  return new Set(rows.map((row) => row.root));
}
