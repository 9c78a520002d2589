import { setImmediate as yieldLoop } from 'node:timers/promises';
import ICAL from 'ical.js';
import { ServiceError } from '../../core/errors.ts';
import { languageOf } from '../../core/language-tag.ts';
import type { CustomerRow } from './rows.ts';
import type { FieldName, Line, Lines, Value } from './line.ts';

/** Properties that are read; skipping photos saves most of a file. */
const WANTED =
  /^(?:[a-z0-9-]{1,64}\.)?(?:version|fn|n|org|tel|email|note|uid|kind|lang|x-abshowas|x-ablabel)[;:]/i;
const MAX_PROPERTY = 16_384;
const MAX_PROPERTIES = 200;
/** Characters that are read before other work of the process goes on. */
const AT_ONCE = 16_384;

/** `[name, parameters, type, ...values]` of RFC 7095. */
type Property = readonly [string, Readonly<Record<string, string | readonly string[]>>, string, ...unknown[]];
interface Card {
  readonly line: number;
  readonly properties: readonly string[];
  readonly isWhole: boolean;
}
/** Lines of RFC 6350 with their continuations, and where they begin; null after each `AT_ONCE`. */
function* unfolded(text: string): Generator<readonly [line: number, text: string] | null> {
  let held: string | null = null;
  let began = 1;
  for (let at = 0, line = 1, pause = AT_ONCE; at < text.length; line += 1) {
    if (at >= pause) {
      pause = at + AT_ONCE;
      yield null;
    }
    const end = text.indexOf('\n', at);
    const next = text.slice(at, end < 0 ? undefined : end).replace(/\r$/, '');
    at = end < 0 ? text.length : end + 1;
    if (held !== null && /^[ \t]/.test(next)) {
      // A property over the limit is refused, so its rest is dropped.
      if (held.length <= MAX_PROPERTY) held += next.slice(1);
      continue;
    }
    if (held !== null) yield [began, held];
    [held, began] = [next, line];
  }
  if (held !== null) yield [began, held];
}
async function* cardsOf(text: string): AsyncGenerator<Card> {
  let card: { line: number; properties: string[] } | null = null;
  for (const one of unfolded(text)) {
    if (one === null) {
      await yieldLoop();
      continue;
    }
    const [line, property] = one;
    const word = property.trim().toUpperCase();
    if (word === 'BEGIN:VCARD') {
      if (card !== null) yield { ...card, isWhole: false };
      card = { line, properties: [] };
    } else if (word === 'END:VCARD' && card !== null) {
      yield { ...card, isWhole: true };
      card = null;
    } else if (card !== null && WANTED.test(property) && card.properties.length < MAX_PROPERTIES)
      card.properties.push(property);
  }
  if (card !== null) yield { ...card, isWhole: false };
}

const LABELS: Readonly<Record<string, string>> = { cell: 'mobile', work: 'work', home: 'home', fax: 'fax' };
const TYPES = new Map(Object.entries(LABELS).map(([type, label]) => [label, type]));
const textsOf = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((one) => (typeof one === 'string' ? [one.trim()] : []));
const isFull = (text: string | undefined): text is string => text !== undefined && text !== '';

function lineOf({ line, properties, isWhole }: Card): Line {
  const unreadable: { field: string; whole: boolean }[] = [];
  const read: Property[] = [];
  const version = /^version:\s*([\d.]{1,8})\s*$/i.exec(
    properties.find((one) => /^version:/i.test(one)) ?? '',
  )?.[1];
  const design = version === '3.0' ? ICAL.design.vcard3 : version === '4.0' ? ICAL.design.vcard : null;
  if (!isWhole) unreadable.push({ field: 'END', whole: true });
  else if (design === null) unreadable.push({ field: 'VERSION', whole: true });
  else
    for (const property of properties) {
      try {
        if (property.length > MAX_PROPERTY) throw new Error('too long');
        read.push(ICAL.parse.property(property, design) as unknown as Property);
      } catch {
        const field = property.split(/[;:]/, 1)[0]!.toUpperCase();
        unreadable.push({ field, whole: field === 'FN' });
      }
    }
  const first = (name: string): readonly string[] => {
    const found = read.find(([one]) => one === name);
    return found === undefined ? [] : textsOf(found[3]);
  };
  const named = new Map(
    read.flatMap(([name, { group }, , value]) =>
      name === 'x-ablabel' && typeof group === 'string' ? [[group, textsOf(value)[0] ?? ''] as const] : [],
    ),
  );
  const valuesOf = (name: string): readonly Value[] =>
    read.flatMap(([one, { type, group }, , value]) => {
      const text = textsOf(value)[0];
      if (one !== name || !isFull(text)) return [];
      const types = textsOf(type).map((kind) => kind.toLowerCase());
      // Apple writes its own words as `_$!<Work>!$_`.
      const own = (typeof group === 'string' ? named.get(group) : undefined)?.replace(
        /^_\$!<(.*)>!\$_$/,
        '$1',
      );
      const label = isFull(own)
        ? own
        : (Object.entries(LABELS).findLast(([kind]) => types.includes(kind))?.[1] ?? null);
      return [{ value: text, label, field: name.toUpperCase() }];
    });
  const [family, given] = first('n');
  const [organization] = first('org');
  const [kind] = first('kind');
  const language = first('lang').map(languageOf).find(isFull);
  const isCompany = kind?.toLowerCase() === 'org' || first('x-abshowas')[0]?.toUpperCase() === 'COMPANY';
  const name = [first('fn')[0], [given, family].filter(isFull).join(' '), organization].find(isFull);
  const fields: Partial<Record<FieldName, string>> = {
    kind: isCompany ? 'company' : 'person',
    note: first('note')[0] ?? '',
    ...(language === undefined ? {} : { language }),
    company: isCompany ? '' : (organization ?? ''),
    ...(name === undefined ? {} : { name }),
  };
  return {
    line,
    uid: first('uid').find(isFull) ?? null,
    fields,
    numbers: valuesOf('tel').map((one) => ({
      ...one,
      value: one.value.replace(/^tel:/i, '').split(';', 1)[0]!,
    })),
    emails: valuesOf('email'),
    unreadable,
  };
}

/** Cards of vCard 3.0 and 4.0. */
export async function* cardLines(text: string): AsyncGenerator<Line> {
  for await (const card of cardsOf(text)) yield lineOf(card);
}
/** The cards of a file. Throws `invalid_request` where there is none. */
export async function vcardLines(text: string): Promise<Lines> {
  for await (const _card of cardsOf(text))
    return { ignored: [], [Symbol.asyncIterator]: () => cardLines(text) };
  throw new ServiceError(
    'invalid_request',
    'body: there is no BEGIN:VCARD; send a vCard file of version 3.0 or 4.0',
  );
}

/** A customer as a card. */
export function vcardOf(one: CustomerRow, version: '3.0' | '4.0'): string {
  const isCompany = one.kind === 'company';
  const ofTel = version === '3.0' ? 'phone-number' : 'text';
  const words = one.name.split(' ');
  const parts = isCompany ? ['', ''] : [words.at(-1)!, words.slice(0, -1).join(' ')];
  const organization = isCompany ? one.name : one.company;
  const properties: unknown[] = [
    ['version', {}, 'text', version],
    ['fn', {}, 'text', one.name],
    ['n', {}, 'text', [...parts, '', '', '']],
  ];
  if (one.external_id !== null) properties.push(['uid', {}, 'text', one.external_id]);
  if (organization !== null) properties.push(['org', {}, 'text', [organization]]);
  if (isCompany)
    properties.push(
      version === '4.0' ? ['kind', {}, 'text', 'org'] : ['x-abshowas', {}, 'unknown', 'COMPANY'],
    );
  for (const [i, { number, e164, label }] of one.numbers.entries()) {
    const type = label === null ? undefined : TYPES.get(label);
    const group = label !== null && type === undefined ? { group: `item${i + 1}` } : {};
    properties.push(['tel', { ...group, ...(type === undefined ? {} : { type }) }, ofTel, e164 ?? number]);
    if (label !== null && type === undefined) properties.push(['x-ablabel', group, 'unknown', label]);
  }
  for (const email of one.emails) properties.push(['email', {}, 'text', email]);
  if (one.note !== null) properties.push(['note', {}, 'text', one.note]);
  if (one.language !== null && version === '4.0')
    properties.push(['lang', {}, 'language-tag', one.language.replace('_', '-')]);
  return ICAL.stringify(['vcard', properties, []] as never);
}
