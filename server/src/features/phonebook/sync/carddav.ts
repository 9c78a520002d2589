import { createHash } from 'node:crypto';
import type { Send } from '../../../outbound/json.ts';
import type { OutboundRequest } from '../../../outbound/transport.ts';
import { SyncFailure } from '../../../outbound/sync-schedule.ts';
import type { Line } from '../line.ts';
import { cardLines } from '../vcard.ts';
import { MAX_SOURCE_CUSTOMERS } from './reader.ts';
import type { SourceConfig, SourceCursor, SourcePart } from './reader.ts';
import { CALENDARSERVER, CARDDAV, DAV, readMultistatus } from './multistatus.ts';
import type { DavResponse, Multistatus } from './multistatus.ts';

/** Bytes of one answer. */
const MAX_ANSWER_BYTES = 16_777_216;
/** Cards of one request. */
const AT_ONCE = 50;
/** Limit of replies into which a server may split one list of changes. */
const MAX_PARTS = 1_000;
/** Longest id of a customer; of a longer file name the hash is used. */
const MAX_ID = 200;
const GROUP = /^(?:KIND|X-ADDRESSBOOKSERVER-KIND):group\b/im;

const FIND = `<propfind xmlns="${DAV}" xmlns:cs="${CALENDARSERVER}"><prop><resourcetype/><sync-token/><cs:getctag/></prop></propfind>`;
const LIST = `<propfind xmlns="${DAV}"><prop><resourcetype/><getetag/></prop></propfind>`;
const escaped = (text: string): string => text.replace(/[<>&"]/g, (one) => `&#${one.charCodeAt(0)};`);
const changesSince = (token: string): string =>
  `<sync-collection xmlns="${DAV}"><sync-token>${escaped(token)}</sync-token><sync-level>1</sync-level><prop><getetag/></prop></sync-collection>`;
const cardsAt = (hrefs: readonly string[]): string =>
  `<c:addressbook-multiget xmlns="${DAV}" xmlns:c="${CARDDAV}"><prop><getetag/><c:address-data/></prop>${hrefs.map((href) => `<href>${escaped(href)}</href>`).join('')}</c:addressbook-multiget>`;

/** A card as the server lists it. */
interface Member {
  readonly id: string;
  readonly href: string;
  readonly tag: string;
}
interface Listing {
  readonly members: readonly Member[];
  readonly gone: readonly string[];
  readonly token: string | null;
}
type Answer =
  | { readonly kind: 'read'; readonly multistatus: Multistatus }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'too_long' };
const prop = ({ props }: DavResponse, space: string, name: string): string | null =>
  props.get(`{${space}}${name}`)?.trim() || null;

/** The first card of a text; null for a group, and for what is no card. */
async function lineOf(text: string): Promise<Line | null> {
  if (GROUP.test(text)) return null;
  for await (const line of cardLines(text)) return line;
  return null;
}
/** The address book at one address. */
class AddressBook {
  readonly #url: URL;
  readonly #authorization: string | null;
  readonly #send: Send;
  readonly #signal: AbortSignal;
  /** Whether the server sent every requested card, or that it is gone. */
  isWhole = true;
  constructor({ address, username, password }: SourceConfig, send: Send, signal: AbortSignal) {
    this.#url = new URL(address);
    if (!this.#url.pathname.endsWith('/')) this.#url.pathname += '/';
    this.#authorization =
      username === '' && password === ''
        ? null
        : `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    this.#send = send;
    this.#signal = signal;
  }
  async #ask(method: OutboundRequest['method'], body: string, depth?: '0' | '1'): Promise<Answer> {
    const {
      kind,
      status,
      error,
      body: bytes,
      whole,
      retry_after_seconds,
    } = await this.#send(
      {
        method,
        url: this.#url.href,
        headers: {
          'content-type': 'application/xml; charset=utf-8',
          ...(depth !== undefined && { depth }),
          ...(this.#authorization !== null && { authorization: this.#authorization }),
        },
        body: `<?xml version="1.0" encoding="utf-8"?>${body}`,
        max_bytes: MAX_ANSWER_BYTES,
        repeatable: true,
      },
      this.#signal,
    );
    if (kind !== 'answered' || status === null) throw new SyncFailure(error ?? 'no answer');
    if (status >= 300 && status < 400)
      throw new SyncFailure(
        `the answer is a redirect (${status}), which is never followed: check the address`,
      );
    if (status === 401) throw new SyncFailure('the server does not accept user name and password (401)');
    if (status === 429 || status === 503)
      throw new SyncFailure(`the server asks to wait (${status})`, retry_after_seconds);
    if (status !== 207) return { kind: 'refused', status };
    if (!whole && bytes.length < MAX_ANSWER_BYTES) throw new SyncFailure('the answer broke off');
    if (!whole) return { kind: 'too_long' };
    const multistatus = await readMultistatus(bytes.toString());
    if (multistatus === null) throw new SyncFailure('the answer is not the XML of WebDAV: check the address');
    return { kind: 'read', multistatus };
  }
  /** As `#ask`; throws `SyncFailure` for an answer that was refused or is too long. */
  async #needed(method: OutboundRequest['method'], body: string, depth?: '0' | '1'): Promise<Multistatus> {
    const answer = await this.#ask(method, body, depth);
    if (answer.kind === 'read') return answer.multistatus;
    throw new SyncFailure(
      answer.kind === 'too_long'
        ? `the list of cards has more than ${MAX_ANSWER_BYTES} bytes`
        : `the server answers ${answer.status}, not with an address book: check the address`,
    );
  }
  /** Id of the card at this address; null for one that is not in the address book itself. */
  #idOf(href: string): string | null {
    const url = URL.parse(href, this.#url.href);
    const within = this.#url.pathname;
    if (url?.host !== this.#url.host || !url.pathname.startsWith(within)) return null;
    const name = url.pathname.slice(within.length);
    if (name === '' || name.includes('/')) return null;
    return name.length > MAX_ID ? createHash('sha256').update(name).digest('base64url') : name;
  }
  async position(): Promise<{ token: string | null; ctag: string | null }> {
    const { responses } = await this.#needed('PROPFIND', FIND, '0');
    const [self] = responses;
    if (self?.types.has(`{${CARDDAV}}addressbook`) !== true)
      throw new SyncFailure('there is no address book at the address: it names a folder or something else');
    return { token: prop(self, DAV, 'sync-token'), ctag: prop(self, CALENDARSERVER, 'getctag') };
  }
  /** Every card. */
  async all(): Promise<readonly Member[]> {
    const { responses } = await this.#needed('PROPFIND', LIST, '1');
    if (responses.some(({ status }) => status === 507))
      throw new SyncFailure('the server lists only a part of the address book (507)');
    return responses.flatMap((response) => {
      const id = this.#idOf(response.href);
      if (id === null || response.types.has(`{${DAV}}collection`)) return [];
      return [{ id, href: response.href, tag: prop(response, DAV, 'getetag') ?? '' }];
    });
  }
  /** Changes since this token; null where the server refuses it. */
  async since(first: string): Promise<Listing | null> {
    const members = new Map<string, Member>();
    const gone = new Set<string>();
    let token = first;
    for (let parts = 0; parts < MAX_PARTS; parts += 1) {
      const answer = await this.#ask('REPORT', changesSince(token), '0');
      if (answer.kind !== 'read') return null;
      const { responses, token: next } = answer.multistatus;
      let more = false;
      for (const response of responses) {
        const id = this.#idOf(response.href);
        if (id === null) more ||= response.status === 507;
        else if (response.status === 404) {
          gone.add(id);
          members.delete(id);
        } else {
          members.set(id, { id, href: response.href, tag: prop(response, DAV, 'getetag') ?? '' });
          gone.delete(id);
        }
      }
      if (next === null || (more && next === token)) return null;
      token = next;
      if (!more) return { members: [...members.values()], gone: [...gone], token };
      if (members.size > MAX_SOURCE_CUSTOMERS) break;
    }
    return null;
  }
  async *cards(members: readonly Member[]): AsyncGenerator<SourcePart> {
    for (let at = 0; at < members.length; at += AT_ONCE) yield* this.#some(members.slice(at, at + AT_ONCE));
  }
  async *#some(members: readonly Member[]): AsyncGenerator<SourcePart> {
    const answer = await this.#ask('REPORT', cardsAt(members.map(({ href }) => href)));
    if (answer.kind === 'refused')
      throw new SyncFailure(`the server does not send the cards (${answer.status})`);
    if (answer.kind === 'too_long') {
      if (members.length > 1) {
        const half = Math.ceil(members.length / 2);
        yield* this.#some(members.slice(0, half));
        yield* this.#some(members.slice(half));
      } else yield { changed: members.map(({ id, tag }) => ({ id, tag, line: null })), gone: [] };
      return;
    }
    const wanted = new Map(members.map((member) => [member.id, member]));
    const changed: { id: string; tag: string; line: Line | null }[] = [];
    const gone: string[] = [];
    for (const response of answer.multistatus.responses) {
      const id = this.#idOf(response.href);
      const member = id === null ? undefined : wanted.get(id);
      if (member === undefined) continue;
      const card = prop(response, CARDDAV, 'address-data');
      const tag = prop(response, DAV, 'getetag') ?? member.tag;
      if (response.status === 404) gone.push(member.id);
      else if (card !== null) changed.push({ id: member.id, tag, line: await lineOf(card) });
      else continue;
      wanted.delete(member.id);
    }
    if (wanted.size > 0) this.isWhole = false;
    yield { changed, gone };
  }
}

/**
 * The changes of an address book since `cursor`, by its sync token (RFC 6578); where the server has none or refuses it, by its
 * whole list of cards with their tags. Throws `SyncFailure`. Returns the next cursor.
 */
export async function* readCardDav(
  config: SourceConfig,
  { cursor, tags }: SourceCursor,
  { send, signal }: { readonly send: Send; readonly signal: AbortSignal },
): AsyncGenerator<SourcePart, string> {
  const book = new AddressBook(config, send, signal);
  const before = (cursor === null ? {} : JSON.parse(cursor)) as {
    token?: string | null;
    ctag?: string | null;
  };
  // Read before the cards, so that a change meanwhile is read again the next time.
  const { token, ctag } = await book.position();
  const delta = before.token == null ? null : await book.since(before.token);
  if (delta === null && ctag !== null && before.ctag === ctag) return JSON.stringify({ token, ctag });
  const members = delta?.members ?? (await book.all());
  if (members.length > MAX_SOURCE_CUSTOMERS)
    throw new SyncFailure(`the address book has more than ${MAX_SOURCE_CUSTOMERS} cards`);
  yield* book.cards(members.filter(({ id, tag }) => tag === '' || tags.get(id) !== tag));
  const named = new Set(members.map(({ id }) => id));
  // An empty list deletes nothing: a fault of the server is more likely than an empty address book.
  const gone = delta?.gone ?? (named.size === 0 ? [] : [...tags.keys()].filter((id) => !named.has(id)));
  yield { changed: [], gone };
  // No later list of changes names a card that the server did not send; without a cursor the tags of all are compared.
  return JSON.stringify(book.isWhole ? { token: delta?.token ?? token, ctag } : {});
}
