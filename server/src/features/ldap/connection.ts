/** One connection of a desk phone: handles one request at a time and sends replies as fast as the phone reads them. */
import type { Socket } from 'node:net';
import { BerError, messageLength } from './ber.ts';
import type { LdapEntry } from './entries.ts';
import {
  OP,
  RESULT,
  disconnection,
  entryMessage,
  hasReply,
  readBind,
  readRequest,
  readSearch,
  resultMessage,
} from './messages.ts';
import type { Request, Result, Search } from './messages.ts';
import { entriesOf, exists, isRootDse } from './search.ts';
import type { LdapSource } from './search.ts';

/** Limit of a request in bytes; a phone sends a few hundred. */
const MOST_BYTES = 16_384;
/** Limits of entries: of a search without pages, and of one page. */
const MOST_ENTRIES = 2_000;
const MOST_PER_PAGE = 500;
const MOST_MS = 10_000;

export type Access = 'granted' | 'wrong' | 'too_many';
export interface ConnectionOptions {
  readonly socket: Socket;
  readonly source: LdapSource;
  /** True if the connection may carry a password: it has TLS, or comes from a network that needs no TLS. */
  readonly safe: boolean;
  /** Checks the token of a phone, or an API key for the phonebook. */
  readonly admit: (token: string) => Promise<Access>;
  readonly now: () => number;
  readonly onBound: () => void;
  readonly failed: (error: unknown) => void;
}
interface Pages {
  readonly cookie: string;
  readonly entries: AsyncGenerator<LdapEntry | null>;
  /** First entry of the next page, already read from `entries`. */
  readonly ahead: LdapEntry;
  /** Number of entries on the pages before. */
  readonly before: number;
}

export class LdapConnection {
  readonly #options: ConnectionOptions;
  #waiting = Buffer.alloc(0);
  #busy = false;
  #token: string | null = null;
  #pages: Pages | null = null;
  #cookies = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { socket } = options;
    socket.on('data', (chunk: Buffer) => {
      this.#waiting = Buffer.concat([this.#waiting, chunk]);
      void this.#work();
    });
  }
  async #work(): Promise<void> {
    if (this.#busy) return;
    const { socket, failed } = this.#options;
    this.#busy = true;
    socket.pause();
    try {
      for (;;) {
        const length = messageLength(this.#waiting, MOST_BYTES);
        if (length === null || this.#waiting.length < length || socket.destroyed) break;
        const bytes = this.#waiting.subarray(0, length);
        this.#waiting = this.#waiting.subarray(length);
        await this.#handle(readRequest(bytes));
      }
      socket.resume();
    } catch (error) {
      if (!(error instanceof BerError)) failed(error);
      if (!socket.destroyed)
        socket.write(disconnection(error instanceof BerError ? error.message : 'a fault'));
      socket.destroySoon();
    } finally {
      this.#busy = false;
    }
  }
  async #handle(request: Request): Promise<void> {
    const { socket } = this.#options;
    const { op, id } = request;
    if (op === OP.unbind) return socket.destroySoon();
    // There is nothing to abandon: a search ends before the next request is read.
    if (op === OP.abandon) return;
    if (!hasReply(op)) throw new BerError('not an LDAP request');
    await this.#send(resultMessage(id, op, await this.#answer(request)));
  }
  async #answer(request: Request): Promise<Result> {
    if (request.refused !== null)
      return {
        code: RESULT.unavailableCriticalExtension,
        words: `no control ${request.refused.slice(0, 100)}`,
      };
    if (request.op === OP.bind) return await this.#bind(request);
    if (request.op === OP.search) return await this.#search(request);
    if (request.op === OP.extended)
      return { code: RESULT.protocolError, words: 'no such extended operation' };
    return { code: RESULT.unwillingToPerform, words: 'the directory is only read' };
  }
  async #bind({ body }: Request): Promise<Result> {
    const { admit, safe, onBound } = this.#options;
    this.#token = null;
    this.#pages = null;
    const { version, name, password } = readBind(body);
    if (version !== 3) return { code: RESULT.protocolError, words: 'only version 3' };
    if (password === null) return { code: RESULT.authMethodNotSupported, words: 'only a password' };
    if (password === '')
      return name === ''
        ? { code: RESULT.inappropriateAuthentication, words: 'sign in with the token of the phone' }
        : { code: RESULT.unwillingToPerform, words: 'a name needs its password' };
    if (!safe) return { code: RESULT.confidentialityRequired, words: 'use LDAPS' };
    const access = await admit(password);
    if (access === 'too_many') return { code: RESULT.busy, words: 'too many wrong passwords' };
    if (access === 'wrong') return { code: RESULT.invalidCredentials };
    this.#token = password;
    onBound();
    return { code: RESULT.success };
  }
  async #search(request: Request): Promise<Result> {
    const { admit, source } = this.#options;
    const search = readSearch(request.body);
    if (!isRootDse(search)) {
      if (this.#token === null)
        return { code: RESULT.insufficientAccess, words: 'sign in with the token of the phone' };
      // Check again: the phone may have been deleted or the API key revoked since the bind.
      if ((await admit(this.#token)) !== 'granted') return { code: RESULT.insufficientAccess };
    }
    if (search.scope > 3) throw new BerError('not a scope');
    if (!exists(search.base)) return { code: RESULT.noSuchObject };
    const { paged } = request;
    const first = { entries: entriesOf(source, search), ahead: null, before: 0 };
    if (paged === null || paged.cookie === '') {
      // RFC 2696, 3: a search whose entries fit into one page has none, so the server ignores the control.
      const fits = search.sizeLimit > 0 && search.sizeLimit <= Math.min(paged?.size ?? 0, MOST_ENTRIES);
      return await this.#list(fits ? { ...request, paged: null } : request, search, first);
    }
    const pages = this.#pages;
    this.#pages = null;
    if (pages === null || pages.cookie !== paged.cookie)
      return { code: RESULT.unwillingToPerform, words: 'the pages before this one are forgotten' };
    if (paged.size === 0) return { code: RESULT.success, cookie: '' };
    return await this.#list(request, search, pages);
  }
  async #list(
    { id, paged }: Request,
    search: Search,
    { entries, ahead, before }: Omit<Pages, 'cookie' | 'ahead'> & { readonly ahead: LdapEntry | null },
  ): Promise<Result> {
    const { now, socket } = this.#options;
    // The client limits its whole search (RFC 4511, 4.5.1.4), the service each answer.
    const left = search.sizeLimit === 0 ? Infinity : Math.max(search.sizeLimit - before, 0);
    const most = Math.min(
      left,
      paged === null ? MOST_ENTRIES : Math.min(Math.max(paged.size, 1), MOST_PER_PAGE),
    );
    const until = now() + Math.min(search.timeLimit === 0 ? MOST_MS : search.timeLimit * 1_000, MOST_MS);
    let sent = 0;
    for (let entry = ahead; ; entry = null) {
      if (entry === null) {
        const { done, value } = await entries.next();
        if (done === true) return { code: RESULT.success, ...(paged !== null && { cookie: '' }) };
        entry = value;
      }
      if (socket.destroyed) return { code: RESULT.unavailable };
      if (entry !== null && sent === most) {
        if (paged === null) return { code: RESULT.sizeLimitExceeded };
        if (sent === left) return { code: RESULT.sizeLimitExceeded, cookie: '' };
        const cookie = String(++this.#cookies);
        this.#pages = { cookie, entries, ahead: entry, before: before + sent };
        return { code: RESULT.success, cookie };
      }
      if (now() > until) return { code: RESULT.timeLimitExceeded };
      if (entry === null) continue;
      await this.#send(entryMessage(id, entry.dn, chosen(entry, search)));
      sent += 1;
    }
  }
  async #send(bytes: Buffer): Promise<void> {
    const { socket } = this.#options;
    if (socket.destroyed || socket.write(bytes)) return;
    await new Promise<void>((done) => {
      const go = (): void => {
        socket.off('drain', go).off('close', go);
        done();
      };
      socket.on('drain', go).on('close', go);
    });
  }
}
function* chosen({ attributes }: LdapEntry, search: Search): Generator<readonly [string, readonly string[]]> {
  const all = search.attributes.length === 0 || search.attributes.includes('*');
  for (const [name, values] of attributes)
    if (all || search.attributes.includes(name.toLowerCase())) yield [name, search.typesOnly ? [] : values];
}
