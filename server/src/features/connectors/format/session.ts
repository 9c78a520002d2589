import { setImmediate as letOthersRun } from 'node:timers/promises';
import { machineZone } from '../../../core/zone.ts';
import type { Send } from '../../../outbound/json.ts';
import type { Clock } from '../../../ports/clock.ts';
import { ConnectorAttachments } from './attachments.ts';
import { createAuth } from './auth.ts';
import { OAuth } from './oauth.ts';
import type { Connect, TokenStore } from './oauth.ts';
import { customerOf, joinTo } from './customers.ts';
import type { ConnectorCustomer } from './customers.ts';
import type { CompiledList, CompiledSearch, ConnectorFile, PushKind } from './compile.ts';
import { ConnectorEntries, MAX_ID, done, failureOf, isDone, scopeOf, text, userScope } from './entries.ts';
import type { CallView, ConnectorUser, EntrySubject } from './entries.ts';
import { readInbox } from './inbox.ts';
import type { InboxMessage, InboxRead } from './inbox.ts';
import type { Scope } from './names.ts';
import { endsAlike, writeNumbers } from './number-formats.ts';
import { Requester, failure } from './requests.ts';
import type { ConnectorResult, TracedExchange } from './requests.ts';
import { Secrets, readSettings } from './settings.ts';
import { fillText } from './template.ts';
import { SystemZone } from './zone.ts';

export type { AttachSubject, ConnectorAttachments } from './attachments.ts';
export type {
  CallView,
  ConnectorEntries,
  ConnectorUser,
  EntryDone,
  EntrySubject,
  PersonView,
} from './entries.ts';

/** Limits of rows read from one answer: of a search, and of a sync or a list of users. */
const MAX_FOUND = 50;
const MAX_ROWS = 5_000;
/** Limit of pages of a list of users, because a faulty system may return pages without end. */
const MAX_USER_PAGES = 200;
/** Limit of a list of users, which is kept in memory. */
const MAX_USERS = 50_000;
/** Number of rows read before other work of the service runs. */
const ROWS_AT_ONCE = 250;

export interface PushReply {
  readonly reject: boolean;
  /** Id that the system gave the call; null if the file reads none. */
  readonly id: string | null;
}
export interface SyncPage {
  readonly customers: readonly ConnectorCustomer[];
  /** Ids of customers that are gone. */
  readonly gone: readonly string[];
  /** Argument of `sync` for the next page; null after the last. */
  readonly page: unknown;
  /** Greatest cursor of the page; null if no row has one. Store it only after the last page. */
  readonly cursor: string | null;
}
export interface ConnectorDeps {
  /** Sends through the address guard: `Transport.send`. */
  readonly send: Send;
  readonly clock: Clock;
  /** Stores the refresh token of a file with `auth.oauth2`; without it, the token is kept in memory. */
  readonly tokens?: TokenStore;
  /** Receives each request with its answer, without secrets. */
  readonly trace?: (exchange: TracedExchange) => void;
  /** Receives the reason of each expression that gave no value. */
  readonly missed?: (reason: string) => void;
  /** Time zone of the site, for a system that does not name its own; without it, that of the machine. */
  readonly siteZone?: string | undefined;
  /** Receives what an administrator should correct in the system. */
  readonly warn?: (words: string) => void;
}

const COUNT = /^\d+(?:\.\d+)?$/;
/** The later of two cursors, compared as numbers if both are numbers, else as texts. */
export function laterCursor(a: string | null, b: string): string {
  if (a === null) return b;
  const difference = COUNT.test(a) && COUNT.test(b) ? Number(a) - Number(b) : 0;
  return (difference === 0 ? a > b : difference > 0) ? a : b;
}
const pageScope = (
  { pages }: Pick<CompiledList, 'pages'>,
  page: unknown,
): Pick<Scope, 'page' | 'first_page'> => ({ page: page ?? pages?.first, first_page: page === null });
/** Null for a text that is too long. */
const idOf = (value: unknown): string | null => {
  const id = text(value);
  return id !== null && id.length > MAX_ID ? null : id;
};
const rowsOf = (value: unknown, most: number): readonly unknown[] =>
  Array.isArray(value) ? value.slice(0, most) : [];

/** Yields to other work between portions of rows, because each missing field of a row costs 10 microseconds. */
async function* inTurns(rows: readonly unknown[]): AsyncGenerator<unknown, void, void> {
  for (const [at, row] of rows.entries()) {
    if (at % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await letOthersRun();
    yield row;
  }
}

/** Opens a connector; throws if a setting is missing or invalid, or the base is no address. */
export function openConnector(
  file: ConnectorFile,
  given: Readonly<Record<string, string>>,
  deps: ConnectorDeps,
): ConnectorSession {
  const { values, findings } = readSettings(file.document, given);
  const [wrong] = findings;
  if (wrong) throw new Error(`setting ${wrong.setting}: ${wrong.reason}`);
  const secrets = new Secrets();
  for (const [name, { secret }] of Object.entries(file.document.settings))
    if (secret) secrets.add(values[name]!);
  const missed = deps.missed && ((reason: string) => deps.missed!(secrets.hide(reason)));
  const scope: Scope = { set: values, ...(missed && { missed }) };
  const base = fillText(file.base, scope);
  if (base === undefined || !URL.canParse(base)) throw new Error('the base is not an address');
  const { send, clock, trace } = deps;
  const parts = { base, scope, send, clock, secrets, trace: trace ?? (() => undefined) };
  const auth =
    file.auth.kind === 'oauth2' ? new OAuth(file.auth, parts, deps.tokens) : createAuth(file.auth, parts);
  const requester = new Requester({ file, base, send, auth, secrets, trace: trace ?? null });
  const connect =
    file.auth.kind === 'oauth2' && file.auth.grant === 'code' && auth instanceof OAuth ? auth : null;
  const zone = file.zone
    ? new SystemZone(file.zone, {
        scope,
        requester,
        clock,
        siteZone: deps.siteZone ?? machineZone(),
        warn: deps.warn ?? (() => undefined),
      })
    : null;
  return new ConnectorSession(file, { scope, requester, connect, zone });
}

/** One connected system with its settings. Verbs never throw; a verb that the file lacks is null. */
export class ConnectorSession {
  readonly #file: ConnectorFile;
  readonly #scope: Scope;
  readonly #requester: Requester;
  readonly lookup:
    | ((e164: string, signal: AbortSignal) => Promise<ConnectorResult<readonly ConnectorCustomer[]>>)
    | null;
  readonly lookupText:
    | ((text: string, signal: AbortSignal) => Promise<ConnectorResult<readonly ConnectorCustomer[]>>)
    | null;
  readonly createCustomer:
    | ((
        wanted: { readonly name: string; readonly e164: string; readonly user?: ConnectorUser | undefined },
        signal: AbortSignal,
      ) => Promise<ConnectorResult<ConnectorCustomer>>)
    | null;
  readonly users: ((signal: AbortSignal) => Promise<ConnectorResult<readonly ConnectorUser[]>>) | null;
  readonly entry: ConnectorEntries | null;
  /** Null if the file attaches no recordings to its entries. */
  readonly attachments: ConnectorAttachments | null;
  readonly inbox: ((message: InboxMessage) => InboxRead) | null;
  readonly sync:
    | ((
        after: { readonly cursor: string | null; readonly page: unknown },
        signal: AbortSignal,
      ) => Promise<ConnectorResult<SyncPage>>)
    | null;
  /** Null unless a person grants access in a browser (`grant: code`). */
  readonly connect: Connect | null;
  /** Event at which the system is asked to show a call to a person; null if the file has no such request. */
  readonly pops: 'ringing' | 'answered' | null;
  constructor(
    file: ConnectorFile,
    {
      scope,
      requester,
      connect,
      zone,
    }: { scope: Scope; requester: Requester; connect: Connect | null; zone: SystemZone | null },
  ) {
    this.connect = connect;
    this.#file = file;
    this.#scope = scope;
    this.#requester = requester;
    const { lookup, lookup_text, create, users, sync, inbox } = file;
    this.pops = file.server_pop?.at ?? null;
    this.inbox = inbox ? (message) => readInbox(inbox, message, scope) : null;
    this.lookup = lookup ? (e164, signal) => this.#lookup(lookup, e164, signal) : null;
    this.lookupText = lookup_text
      ? async (words, signal) => this.#search('lookup.text', lookup_text, { ...scope, text: words }, signal)
      : null;
    this.createCustomer = create
      ? ({ name, e164, user }, signal) =>
          this.#create(create, { ...scope, new: { name, e164 }, ...userScope(user) }, signal)
      : null;
    this.users = users ? (signal) => this.#users(users, signal) : null;
    this.entry = file.entry
      ? new ConnectorEntries(file.entry, file.document.entry!, scope, requester, zone)
      : null;
    const [attach, written] = [file.entry?.attach, file.document.entry?.attach];
    this.attachments = attach && written ? new ConnectorAttachments(attach, written, scope, requester) : null;
    this.sync = sync ? (after, signal) => this.#sync(sync, after, signal) : null;
  }

  /** Resolves when no sign-in is in progress, because its answer may hold the next refresh token. */
  idle(): Promise<void> {
    return this.#requester.idle();
  }
  async check(signal: AbortSignal): Promise<ConnectorResult<null>> {
    const { check } = this.#file;
    const answered = await this.#requester.ask('check', check, this.#scope, signal, true);
    if (!isDone(answered)) return failureOf(answered);
    const holds = check.holds?.({ ...this.#scope, answer: answered.value }) ?? check.holds === undefined;
    return holds === true
      ? done(null)
      : failure('refused', 'the answer does not match the check; verify the address');
  }
  async #lookup(
    lookup: NonNullable<ConnectorFile['lookup']>,
    e164: string,
    signal: AbortSignal,
  ): Promise<ConnectorResult<readonly ConnectorCustomer[]>> {
    for (const { number } of writeNumbers(e164, lookup.formats)) {
      const found = await this.#search('lookup.number', lookup, { ...this.#scope, number }, signal);
      if (found.kind !== 'done') return found;
      const { compare } = lookup;
      const alike =
        compare === undefined
          ? found.value
          : found.value.filter(({ numbers }) => numbers.some((one) => endsAlike(one, e164, compare)));
      if (alike.length > 0) return done(alike);
    }
    return done([]);
  }
  async #search(
    verb: string,
    search: CompiledSearch,
    scope: Scope,
    signal: AbortSignal,
  ): Promise<ConnectorResult<readonly ConnectorCustomer[]>> {
    const answered = await this.#requester.ask(verb, search, scope, signal, true);
    if (!isDone(answered)) return failureOf(answered);
    const rows = rowsOf(search.rows({ ...scope, answer: answered.value }), MAX_FOUND);
    return done(await this.#customers(search, rows, scope));
  }
  async #customers(
    search: CompiledSearch,
    rows: readonly unknown[],
    scope: Scope,
    { isChange = false }: { readonly isChange?: boolean } = {},
  ): Promise<ConnectorCustomer[]> {
    const byId = new Map<string, ConnectorCustomer>();
    for await (const row of inTurns(rows)) {
      if (search.when && search.when({ ...scope, row }) !== true) continue;
      const customer = customerOf(search.customer, row, scope);
      if (customer === null) continue;
      // In changes, the later row replaces.
      if (isChange) byId.set(customer.id, customer);
      else joinTo(byId, customer);
    }
    return [...byId.values()];
  }
  async #create(
    create: NonNullable<ConnectorFile['create']>,
    scope: Scope,
    signal: AbortSignal,
  ): Promise<ConnectorResult<ConnectorCustomer>> {
    const answered = await this.#requester.ask('create', create, scope, signal, false);
    if (!isDone(answered)) return failureOf(answered);
    const row = create.row({ ...scope, answer: answered.value });
    const { name = '', e164 = '' } = scope.new ?? {};
    // Fields that the answer omits have the values that were sent.
    const fields = { name: () => name, numbers: () => [e164] };
    const customer =
      customerOf(create.customer, row, scope) ?? customerOf({ ...create.customer, ...fields }, row, scope);
    if (customer === null) return failure('unknown', 'the answer holds no id of the new customer');
    return done(customer.numbers.length > 0 ? customer : { ...customer, numbers: [e164] });
  }
  async #users(
    users: NonNullable<ConnectorFile['users']>,
    signal: AbortSignal,
  ): Promise<ConnectorResult<readonly ConnectorUser[]>> {
    const listed: ConnectorUser[] = [];
    let page: unknown = null;
    for (let pages = 0; pages < MAX_USER_PAGES; pages += 1) {
      const read = await this.#page('users', users, { ...this.#scope, ...pageScope(users, page) }, signal);
      if (read.kind !== 'done') return read;
      const { next } = read.value;
      // A system that knows no pages returns its list again.
      if (next !== null && JSON.stringify(next) === JSON.stringify(page)) return done(listed);
      for await (const row of inTurns(read.value.rows)) {
        const of = { ...this.#scope, row };
        const id = idOf(users.id(of));
        if (id === null || (users.when && users.when(of) !== true)) continue;
        listed.push({ id, email: idOf(users.email?.(of)), name: idOf(users.name?.(of)) });
      }
      if (listed.length > MAX_USERS)
        return failure('refused', `a list of users has more than ${MAX_USERS} users`);
      if (next === null) return done(listed);
      page = next;
    }
    return failure('refused', `a list of users has more than ${MAX_USER_PAGES} pages`);
  }
  /** Rows of one page, and the value with which the next page is requested; null after the last. */
  async #page(
    verb: string,
    list: CompiledList,
    scope: Scope,
    signal: AbortSignal,
  ): Promise<ConnectorResult<{ readonly rows: readonly unknown[]; readonly next: unknown }>> {
    const answered = await this.#requester.ask(verb, list, scope, signal, true);
    if (!isDone(answered)) return failureOf(answered);
    const of = { ...scope, answer: answered.value };
    const listed = list.rows(of);
    // As an empty page it would end the list, and the phonebook would lose the customers on the pages from here on.
    if (scope.first_page !== true && listed !== null && !Array.isArray(listed))
      return failure('refused', 'the answer to a page after the first has no list of rows');
    const rows = rowsOf(listed, MAX_ROWS + 1);
    if (rows.length > MAX_ROWS) return failure('refused', `a page has more than ${MAX_ROWS} rows`);
    const { page, pages } = list;
    if (pages === undefined) return done({ rows, next: page?.(of) ?? null });
    return done({ rows, next: rows.length < pages.full ? null : Number(scope.page) + pages.step });
  }
  /** Address that a live call of the customer opens; null if the file has no `pop`, undefined if it has no value. */
  pop(call: CallView, customer: ConnectorCustomer): string | null | undefined {
    const { pop } = this.#file;
    return pop ? (pop(scopeOf(this.#scope, { call, customer })) as string | undefined) : null;
  }
  /** Sends a message about a live call; null if the file pushes nothing for this kind or call. */
  async push(
    kind: PushKind,
    subject: EntrySubject,
    signal: AbortSignal,
  ): Promise<ConnectorResult<PushReply> | null> {
    const push = this.#file.push?.[kind];
    const scope = scopeOf(this.#scope, subject);
    if (push === undefined || (push.when && push.when(scope) !== true)) return null;
    const answered = await this.#requester.ask(`push.${kind}`, push, scope, signal, false);
    if (!isDone(answered)) return failureOf(answered);
    const seen = { ...this.#scope, answer: answered.value };
    return done({ reject: push.reject?.(seen) === true, id: idOf(push.id?.(seen)) });
  }
  /** Shows or hides a call; null if the file has no such request. */
  async show(
    kind: 'show' | 'hide',
    subject: EntrySubject,
    signal: AbortSignal,
  ): Promise<ConnectorResult<null> | null> {
    const request = this.#file.server_pop?.[kind];
    if (request === undefined) return null;
    if (this.#file.push?.ringing?.id !== undefined && subject.pushed === undefined)
      return failure('refused', 'the system has no id of this call');
    const scope = scopeOf(this.#scope, subject);
    // Repeatable: a second request for the same call changes nothing.
    const answered = await this.#requester.ask(`pop.${kind}`, request, scope, signal, true);
    return isDone(answered) ? done(null) : failureOf(answered);
  }
  async #sync(
    sync: NonNullable<ConnectorFile['sync']>,
    after: { readonly cursor: string | null; readonly page: unknown },
    signal: AbortSignal,
  ): Promise<ConnectorResult<SyncPage>> {
    const scope: Scope = {
      ...this.#scope,
      ...(after.cursor !== null && { cursor: after.cursor }),
      ...pageScope(sync, after.page),
      first_sync: after.cursor === null,
    };
    const read = await this.#page('sync', sync, scope, signal);
    if (read.kind !== 'done') return read;
    const { rows, next } = read.value;
    const kept: unknown[] = [];
    const gone = new Set<string>();
    let cursor: string | null = null;
    for await (const row of inTurns(rows)) {
      const of = { ...scope, row };
      const at = text(sync.cursor?.(of));
      if (at !== null) cursor = laterCursor(cursor, at);
      const isGone = sync.gone?.(of) === true;
      if (!isGone) kept.push(row);
      const id = sync.gone === undefined ? null : text(sync.customer.id?.(of));
      // The caller deletes after it has stored the page, so a customer that came back is not deleted.
      if (id !== null && isGone) gone.add(id);
      else if (id !== null) gone.delete(id);
    }
    return done({
      customers: await this.#customers(sync, kept, scope, { isChange: sync.cursor !== undefined }),
      gone: [...gone],
      page: next,
      cursor,
    });
  }
}
