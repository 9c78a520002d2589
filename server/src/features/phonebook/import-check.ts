import { Outside } from '@offhook/contract/config-fields.ts';
import { MAX_EMAILS, MAX_NUMBERS, NewCustomer } from '@offhook/contract/phonebook.ts';
import type { ImportFinding } from '@offhook/contract/phonebook-files.ts';
import type { z } from 'zod';
import type { CustomerRow } from './rows.ts';
import { keyOf } from './rows.ts';
import { MAX_VALUES } from './line.ts';
import type { Line, Value } from './line.ts';

type Rule = ImportFinding['rule'];
/** Fields of a customer that a line gives. */
export type Given = Pick<CustomerRow, 'name' | 'numbers'> &
  Partial<
    Pick<
      CustomerRow,
      | 'kind'
      | 'company'
      | 'note'
      | 'owner'
      | 'language'
      | 'vip'
      | 'blocked'
      | 'emails'
      | 'external_id'
      | 'url'
    >
  >;

const REMEDIES: Readonly<Record<Rule, string>> = {
  unreadable: 'Write the card after RFC 6350 in version 3.0 or 4.0, from BEGIN:VCARD to END:VCARD.',
  missing: 'A line has a name, and a number or a uid, by which it is found when it is imported again.',
  too_long: 'Shorten the value.',
  not_a_number: 'Write 1 to 32 digits, with or without a + in front.',
  not_an_email: 'Write one address, such as anna@example.com.',
  not_valid: 'Write one line without control characters; true or false; person or company.',
  unknown_owner: 'Name the extension of a person of this site.',
  too_many: `A customer has at most ${MAX_NUMBERS} numbers and ${MAX_EMAILS} e-mails.`,
  duplicate: 'An earlier line is the same customer; put both into one line.',
};
const MAX_UID = 200;
const FIELDS = NewCustomer.shape;
const FLAGS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  '1': true,
  false: false,
  no: false,
  '0': false,
  '': false,
};

export const findingOf = (
  { line }: Line,
  field: string,
  rule: Rule,
  left_out: ImportFinding['left_out'],
): ImportFinding => ({ line, field: field.slice(0, 64), rule, left_out, remedy: REMEDIES[rule] });
export interface Checks {
  readonly e164: (number: string) => string | null;
  readonly isPerson: (extension: string) => boolean;
  readonly report: (finding: ImportFinding) => void;
}
/** The valid fields of a line, with a finding for each other one; null where the line is left out. */
export function checkLine(line: Line, deps: Checks): Given | null {
  const find = (field: string, rule: Rule, left_out: ImportFinding['left_out'] = 'value'): null => {
    deps.report(findingOf(line, field, rule, left_out));
    return null;
  };
  const read = <S extends z.ZodType>(
    field: string,
    schema: S,
    value: unknown,
    otherwise: Rule = 'not_valid',
    left_out: ImportFinding['left_out'] = 'value',
  ): z.output<S> | undefined => {
    const read_ = schema.safeParse(value);
    if (read_.success) return read_.data;
    find(field, read_.error.issues.some(({ code }) => code === 'too_big') ? 'too_long' : otherwise, left_out);
    return undefined;
  };
  const firstOf = (values: readonly Value[]): readonly Value[] => {
    const more = values[MAX_VALUES];
    if (more !== undefined) find(more.field, 'too_many');
    return values.slice(0, MAX_VALUES);
  };
  for (const { field, whole } of line.unreadable) {
    if (whole) return find(field, 'unreadable', 'line');
    find(field, 'unreadable');
  }
  const { fields } = line;
  const isNameless = fields.name === undefined || fields.name === '';
  const company = fields.company === '' ? null : fields.company;
  if (isNameless && (company === undefined || company === null)) return find('name', 'missing', 'line');
  const name = read('name', FIELDS.name, isNameless ? company : fields.name, 'not_valid', 'line');
  if (name === undefined) return null;

  const numbers = new Map<string, CustomerRow['numbers'][number]>();
  for (const { value, label, field } of firstOf(line.numbers)) {
    const number = read(field, Outside, value, 'not_a_number');
    if (number === undefined) continue;
    const named = read(field, FIELDS.numbers.unwrap().element.shape.label, label) ?? null;
    const one = { number, e164: deps.e164(number), label: named };
    // The same number in two spellings is one.
    if (numbers.size === MAX_NUMBERS && !numbers.has(keyOf(one))) find(field, 'too_many');
    else if (!numbers.has(keyOf(one))) numbers.set(keyOf(one), one);
  }
  const emails = new Set<string>();
  for (const { value, field } of firstOf(line.emails)) {
    const email = read(field, FIELDS.emails.unwrap().element, value, 'not_an_email');
    if (email === undefined) continue;
    if (emails.size === MAX_EMAILS && !emails.has(email)) find(field, 'too_many');
    else emails.add(email);
  }
  const external_id = line.uid !== null && line.uid.length > MAX_UID ? find('uid', 'too_long') : line.uid;
  if (numbers.size === 0 && external_id === null) return find('number', 'missing', 'line');

  const flag = (field: 'vip' | 'blocked'): boolean | undefined => {
    const value = fields[field]?.toLowerCase();
    if (value === undefined || Object.hasOwn(FLAGS, value))
      return value === undefined ? undefined : FLAGS[value];
    find(field, 'not_valid');
    return undefined;
  };
  const owner = fields.owner === '' ? null : fields.owner;
  const isOwned = owner === undefined || owner === null || deps.isPerson(owner);
  if (!isOwned) find('owner', 'unknown_owner');
  const written = (field: 'company' | 'note' | 'language') =>
    fields[field] === undefined
      ? undefined
      : read(field, FIELDS[field], fields[field] === '' ? null : fields[field]);
  return given({
    name,
    numbers: [...numbers.values()],
    kind: isNameless
      ? 'company'
      : fields.kind === undefined
        ? undefined
        : read('kind', FIELDS.kind, fields.kind === '' ? 'person' : fields.kind),
    company: isNameless ? null : written('company'),
    note: written('note'),
    owner: isOwned ? owner : undefined,
    language: written('language'),
    vip: flag('vip'),
    blocked: flag('blocked'),
    emails: [...emails],
    external_id,
  });
}
/** The fields without the undefined ones, which stay as they are in a known customer. */
const given = (fields: { readonly [K in keyof Given]: Given[K] | undefined }): Given =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as unknown as Given;
