import { languageOf } from '../../../core/language-tag.ts';
import type { CustomerFields } from './compile.ts';
import type { ConnectorDocument } from './file.ts';
import type { Scope } from './names.ts';

/** A customer as a system knows it. */
export interface ConnectorCustomer {
  readonly id: string;
  readonly kind: 'person' | 'company';
  readonly name: string;
  readonly company: string | null;
  readonly numbers: readonly string[];
  /** Set if the file does not read all numbers of the customer, so that it may have others. */
  readonly adds_numbers?: true;
  readonly emails: readonly string[];
  /** Id of the user of that system who looks after the customer. */
  readonly owner: string | null;
  readonly url: string | null;
  /** Language of prompts; absent if the system names none for this customer. */
  readonly language?: string;
  readonly blocked: boolean;
  readonly vip: boolean;
}
export const NO_CUSTOMER: ConnectorCustomer = {
  id: '',
  kind: 'person',
  name: '',
  company: null,
  numbers: [],
  emails: [],
  owner: null,
  url: null,
  blocked: false,
  vip: false,
};
const MAX_TEXT = 300;
const MAX_ITEMS = 20;

function textOf(value: unknown): string | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const text = String(value)
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ')
    .trim();
  // Half of a surrogate pair would be stored as another character, and a customer with such an id never found again.
  return text === '' ? null : text.slice(0, MAX_TEXT).toWellFormed();
}
const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((one) => textOf(one) ?? []).slice(0, MAX_ITEMS);
/** Numbers of two rows of one customer, cut to the limit of one row. */
const joinedNumbers = (earlier: readonly string[], numbers: readonly string[]): readonly string[] =>
  [...new Set([...earlier, ...numbers])].slice(0, MAX_ITEMS);
/** Adds a customer to a list in which rows with the same id are one customer with several numbers. */
export function joinTo(list: Map<string, ConnectorCustomer>, customer: ConnectorCustomer): void {
  const same = list.get(customer.id);
  list.set(
    customer.id,
    same ? { ...same, numbers: joinedNumbers(same.numbers, customer.numbers) } : customer,
  );
}

/** Whether a file reads the languages of customers, in any of its answers. */
export function namesLanguages({ customer, lookup, create, sync, inbox }: ConnectorDocument): boolean {
  const own = [lookup?.number, lookup?.text, create, sync, ...(inbox?.on ?? [])];
  const read = own.map((one) => (one !== undefined && 'customer' in one ? one.customer : undefined));
  return [customer, ...read].some((fields) => fields?.language !== undefined);
}
/** A row of an answer as a customer; null for one without id or name. */
export function customerOf(
  fields: CustomerFields,
  row: unknown,
  scope: Pick<Scope, 'set' | 'missed'>,
): ConnectorCustomer | null {
  const read = (name: keyof CustomerFields): unknown => fields[name]?.({ ...scope, row });
  const id = textOf(read('id'));
  const name = textOf(read('name')) ?? textOf(read('company'));
  if (id === null || name === null) return null;
  const language = languageOf(textOf(read('language')) ?? '');
  return {
    id,
    name,
    kind: read('kind') === 'company' ? 'company' : 'person',
    company: textOf(read('company')),
    numbers: textsOf(read('number') ?? read('numbers')),
    ...(fields.numbers === undefined && { adds_numbers: true as const }),
    emails: textsOf(read('emails')),
    owner: textOf(read('owner')),
    url: (read('url') as string | undefined) ?? null,
    ...(language !== undefined && { language }),
    blocked: read('blocked') === true,
    vip: read('vip') === true,
  };
}
