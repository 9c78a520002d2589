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
  readonly from: number;
  readonly to: number;
}
/** A response that no password produces. */
export const NO_RESPONSE = '0'.repeat(32);
const MAX_PROOFS = 8;
/**
 * Everything in which the engine may read a digest: it knows the two headers by these names only, but finds them behind `&`, a bare CR
 * or LF or an empty line, and in a second request of one frame.
 */
const NAME = /authorization\s*:/gi;
/** A header with a digest, up to its parameters. */
const DIGEST = /^(?:proxy-)?authorization[ \t]*:[ \t]*digest[ \t]+/i;
/** The next parameter. A name or a quoted value with an escape could be read in two ways, so it is none. */
const PARAMETER = /^([ \t]*([\w-]+)[ \t]*=[ \t]*)("[^"\\\r\n]*"|[\w.!%*`'~+-]+)[ \t]*(?:,|$)/;
const md5 = (text: string): string => createHash('md5').update(text, 'latin1').digest('hex');

/**
 * Digest headers of a request, in order; empty for any text without an authorization header. `text` is latin1, so one character is
 * one byte. Null for more than eight, and for a text that names such a header anywhere but in a header of the strict form. O(n).
 */
export function proofsOf(text: string): readonly SipProof[] | null {
  const named = text.match(NAME)?.length ?? 0;
  if (named === 0) return [];
  const found = named > MAX_PROOFS ? [] : readProofs(text);
  // Each header found begins with a name, so equal numbers mean that nothing else was named.
  return found.length === named ? found : null;
}
function readProofs(text: string): SipProof[] {
  const method = /^([A-Z]+) \S+ SIP\/2\.0\r\n/.exec(text)?.[1];
  const end = text.indexOf('\r\n\r\n');
  const found: SipProof[] = [];
  if (method === undefined) return found;
  for (let at = text.indexOf('\r\n') + 2; at < end;) {
    const to = endOfHeader(text, at, end);
    const proof = digest(text, at, to, method);
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
    parts.push(text.slice(done, proof.from), response);
    done = proof.to;
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

/** Null for any header but a digest of which every parameter is read once. */
function digest(text: string, start: number, end: number, method: string): SipProof | null {
  // Without folded lines; all offsets stay.
  const header = text.slice(start, end).replaceAll('\r\n', '  ');
  const scheme = DIGEST.exec(header)?.[0];
  if (scheme === undefined) return null;
  const values = new Map<string, string>();
  let from = 0;
  for (let rest = header.slice(scheme.length); rest !== '';) {
    const next = PARAMETER.exec(rest);
    if (next === null) return null;
    const [before, name, given] = [next[1]!, next[2]!.toLowerCase(), next[3]!];
    if (values.has(name)) return null;
    const quote = given.startsWith('"') ? 1 : 0;
    values.set(name, given.slice(quote, given.length - quote));
    if (name === 'response') from = end - rest.length + before.length + quote;
    rest = rest.slice(next[0].length);
  }
  const [username, response] = [values.get('username'), values.get('response')];
  if (username === undefined || response === undefined) return null;
  const value = (name: string): string => values.get(name) ?? '';
  const known =
    (value('algorithm') || 'MD5').toUpperCase() === 'MD5' &&
    ['', 'auth'].includes(value('qop').toLowerCase());
  const ha2 = md5(`${method}:${value('uri')}`);
  const tail = value('qop') === '' ? ha2 : [value('nc'), value('cnonce'), value('qop'), ha2].join(':');
  const responseOf = (password: string): string =>
    md5(`${md5(`${username}:${value('realm')}:${password}`)}:${value('nonce')}:${tail}`);
  const proof = Buffer.from(response.toLowerCase(), 'latin1');
  return {
    username,
    from,
    to: from + response.length,
    responseOf,
    matches(password) {
      const wanted = Buffer.from(responseOf(password), 'latin1');
      return known && proof.length === wanted.length && timingSafeEqual(proof, wanted);
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
