/**
 * Strict reader of BER as LDAP uses it: an element that reaches beyond its parent is an error. BER readers made for
 * LDAP clients trust the lengths that a server sends; these bytes come from any client.
 */
export const OCTETS = 0x04;
export const SEQUENCE = 0x30;
const INTEGER = 0x02;
const BOOLEAN = 0x01;
const ENUMERATED = 0x0a;

export class BerError extends Error {}
export interface Element {
  readonly tag: number;
  readonly value: Buffer;
}

/** Start and end of the value whose length field begins at `at`; null while bytes of that field are missing. */
function spanOf(bytes: Buffer, at: number): readonly [start: number, end: number] | null {
  const first = bytes[at];
  if (first === undefined) return null;
  if (first < 0x80) return [at + 1, at + 1 + first];
  const size = first & 0x7f;
  if (size === 0 || size > 4) throw new BerError('a length that LDAP does not use');
  if (bytes.length < at + 1 + size) return null;
  const start = at + 1 + size;
  return [start, start + bytes.readUIntBE(at + 1, size)];
}
/** Number of bytes of the first message; null while its length is unknown. Throws `BerError` if it exceeds `most`. */
export function messageLength(bytes: Buffer, most: number): number | null {
  if (bytes.length === 0) return null;
  if (bytes[0] !== SEQUENCE) throw new BerError('not an LDAP message');
  const span = spanOf(bytes, 1);
  if (span !== null && span[1] > most) throw new BerError(`a message has more than ${most} bytes`);
  return span?.[1] ?? null;
}

/** Reads elements in sequence; every method throws `BerError`. */
export class BerReader {
  readonly #bytes: Buffer;
  #at = 0;
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }
  /** Tag of the next element; null at the end. */
  get tag(): number | null {
    return this.#bytes[this.#at] ?? null;
  }
  next(): Element {
    const { tag } = this;
    if (tag === null || (tag & 0x1f) === 0x1f) throw new BerError('an element is missing');
    const span = spanOf(this.#bytes, this.#at + 1);
    if (span === null || span[1] > this.#bytes.length) throw new BerError('an element is cut off');
    this.#at = span[1];
    return { tag, value: this.#bytes.subarray(...span) };
  }
  value(tag: number): Buffer {
    if (this.tag !== tag) throw new BerError(`expected the tag ${tag}`);
    return this.next().value;
  }
  text(tag: number = OCTETS): string {
    return this.value(tag).toString('utf8');
  }
  inside(tag: number = SEQUENCE): BerReader {
    return new BerReader(this.value(tag));
  }
  /** An integer from 0 to 2^31-1, the range that LDAP uses. */
  number(tag: number = INTEGER): number {
    const value = this.value(tag);
    if (value.length === 0 || value.length > 4 || value[0]! > 0x7f)
      throw new BerError('a number is too large');
    return value.readUIntBE(0, value.length);
  }
  choice(): number {
    return this.number(ENUMERATED);
  }
  flag(): boolean {
    const value = this.value(BOOLEAN);
    if (value.length !== 1) throw new BerError('not a boolean');
    return value[0] !== 0;
  }
}
