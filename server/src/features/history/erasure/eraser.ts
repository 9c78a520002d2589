/** What is erased of call records, so that a conversation told from them anew has the same legs, times and sums. */
import { createHmac } from 'node:crypto';
import { digitsOf } from '@offhook/contract/search.ts';
import type { Subject } from '../../../numbers/subject.ts';
import type { KnownRecord } from '../record/records.ts';

/** Fields that only name records, channels and places to each other; a number in them would be chance. */
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
/** A shorter name is erased where it is the whole of a field, but not looked for in longer texts. */
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

/** Names that stand beside the subject in these records. */
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
/** Takes the subject and these names out of a text. */
export function eraserOf(subject: Subject, names: readonly string[], placeholder: string) {
  const withoutNames = eraseNames(names, placeholder);
  return (text: string): string => subject.without(withoutNames(text), placeholder);
}

const RUN = /\+?\d[\d\s()./-]*\d|\d/g;
const tokenOf = (key: Buffer, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64url').slice(0, 22);
/** By what records that come later are known, without keeping what was erased. */
export const tokensOf = (key: Buffer, subject: Subject, names: readonly string[]): readonly string[] =>
  [...subject.spellings, ...names].map((text) => tokenOf(key, text));

/** What the tokens know is taken out of a record, and the name that stands beside it. */
export function withoutTokens(
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
