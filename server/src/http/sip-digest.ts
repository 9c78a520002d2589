/** Finds and replaces the digest responses of a SIP request; leaves the rest unchanged (RFC 3261 section 22). */
import { createHash, timingSafeEqual } from 'node:crypto';

/** One `Digest` header of a request. */
export interface SipProof {
  readonly username: string;
  /** True when the response was computed with this password. */
  matches(password: string): boolean;
  /** Response to the same challenge with another password. */
  responseOf(password: string): string;
  /** Offsets of the response in the text. */
  readonly at: readonly { readonly from: number; readonly to: number }[];
}
/** A response that no password produces. */
export const NO_RESPONSE = '0'.repeat(32);
const MAX_PROOFS = 8;
/**
 * A digest header wherever the engine may find one. It reads more than `proofsOf`: a bare CR or LF ends its lines, it skips empty
 * lines before a request, and one frame may hold several requests.
 */
const DIGEST = /(?:^|[\r\n])(?:proxy-)?authorization\s*:\s*digest/gi;
const md5 = (text: string): string => createHash('md5').update(text, 'latin1').digest('hex');

/**
 * Digest headers of a request, in order; empty for any text without them. `text` is latin1, so one character is one byte. Null for
 * more than eight, and for one that the engine may read and this function does not. O(n).
 */
export function proofsOf(text: string): readonly SipProof[] | null {
  const written = text.match(DIGEST)?.length ?? 0;
  if (written === 0) return [];
  const found = written > MAX_PROOFS ? [] : readProofs(text);
  return found.length === written ? found : null;
}
function readProofs(text: string): SipProof[] {
  const head = text.indexOf('\r\n\r\n');
  const end = head < 0 ? text.length : head;
  const line = text.indexOf('\r\n');
  if (line < 0 || line > end) return [];
  const start = text.slice(0, line);
  if (!start.endsWith(' SIP/2.0')) return [];
  const method = start.slice(0, start.indexOf(' '));
  const found: SipProof[] = [];
  for (let at = line + 2; at < end;) {
    const to = endOfHeader(text, at, end);
    const value = valueOfProof(text, at, to);
    const proof = value === null ? null : digest(text, value, to, method);
    if (proof !== null) found.push(proof);
    at = to + 2;
  }
  return found;
}
/** Replaces the response of each proof. */
export function withResponses(
  text: string,
  responses: readonly (readonly [proof: SipProof, response: string])[],
): string {
  let done = 0;
  const parts: string[] = [];
  for (const [proof, response] of responses) {
    for (const { from, to } of proof.at) {
      parts.push(text.slice(done, from), response);
      done = to;
    }
  }
  return parts.join('') + text.slice(done);
}

/** End of a header, which continues on lines that begin with a blank. */
function endOfHeader(text: string, from: number, end: number): number {
  for (let at = from; ; at += 2) {
    at = text.indexOf('\r\n', at);
    if (at < 0 || at >= end) return end;
    if (!isBlank(text[at + 2])) return at;
  }
}
const isBlank = (c: string | undefined): boolean => c === ' ' || c === '\t';
const isSpace = (c: string | undefined): boolean => isBlank(c) || c === '\r' || c === '\n';
/** Offset of the parameters of a digest header; null for any other header. */
function valueOfProof(text: string, from: number, to: number): number | null {
  const colon = text.indexOf(':', from);
  if (colon < 0 || colon >= to || colon - from > 40) return null;
  const name = text.slice(from, colon).trim().toLowerCase();
  if (name !== 'authorization' && name !== 'proxy-authorization') return null;
  let at = colon + 1;
  while (at < to && isSpace(text[at])) at += 1;
  return text.slice(at, at + 6).toLowerCase() === 'digest' && isSpace(text[at + 6]) ? at + 7 : null;
}

function digest(text: string, from: number, to: number, method: string): SipProof | null {
  const values = new Map<string, string>();
  const at: { from: number; to: number }[] = [];
  for (let i = from; i < to;) {
    while (i < to && (isSpace(text[i]) || text[i] === ',')) i += 1;
    const begin = i;
    while (i < to && text[i] !== '=' && text[i] !== ',') i += 1;
    const name = text.slice(begin, i).trim().toLowerCase();
    if (i >= to || text[i] === ',') continue;
    i += 1;
    while (i < to && isSpace(text[i])) i += 1;
    const quoted = text[i] === '"';
    if (quoted) i += 1;
    const start = i;
    if (quoted) while (i < to && text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
    else while (i < to && text[i] !== ',' && !isSpace(text[i])) i += 1;
    const stop = Math.min(i, to);
    if (!values.has(name)) values.set(name, text.slice(start, stop));
    if (name === 'response') at.push({ from: start, to: stop });
    if (quoted) i += 1;
    while (i < to && text[i] !== ',') i += 1;
  }
  const username = values.get('username');
  if (username === undefined || at.length === 0) return null;
  const value = (name: string): string => values.get(name) ?? '';
  const known =
    (value('algorithm') || 'MD5').toUpperCase() === 'MD5' &&
    ['', 'auth'].includes(value('qop').toLowerCase());
  const ha2 = md5(`${method}:${value('uri')}`);
  const tail = value('qop') === '' ? ha2 : [value('nc'), value('cnonce'), value('qop'), ha2].join(':');
  const responseOf = (password: string): string =>
    md5(`${md5(`${username}:${value('realm')}:${password}`)}:${value('nonce')}:${tail}`);
  const given = Buffer.from(value('response').toLowerCase(), 'latin1');
  return {
    username,
    at,
    responseOf,
    matches(password) {
      const wanted = Buffer.from(responseOf(password), 'latin1');
      return known && given.length === wanted.length && timingSafeEqual(given, wanted);
    },
  };
}

/** The status and method of a SIP response; null for anything else. */
export function answerOf(text: string): { readonly status: number; readonly method: string } | null {
  if (!text.startsWith('SIP/2.0 ')) return null;
  const head = text.indexOf('\r\n\r\n');
  const lines = text.slice(0, head < 0 ? text.length : head).split('\r\n');
  const cseq = lines.find(
    (l) => l.slice(0, 5).toLowerCase() === 'cseq:' || l.slice(0, 5).toLowerCase() === 'cseq ',
  );
  return { status: Number(text.slice(8, 11)), method: cseq?.trim().split(/[ \t]/).at(-1) ?? '' };
}
