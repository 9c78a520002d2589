/** Erases personal data in call records, so that a rebuilt conversation keeps its legs, times and sums. */
import { createHmac, randomBytes } from 'node:crypto';
import { digitsOf } from '@offhook/contract/search.ts';
import type { Subject } from '../../../numbers/subject.ts';
import type { KnownRecord } from '../record/records.ts';
import type { Kysely } from 'kysely';
import { inChunks, readFact, writeFact } from './store.ts';
import type { Tables } from './tables.ts';

/** Fields with ids of records, channels and queues; a match in them would be a coincidence. */
const NOT_PERSONAL: ReadonlySet<string> = new Set([
  'key',
  'type',
  'channel',
  'call',
  'bridge',
  'other',
  'context',
  'queue',
  'device',
  'trunk',
  'id',
  'root',
  'merged_from',
  'leg_id',
  'with',
  'by',
  'moved',
  'to_leg',
  'agent_leg',
]);
const TIME = /^\d{4}-\d\d-\d\dT/;
/** A shorter name is erased only where it is the whole field, not inside longer texts. */
const TELLING_NAME = 4;
const LONG_ENOUGH = 2;

/** The same value with each personal text passed through `change`. */
export function mapTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return (TIME.test(value) ? value : change(value)) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => mapTexts(item, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      NOT_PERSONAL.has(name) ? (part as unknown) : mapTexts<unknown>(part, change),
    ]),
  ) as T;
}
export function holds(value: unknown, subject: Subject): boolean {
  let found = false;
  mapTexts(value, (text) => {
    found ||= subject.isIn(text);
    return text;
  });
  return found;
}

/** Names recorded together with the subject. */
export function namesOf(records: readonly KnownRecord[], subject: Subject): readonly string[] {
  const names = records.flatMap((r) => [
    ...(subject.isIn(r.caller_number) ? [r.caller_name] : []),
    ...(subject.kind === 'extension' && r.extension === subject.value ? [r.person_name ?? ''] : []),
  ]);
  return [...new Set(names)].filter((name) => name.trim().length >= LONG_ENOUGH && !subject.isIn(name));
}
const eraseNames =
  (names: readonly string[], placeholder: string) =>
  (text: string): string => {
    if (names.includes(text)) return '';
    let left = text;
    for (const name of names) if (name.length >= TELLING_NAME) left = left.replaceAll(name, placeholder);
    return left;
  };
/** Removes the subject and these names from a text. */
export function eraserOf(subject: Subject, names: readonly string[], placeholder: string) {
  const withoutNames = eraseNames(names, placeholder);
  return (text: string): string => subject.without(withoutNames(text), placeholder);
}

const RUN = /\+?\d[\d\s()./-]*\d|\d/g;
const tokenOf = (key: Buffer, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64url').slice(0, 22);
/** Hashes that recognise the subject in later records without storing the erased text. */
export const tokensOf = (key: Buffer, subject: Subject, names: readonly string[]): readonly string[] =>
  [...subject.spellings, ...names].map((text) => tokenOf(key, text));

/** Removes texts with a known token from a record, and the name recorded with them. */
function withoutTokens(
  record: KnownRecord,
  key: Buffer,
  tokens: ReadonlySet<string>,
  placeholder: string,
): KnownRecord {
  const isKnown = (text: string): boolean => text !== '' && tokens.has(tokenOf(key, text));
  const withoutNumbers = (text: string): string =>
    text.replace(RUN, (run) => (isKnown(run) || isKnown(digitsOf(run) ?? run) ? placeholder : run));
  const { caller_number, caller_name, person_name, extension } = record;
  const isAbout = withoutNumbers(caller_number) !== caller_number;
  const names = [
    ...(isAbout || isKnown(caller_name) ? [caller_name] : []),
    ...(isKnown(person_name ?? '') || isKnown(extension ?? '') ? [person_name ?? ''] : []),
  ].filter((name) => name.trim().length >= LONG_ENOUGH);
  const withoutNames = eraseNames(names, placeholder);
  return mapTexts(record, (text) =>
    withoutNumbers(withoutNames(isKnown(text) && !/\d/.test(text) ? '' : text)),
  );
}

/** Random key of the site: tokens have no meaning at another site. */
async function tokenKey(db: Kysely<Tables>): Promise<Buffer> {
  const known = await readFact(db, 'token_key');
  if (known !== null) return Buffer.from(known, 'base64url');
  const key = randomBytes(32);
  await writeFact(db, 'token_key', key.toString('base64url'));
  return key;
}
/** Stores tombstones, with which `withoutErased` removes the subject from later records of these calls. */
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
/** Removes erased data from new records of conversations with a tombstone. */
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
/** The conversations with a tombstone. */
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
