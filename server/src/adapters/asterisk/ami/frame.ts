declare const brand: unique symbol;
/** A header's name in searchable form: a line end, the name and a colon. */
export type Header = string & { readonly [brand]: 'Header' };

/** Creates the searchable form of a header's name, once per module. */
export const header = (name: string): Header => `\r\n${name}:` as Header;

const NOT_ASCII = /[\x80-\xff]/;
const strict = new TextDecoder('utf-8', { fatal: true });

/** Decodes latin1 text that contains UTF-8 bytes; other bytes stay latin1. */
const utf8 = (bytes: string): string => {
  if (!NOT_ASCII.test(bytes)) return bytes;
  try {
    return strict.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return bytes;
  }
};

/**
 * One frame, stored as its bytes; a header is looked up on request. A search starts where the previous one ended, so reading
 * headers in wire order scans the frame once. The first line is the kind and no header here.
 */
export class Frame {
  readonly #text: string;
  readonly #ascii: boolean;
  #at = 0;

  constructor(text: string, ascii: boolean) {
    this.#text = text;
    this.#ascii = ascii;
  }

  #find(h: Header): number {
    let i = this.#text.indexOf(h, this.#at);
    if (i < 0) {
      if (this.#at === 0) return -1;
      i = this.#text.indexOf(h);
      if (i < 0) return -1;
    }
    this.#at = i;
    i += h.length;
    return this.#text.charCodeAt(i) === 32 ? i + 1 : i;
  }

  /** True when any header of the frame contains the text. */
  mentions(text: string): boolean {
    return this.#text.includes(text);
  }

  /** The header's value, without one optional space after the colon; undefined where absent. */
  get(h: Header): string | undefined {
    const from = this.#find(h);
    if (from < 0) return undefined;
    const end = this.#text.indexOf('\r\n', from);
    const value = end < 0 ? this.#text.slice(from) : this.#text.slice(from, end);
    return this.#ascii ? value : utf8(value);
  }

  /** The value as a whole number; `otherwise` where it is absent or not a number. */
  int(h: Header, otherwise: number): number {
    const from = this.#find(h);
    if (from < 0) return otherwise;
    let n = 0;
    let i = from;
    const negative = this.#text.charCodeAt(i) === 45;
    if (negative) i++;
    const first = i;
    for (; i - first < 15; i++) {
      const digit = this.#text.charCodeAt(i) - 48;
      if (!(digit >= 0 && digit <= 9)) break;
      n = n * 10 + digit;
    }
    return i === first ? otherwise : negative ? -n : n;
  }

  /** True when the value begins with `text`; does not decode the value. */
  begins(h: Header, text: string): boolean {
    const from = this.#find(h);
    return from >= 0 && this.#text.startsWith(text, from);
  }

  /** True when the header is present. */
  has(h: Header): boolean {
    return this.#find(h) >= 0;
  }

  /** True when the header occurs more than once: in a known event a sign of a forged value. */
  repeats(h: Header): boolean {
    const first = this.#text.indexOf(h);
    return first >= 0 && this.#text.includes(h, first + h.length);
  }

  /** Seconds with a fraction, as milliseconds; null where absent or not a number. */
  millis(h: Header): number | null {
    const from = this.#find(h);
    if (from < 0) return null;
    const text = this.#text;
    let n = 0;
    let i = from;
    for (; i - from < 13; i++) {
      const digit = text.charCodeAt(i) - 48;
      if (!(digit >= 0 && digit <= 9)) break;
      n = n * 10 + digit;
    }
    if (i === from) return null;
    let ms = 0;
    if (text.charCodeAt(i) === 46) {
      for (let scale = 100; scale >= 1; scale /= 10) {
        const digit = text.charCodeAt(++i) - 48;
        if (!(digit >= 0 && digit <= 9)) break;
        ms += digit * scale;
      }
    }
    return n * 1000 + ms;
  }

  /** Every value of a repeated header, in order. */
  all(h: Header): string[] {
    const values: string[] = [];
    for (let i = this.#text.indexOf(h); i >= 0; i = this.#text.indexOf(h, i + h.length)) {
      let from = i + h.length;
      if (this.#text.charCodeAt(from) === 32) from++;
      const end = this.#text.indexOf('\r\n', from);
      values.push(utf8(end < 0 ? this.#text.slice(from) : this.#text.slice(from, end)));
    }
    return values;
  }

  /** Every header with its values, including the first line; lines without a colon are skipped. */
  fields(): Map<string, string[]> {
    const fields = new Map<string, string[]>();
    for (const line of this.#text.split('\r\n')) {
      const colon = line.indexOf(':');
      if (colon <= 0) continue;
      const name = line.slice(0, colon);
      const value = utf8(line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1));
      const had = fields.get(name);
      if (had === undefined) fields.set(name, [value]);
      else had.push(value);
    }
    return fields;
  }

  /** The frame as received, for the log and for support; at most `limit` characters. */
  raw(limit = 2000): string {
    return utf8(this.#text.slice(0, limit));
  }
}
