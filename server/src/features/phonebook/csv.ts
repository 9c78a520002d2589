import { Readable } from 'node:stream';
import { setImmediate as yieldLoop } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { fold } from '@offhook/contract/search.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import { BYTE_ORDER_MARK, asReceived, quoted } from '../../core/spreadsheet.ts';
import type { CustomerRow } from './rows.ts';
import { MAX_VALUES } from './line.ts';
import type { FieldName, Line, Lines, Value } from './line.ts';

/** Characters per write to the parser, so that it holds few rows, and other work runs between two of them. */
const SLICE = 16_384;
/** Slices that may be on their way to the parser. */
const AHEAD = 8;
const MAX_ROW_CHARACTERS = 32_768;
const MAX_COLUMNS = 200;
const SEPARATORS = [',', ';', '\t'] as const;

/** Headings of our export and of Outlook, Google, German and Turkish files, without case, accents, spaces and punctuation. */
const FIELDS: Readonly<Record<string, FieldName | 'uid' | 'given' | 'family'>> = {
  uid: 'uid',
  kind: 'kind',
  name: 'name',
  displayname: 'name',
  fullname: 'name',
  adsoyad: 'name',
  firstname: 'given',
  givenname: 'given',
  vorname: 'given',
  ad: 'given',
  lastname: 'family',
  familyname: 'family',
  surname: 'family',
  nachname: 'family',
  soyad: 'family',
  company: 'company',
  organization: 'company',
  organizationname: 'company',
  organization1name: 'company',
  firma: 'company',
  sirket: 'company',
  note: 'note',
  notes: 'note',
  notiz: 'note',
  bemerkung: 'note',
  owner: 'owner',
  language: 'language',
  sprache: 'language',
  dil: 'language',
  vip: 'vip',
  blocked: 'blocked',
};
/** Headings of numbers with the label of the number; null where another column has the label. */
const NUMBERS: Readonly<Record<string, string | null>> = {
  number: null,
  phone: null,
  phonenumber: null,
  telefon: null,
  mobile: 'mobile',
  mobilephone: 'mobile',
  mobil: 'mobile',
  handy: 'mobile',
  ceptelefonu: 'mobile',
  businessphone: 'work',
  businessphone2: 'work',
  workphone: 'work',
  homephone: 'home',
  homephone2: 'home',
  otherphone: 'other',
  businessfax: 'fax',
  homefax: 'fax',
};
const EMAILS: ReadonlySet<string> = new Set(['email', 'emailaddress', 'mail', 'eposta']);
/** `phone1value`, `number2`, `label2`, `email3`. */
const NUMBERED = /^(number|phone|label|email)(\d{1,2})(value|type|label)?$/;

type Column =
  | { readonly is: 'field'; readonly field: FieldName | 'uid' | 'given' | 'family' }
  | { readonly is: 'number'; readonly label: string | null; readonly at: string | null }
  | { readonly is: 'label'; readonly at: string }
  | { readonly is: 'email' };
function columnOf(heading: string): Column | null {
  const plain = fold(heading).replace(/[^a-z0-9]/g, '');
  if (Object.hasOwn(FIELDS, plain)) return { is: 'field', field: FIELDS[plain]! };
  if (Object.hasOwn(NUMBERS, plain)) return { is: 'number', label: NUMBERS[plain]!, at: null };
  if (EMAILS.has(plain)) return { is: 'email' };
  const [, noun, at = '', part] = NUMBERED.exec(plain) ?? [];
  if (noun === undefined) return null;
  if (noun === 'email')
    return part === undefined || part === 'value' || part === 'label' ? emailOf(part) : null;
  if (noun === 'label' || part === 'type' || part === 'label') return { is: 'label', at };
  return { is: 'number', label: null, at };
}
const emailOf = (part: string | undefined): Column | null => (part === 'label' ? null : { is: 'email' });

/** The separator with the most columns in the heading. */
function separatorOf(text: string): string {
  const end = text.search(/[\r\n]/);
  const heading = (end < 0 ? text : text.slice(0, end)).slice(0, MAX_ROW_CHARACTERS);
  const count = (separator: string): number => heading.split(separator).length;
  return SEPARATORS.toSorted((a, b) => count(b) - count(a))[0]!;
}
interface Row {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}
const tooLong = (line: number): ServiceError =>
  new ServiceError(
    'invalid_request',
    say`body: the row that ends at line ${line} is longer than ${MAX_ROW_CHARACTERS} characters; a quote may not be closed`,
  );
async function* rowsOf(text: string): AsyncGenerator<Row> {
  async function* slices() {
    let [rows, since] = [0, 0];
    for (let at = 0, end = 0; at < text.length; at = end) {
      await yieldLoop();
      const { records, empty_lines, lines } = parser.info;
      if (records + empty_lines !== rows) [rows, since] = [records + empty_lines, at];
      // The parser's own limit ignores separators, so it would accept a row of millions of empty columns.
      if (at - since > MAX_ROW_CHARACTERS + AHEAD * SLICE) return void parser.destroy(tooLong(lines));
      // A slice must not end inside a surrogate pair, because the encoder would replace both halves.
      const isHalf = /[\uDC00-\uDFFF]/.test(text.charAt(at + SLICE));
      end = at + SLICE + (isHalf ? 1 : 0);
      yield text.slice(at, end);
    }
  }
  const parser = parse({
    delimiter: separatorOf(text),
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_ROW_CHARACTERS,
  });
  const source = Readable.from(slices(), { objectMode: false, encoding: 'utf8' });
  try {
    yield* source.pipe(parser) as unknown as AsyncIterable<Row>;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = Number(error['lines'] ?? 0);
    if (error.code === 'CSV_MAX_RECORD_SIZE') throw tooLong(line);
    throw new ServiceError(
      'invalid_request',
      say`body: line ${line} has a quote that is not closed or is inside a value; double each quote inside quotes`,
    );
  } finally {
    source.destroy();
    parser.destroy();
  }
}
const linesIn = (cells: readonly string[]): number =>
  cells.reduce((sum, cell) => sum + (cell.includes('\n') ? cell.split('\n').length - 1 : 0), 0);

function lineOf(
  columns: readonly (Column | null)[],
  headings: readonly string[],
  { record, info }: Row,
): Line {
  const fields: Partial<Record<FieldName | 'uid' | 'given' | 'family', string>> = {};
  const labels = new Map<string, string>();
  const found: { value: string; label: string | null; at: string | null; field: string }[] = [];
  const emails: Value[] = [];
  for (const [i, column] of columns.entries()) {
    const value = asReceived(record[i] ?? '').trim();
    if (column === null) continue;
    if (column.is === 'field') fields[column.field] ??= value;
    else if (column.is === 'label') labels.set(column.at, value);
    // Google writes several values into one cell.
    else
      for (const one of value.split(' ::: ', MAX_VALUES + 1).filter((part) => part !== '')) {
        const field = headings[i]!;
        if (column.is === 'email') emails.push({ value: one, label: null, field });
        else found.push({ value: one, label: column.label, at: column.at, field });
      }
  }
  const { uid, given, family, ...own } = fields;
  const parts = [given, family].filter((part) => part !== undefined && part !== '').join(' ');
  return {
    line: info.lines - linesIn(record),
    uid: uid === undefined || uid === '' ? null : uid,
    fields:
      own.name === undefined || own.name === '' ? { ...own, ...(parts === '' ? {} : { name: parts }) } : own,
    numbers: found.map(({ at, label, value, field }) => ({
      value,
      field,
      label: label ?? ((at !== null && labels.get(at)) || null),
    })),
    emails,
    unreadable: [],
  };
}

/** Rows of RFC 4180 with a heading, separated by `,`, `;` or tab. Throws `invalid_request` for a heading without a column of names. */
export async function csvLines(text: string): Promise<Lines> {
  let headings: readonly string[] = [];
  for await (const { record } of rowsOf(text)) {
    headings = record;
    break;
  }
  const columns = headings.map(columnOf);
  if (headings.length > MAX_COLUMNS)
    throw new ServiceError('invalid_request', say`body: the heading has more than ${MAX_COLUMNS} columns`);
  const named = columns.some(
    (one) => one?.is === 'field' && ['name', 'given', 'family', 'company'].includes(one.field),
  );
  if (!named)
    throw new ServiceError(
      'invalid_request',
      'body: the first line has no column for names; begin with a heading such as name,company,number_1,label_1,email_1',
    );
  return {
    ignored: headings.filter((_, i) => columns[i] === null),
    async *[Symbol.asyncIterator]() {
      let isHeading = true;
      for await (const row of rowsOf(text)) {
        if (!isHeading) yield lineOf(columns, headings, row);
        isHeading = false;
      }
    },
  };
}

const range = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i);
/** `most`: largest count of numbers, and of e-mails, of one customer; each gets a column. */
export function csvWriter(most: { readonly numbers: number; readonly emails: number }) {
  const headings = [
    'uid',
    'kind',
    'name',
    'company',
    ...range(most.numbers).flatMap((i) => [`number_${i + 1}`, `label_${i + 1}`]),
    ...range(most.emails).map((i) => `email_${i + 1}`),
    'note',
    'owner',
    'language',
    'vip',
    'blocked',
  ];
  return {
    head: `${BYTE_ORDER_MARK}${headings.join(',')}\r\n`,
    row: (one: CustomerRow): string => {
      const cells = [
        one.external_id,
        one.kind,
        one.name,
        one.company,
        ...range(most.numbers).flatMap((i) => {
          const { e164, number, label } = one.numbers[i] ?? {};
          return [e164 ?? number, label];
        }),
        ...range(most.emails).map((i) => one.emails[i]),
        one.note,
        one.owner,
        one.language,
        String(one.vip),
        String(one.blocked),
      ];
      return `${cells.map((cell) => quoted(cell ?? '')).join(',')}\r\n`;
    },
  };
}
