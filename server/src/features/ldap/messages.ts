/** Messages of LDAP (RFC 4511) that a read-only directory needs. */
import { BerWriter } from 'ldapts';
import { BerReader, OCTETS } from './ber.ts';
import { readFilter } from './filter.ts';
import type { Filter } from './filter.ts';

/** Result codes of RFC 4511, 4.1.9. */
export const RESULT = {
  success: 0,
  protocolError: 2,
  timeLimitExceeded: 3,
  sizeLimitExceeded: 4,
  authMethodNotSupported: 7,
  unavailableCriticalExtension: 12,
  confidentialityRequired: 13,
  noSuchObject: 32,
  inappropriateAuthentication: 48,
  invalidCredentials: 49,
  insufficientAccess: 50,
  busy: 51,
  unavailable: 52,
  unwillingToPerform: 53,
} as const;
export type ResultCode = (typeof RESULT)[keyof typeof RESULT];
export interface Result {
  readonly code: ResultCode;
  readonly words?: string;
  /** For a search: position of the next page; empty at the end, absent if no pages were requested. */
  readonly cookie?: string;
}

export const OP = { bind: 0x60, unbind: 0x42, search: 0x63, abandon: 0x50, extended: 0x77 } as const;
/** Tag of the reply by the tag of its request. */
const REPLY: Readonly<Record<number, number>> = {
  [OP.bind]: 0x61,
  [OP.search]: 0x65,
  [OP.extended]: 0x78,
  // Modify, add, delete, modify DN, compare.
  0x66: 0x67,
  0x68: 0x69,
  0x4a: 0x6b,
  0x6c: 0x6d,
  0x6e: 0x6f,
};
const CONTROLS = 0xa0;
export const PAGED = '1.2.840.113556.1.4.319';
const DISCONNECTION = '1.3.6.1.4.1.1466.20036';
const MOST_CONTROLS = 10;
const MOST_ATTRIBUTES = 100;

export interface Request {
  readonly id: number;
  readonly op: number;
  readonly body: BerReader;
  /** Requested page; null if no pages were requested. */
  readonly paged: { readonly size: number; readonly cookie: string } | null;
  /** OID of a critical control that this server does not support; null for none. */
  readonly refused: string | null;
}
export interface Bind {
  readonly version: number;
  readonly name: string;
  /** Null for SASL, which this server does not support. */
  readonly password: string | null;
}
export interface Search {
  readonly base: string;
  readonly scope: number;
  readonly sizeLimit: number;
  /** Seconds; 0 for none. */
  readonly timeLimit: number;
  readonly typesOnly: boolean;
  readonly filter: Filter;
  /** In lower case. */
  readonly attributes: readonly string[];
}

/** Whether a request of this kind has a reply. */
export const hasReply = (op: number): boolean => op in REPLY;
/** Throws `BerError`. */
export function readRequest(bytes: Buffer): Request {
  const message = new BerReader(bytes).inside();
  const id = message.number();
  const { tag, value } = message.next();
  let paged: Request['paged'] = null;
  let refused: string | null = null;
  if (message.tag === CONTROLS) {
    const list = message.inside(CONTROLS);
    for (let n = 0; list.tag !== null && n < MOST_CONTROLS; n += 1) {
      const control = list.inside();
      const oid = control.text();
      const critical = control.tag === 0x01 && control.flag();
      if (oid === PAGED) {
        const inside = new BerReader(control.value(OCTETS)).inside();
        paged = { size: inside.number(), cookie: inside.text() };
      } else if (critical) refused = oid;
    }
  }
  return { id, op: tag, body: new BerReader(value), paged, refused };
}
export function readBind(body: BerReader): Bind {
  const version = body.number();
  const name = body.text();
  return { version, name, password: body.tag === 0x80 ? body.text(0x80) : null };
}
export function readSearch(body: BerReader): Search {
  const base = body.text();
  const scope = body.choice();
  body.choice();
  const [sizeLimit, timeLimit] = [body.number(), body.number()];
  const typesOnly = body.flag();
  const filter = readFilter(body);
  const attributes: string[] = [];
  for (const list = body.inside(); list.tag !== null && attributes.length < MOST_ATTRIBUTES;)
    attributes.push(list.text().toLowerCase());
  return { base, scope, sizeLimit, timeLimit, typesOnly, filter, attributes };
}

function message(id: number, tag: number, write: (to: BerWriter) => void, cookie?: string): Buffer {
  const to = new BerWriter();
  to.startSequence();
  to.writeInt(id);
  to.startSequence(tag);
  write(to);
  to.endSequence();
  if (cookie !== undefined) {
    const value = new BerWriter();
    value.startSequence();
    value.writeInt(0);
    value.writeString(cookie);
    value.endSequence();
    to.startSequence(CONTROLS);
    to.startSequence();
    to.writeString(PAGED);
    to.writeBuffer(value.buffer, OCTETS);
    to.endSequence();
    to.endSequence();
  }
  to.endSequence();
  return to.buffer;
}
const writeResult = (to: BerWriter, { code, words = '' }: Result): void => {
  to.writeEnumeration(code);
  to.writeString('');
  to.writeString(words);
};
export const resultMessage = (id: number, op: number, result: Result): Buffer =>
  message(id, REPLY[op]!, (to) => writeResult(to, result), result.cookie);
export const entryMessage = (
  id: number,
  dn: string,
  attributes: Iterable<readonly [name: string, values: readonly string[]]>,
): Buffer =>
  message(id, 0x64, (to) => {
    to.writeString(dn);
    to.startSequence();
    for (const [name, values] of attributes) {
      to.startSequence();
      to.writeString(name);
      to.startSequence(0x31);
      to.writeStringArray([...values]);
      to.endSequence();
      to.endSequence();
    }
    to.endSequence();
  });
/** Notice of disconnection, sent before the server closes a connection after a faulty request (RFC 4511, 4.4.1). */
export const disconnection = (words: string): Buffer =>
  message(0, 0x78, (to) => {
    writeResult(to, { code: RESULT.protocolError, words });
    to.writeString(DISCONNECTION, 0x8a);
  });
