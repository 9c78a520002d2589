/** Made-up names and numbers instead of real ones: equal values get equal replacements, and no pair is stored. */
import { CONFIG_KINDS } from '@offhook/contract/config-objects.ts';
import { EVENT_DATA } from '@offhook/contract/events.ts';
import { z } from 'zod';

/** Values that the contract itself names, such as states and reasons, and names of its fields. */
function contractWords() {
  const words = new Set<string>(Object.keys(EVENT_DATA));
  const fields = new Set<string>();
  const collect = (node: unknown): void => {
    if (Array.isArray(node)) for (const one of node) collect(one);
    else if (typeof node === 'object' && node !== null) {
      const {
        enum: options,
        const: only,
        properties = {},
      } = node as Partial<Record<'enum' | 'const', unknown> & { properties: object }>;
      for (const name of Object.keys(properties)) fields.add(name);
      for (const one of [options, only].flat()) if (typeof one === 'string') words.add(one);
      for (const child of Object.values(node)) collect(child);
    }
  };
  for (const schema of [
    ...Object.values(EVENT_DATA),
    ...Object.values(CONFIG_KINDS).map((kind) => kind.schema),
  ])
    collect(z.toJSONSchema(schema as z.ZodType, { unrepresentable: 'any', io: 'input' }));
  return { words, fields };
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
/** Ids of calls, operations and recordings: a counter, a time or a random value. */
const CALL_ID = /^[\w-]+:((?:oh-[0-9a-f]{12}-)?\d{10}\.\d+)$/;
const CHANCE_ID =
  /^(?:[a-z]+-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$|^[0-9a-hjkmnp-tv-z]{26}$/;
const SHORT = /^\d{2,6}$/;
const OUTSIDE = /^\+?\d{7,20}$/;
const NAMES: ReadonlySet<string> = new Set(['name', 'title', 'full_name']);
/** Numbers that the German regulator reserves for films, by area. */
const FILM_AREAS = ['3023125', '6990009', '4066969', '2214710', '8999998'] as const;

export class Anonymiser {
  readonly #contract = contractWords();
  readonly #made = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /** A copy of JSON without personal data. */
  of(value: unknown, field = ''): unknown {
    if (typeof value === 'string') return this.#text(value, field);
    if (Array.isArray(value)) return value.map((one) => this.of(one, field));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [this.#key(name), this.of(one, name)]),
    );
  }

  /** Names of fields stay; a key that is data, such as the name of a queue, is replaced. */
  #key(name: string): string {
    return this.#contract.fields.has(name) ? name : this.#text(name, '');
  }
  #text(text: string, field: string): string {
    if (text === '' || TIME.test(text) || CHANCE_ID.test(text)) return text;
    // The name of a queue is also a key of other objects and gets the same replacement.
    const slug = this.#made.get(`text\0${text}`);
    if (slug !== undefined) return slug;
    if (NAMES.has(field) && !OUTSIDE.test(text)) return this.#makeUp('name', text, (n) => `Name ${n}`);
    if (this.#contract.words.has(text)) return text;
    const call = CALL_ID.exec(text);
    if (call !== null) return `sim1:${call[1]}`;
    if (text.includes('/'))
      return text
        .split('/')
        .map((part, i) => this.#part(part, i))
        .join('/');
    if (SHORT.test(text)) return this.#short(text);
    if (OUTSIDE.test(text)) return this.#outside(text);
    return this.#makeUp('text', text, (n) => `text-${n}`);
  }
  /** The first part of a subject names its kind: `calls/<id>`. */
  #part(part: string, place: number): string {
    return place === 0 && /^[a-z]+$/.test(part) ? part : this.#text(part, '');
  }
  #makeUp(kind: string, text: string, make: (count: number) => string): string {
    const known = `${kind}\0${text}`;
    let made = this.#made.get(known);
    if (made === undefined) {
      const count = (this.#counts.get(kind) ?? 0) + 1;
      this.#counts.set(kind, count);
      this.#made.set(known, (made = make(count)));
    }
    return made;
  }
  /** Number of the same length if enough of them exist; its first digit is not 0. */
  #short(text: string): string {
    const { length } = text;
    return this.#makeUp(`short ${length}`, text, (n) => String(2 * 10 ** (length - 1) + n));
  }
  #outside(text: string): string {
    const made = this.#makeUp('outside', text.replace(/^(?:\+|00)/, ''), (n) => {
      const area = FILM_AREAS[n % FILM_AREAS.length]!;
      return `49${area}${String(Math.floor(n / FILM_AREAS.length)).padStart(3, '0')}`;
    });
    return text.startsWith('+') ? `+${made}` : `0${made.slice(2)}`;
  }
}
