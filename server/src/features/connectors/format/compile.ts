import { createEnvironments } from './expressions.ts';
import type { Environments } from './expressions.ts';
import { compileInbox } from './inbox.ts';
import type { CompiledInbox } from './inbox.ts';
import { METHOD_NAMES } from './file.ts';
import type { ConnectorDocument } from './file.ts';
import type { Name } from './names.ts';
import { hostRules, pageOf, partOf } from './page.ts';
import { compileTemplate, compileValue, fill, fillText } from './template.ts';
import type { Filler, Refuse, Template } from './template.ts';

export interface CompiledRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: Template;
  readonly query: readonly (readonly [name: string, value: Filler])[];
  readonly headers: readonly (readonly [name: string, value: Template])[];
  readonly body: Filler | undefined;
  readonly form: Filler | undefined;
  readonly ok: readonly number[];
}
export type CustomerFields = Readonly<
  Partial<Record<keyof NonNullable<ConnectorDocument['customer']>, Filler>>
>;
/** A request that finds rows which are customers. */
export interface CompiledSearch extends CompiledRequest {
  readonly rows: Filler;
  readonly when: Filler | undefined;
  readonly customer: CustomerFields;
}
export interface CompiledPush extends CompiledRequest {
  readonly when: Filler | undefined;
  /** Whether the answer rejects the call. */
  readonly reject: Filler | undefined;
}
export const PUSH_KINDS = ['ringing', 'answered', 'ended', 'transferred'] as const;
export type PushKind = (typeof PUSH_KINDS)[number];
export type CompiledAuth =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic'; readonly user: Template; readonly password: Template }
  | { readonly kind: 'header' | 'query'; readonly name: string; readonly value: Template }
  | {
      readonly kind: 'exchange';
      readonly request: CompiledRequest;
      readonly token: Filler;
      readonly seconds: number;
      readonly header: string;
      readonly value: Template;
    }
  | {
      readonly kind: 'oauth2';
      readonly grant: 'client_credentials' | 'refresh' | 'code';
      readonly token: Template;
      readonly authorize: Template | undefined;
      readonly client_id: Template;
      readonly client_secret: Template | undefined;
      readonly refresh_token: Template | undefined;
      readonly scopes: readonly string[];
      readonly params: readonly (readonly [name: string, value: Template])[];
      readonly send_client: 'basic' | 'body';
    };
/** A checked file with all its texts compiled. */
export interface ConnectorFile {
  readonly document: ConnectorDocument;
  readonly base: Template;
  readonly headers: readonly (readonly [name: string, value: Template])[];
  readonly auth: CompiledAuth;
  readonly fails: Filler | undefined;
  readonly check: CompiledRequest & { readonly holds: Filler | undefined };
  readonly users:
    | (CompiledRequest & {
        readonly rows: Filler;
        readonly when: Filler | undefined;
        readonly id: Filler;
        readonly email: Filler | undefined;
        readonly name: Filler | undefined;
      })
    | undefined;
  readonly lookup:
    | (CompiledSearch & { readonly formats: readonly string[]; readonly compare: number | undefined })
    | undefined;
  readonly lookup_text: CompiledSearch | undefined;
  readonly create:
    | (CompiledRequest & { readonly row: Filler; readonly customer: CustomerFields })
    | undefined;
  readonly entry:
    | {
        readonly when: Filler | undefined;
        readonly create: CompiledRequest & {
          readonly id: Filler | undefined;
          readonly exists: Filler | undefined;
        };
        readonly update: (CompiledRequest & { readonly id: Filler | undefined }) | undefined;
        readonly remove: CompiledRequest | undefined;
        readonly find: (CompiledRequest & { readonly id: Filler }) | undefined;
      }
    | undefined;
  readonly pop: Filler | undefined;
  readonly push: Readonly<Partial<Record<PushKind, CompiledPush>>> | undefined;
  readonly inbox: CompiledInbox | undefined;
  readonly sync:
    | (CompiledSearch & {
        readonly gone: Filler | undefined;
        readonly pages: { readonly first: number; readonly step: number; readonly full: number } | undefined;
        readonly page: Filler | undefined;
        readonly cursor: Filler | undefined;
      })
    | undefined;
}
export type Path = readonly (string | number)[];
type Call = Pick<
  NonNullable<ConnectorDocument['create']>,
  'get' | 'post' | 'put' | 'patch' | 'delete' | 'query' | 'headers' | 'body' | 'form' | 'ok'
>;

/** Scheme and host of an address, and what follows. */
const ADDRESS = /^(https?:\/\/[^/?#]+|\{\{ *set\.[a-z0-9_]+ *\}\})([/?#].*|)$/;

/** Compiles the texts of one document and gathers what is wrong with them. */
export class Compiler {
  readonly #environments: Environments;
  readonly #settings: ConnectorDocument['settings'];
  readonly #found: (path: Path, rule: string, reason: string) => void;
  constructor(
    settings: ConnectorDocument['settings'],
    found: (path: Path, rule: string, reason: string) => void,
  ) {
    this.#environments = createEnvironments(Object.keys(settings));
    this.#settings = settings;
    this.#found = found;
  }
  #refuse(path: Path): Refuse {
    return ({ rule, reason }) => this.#found(path, rule, reason);
  }
  text(path: Path, text: string, names: readonly Name[]): Template {
    return compileTemplate(text, names, this.#environments, this.#refuse(path));
  }
  value(path: Path, value: unknown, names: readonly Name[]): Filler {
    return compileValue(value, names, this.#environments, (below, refusal) =>
      this.#refuse([...path, ...below])(refusal),
    );
  }
  maybe(path: Path, value: unknown, names: readonly Name[]): Filler | undefined {
    return value === undefined ? undefined : this.value(path, value, names);
  }
  /**
   * The address of a page: settings lead to its host, other values are percent-encoded parts of what follows. One expression
   * by itself is an address that the system gives.
   */
  address(path: Path, text: string, names: readonly Name[]): Filler {
    const [, origin, rest] = ADDRESS.exec(text) ?? [];
    if (origin === undefined || rest === undefined) {
      const given = this.text(path, text, names);
      if (given.parts.length !== 1 || typeof given.parts[0] === 'string')
        this.#found(path, 'address', 'begins with https://, http:// or a setting with `url: true`');
      return (scope) => pageOf(fill(given, scope));
    }
    for (const { setting, reason } of hostRules(origin, this.#settings))
      this.#found(setting === null ? path : ['settings', setting], 'base', reason);
    const host = this.text(path, origin, ['set']);
    const below = this.text(path, rest, names);
    return (scope) => {
      try {
        const [base, page] = [fillText(host, scope), fillText(below, scope, partOf)];
        return base === undefined || page === undefined ? undefined : pageOf(base.replace(/\/$/, '') + page);
      } catch {
        // A customer without an id has no page.
        return undefined;
      }
    };
  }
  headers(path: Path, headers: Readonly<Record<string, string>> | undefined, names: readonly Name[]) {
    return Object.entries(headers ?? {}).map(
      ([name, value]) => [name.toLowerCase(), this.text([...path, 'headers', name], value, names)] as const,
    );
  }
  request(path: Path, call: Call, names: readonly Name[]): CompiledRequest {
    const method = METHOD_NAMES.find((name) => call[name] !== undefined) ?? 'get';
    if (call.body !== undefined && call.form !== undefined)
      this.#found([...path, 'form'], 'schema', 'body and form exclude each other');
    if (method === 'get' && (call.body !== undefined || call.form !== undefined))
      this.#found([...path, 'body'], 'schema', 'a get has no body');
    return {
      method: method.toUpperCase() as CompiledRequest['method'],
      path: this.text([...path, method], call[method] ?? '/', names),
      query: Object.entries(call.query ?? {}).map(
        ([name, value]) => [name, this.value([...path, 'query', name], value, names)] as const,
      ),
      headers: this.headers(path, call.headers, names),
      body: this.maybe([...path, 'body'], call.body, names),
      form: this.maybe([...path, 'form'], call.form, names),
      ok: call.ok ?? [],
    };
  }
  customer(path: Path, fields: Readonly<Record<string, unknown>> | undefined): CustomerFields {
    const names = ['set', 'row'] as const;
    const field = (name: string, value: unknown): Filler => {
      if (name === 'url') return this.address([...path, name], String(value), names);
      if (!Array.isArray(value)) return this.value([...path, name], value, names);
      const items = value.map((item, i) => this.value([...path, name, i], item, names));
      return (scope) => items.map((item) => item(scope));
    };
    return Object.fromEntries(
      Object.entries(fields ?? {}).map(([name, value]) => [name, field(name, value)]),
    );
  }
}

function compileAuth(auth: ConnectorDocument['auth'], compiler: Compiler): CompiledAuth {
  const text = (path: Path, value: string, names: readonly Name[] = ['set']) =>
    compiler.text(['auth', ...path], value, names);
  if (auth === undefined) return { kind: 'none' };
  if ('basic' in auth)
    return {
      kind: 'basic',
      user: text(['basic', 'user'], auth.basic.user),
      password: text(['basic', 'password'], auth.basic.password),
    };
  if ('bearer' in auth)
    return { kind: 'header', name: 'authorization', value: text(['bearer'], `Bearer ${auth.bearer}`) };
  if ('oauth2' in auth) {
    const { grant, scopes, send_client, params, ...texts } = auth.oauth2;
    const maybe = (name: 'authorize' | 'client_secret' | 'refresh_token') =>
      texts[name] === undefined ? undefined : text(['oauth2', name], texts[name]);
    return {
      kind: 'oauth2',
      grant,
      scopes,
      send_client,
      token: text(['oauth2', 'token'], texts.token),
      client_id: text(['oauth2', 'client_id'], texts.client_id),
      authorize: maybe('authorize'),
      client_secret: maybe('client_secret'),
      refresh_token: maybe('refresh_token'),
      params: Object.entries(params).map(
        ([name, value]) => [name, text(['oauth2', 'params', name], value)] as const,
      ),
    };
  }
  if ('exchange' in auth) {
    const { exchange, header, value } = auth;
    return {
      kind: 'exchange',
      request: compiler.request(['auth', 'exchange'], exchange, ['set']),
      token: compiler.value(['auth', 'exchange', 'token'], exchange.token, ['set', 'answer']),
      seconds: exchange.seconds,
      header,
      value: text(['value'], value, ['set', 'token']),
    };
  }
  if ('header' in auth)
    return { kind: 'header', name: auth.header.toLowerCase(), value: text(['value'], auth.value) };
  return { kind: 'query', name: auth.query, value: text(['value'], auth.value) };
}

function compilePush(push: ConnectorDocument['push'], compiler: Compiler): ConnectorFile['push'] {
  if (push === undefined) return undefined;
  const names = ['set', 'call', 'person'] as const;
  const whole: Partial<Record<PushKind, CompiledPush>> = {};
  for (const kind of PUSH_KINDS) {
    const own = push[kind];
    if (own === undefined) continue;
    const path = ['push', kind];
    const { ringing: _r, answered: _a, ended: _e, transferred: _t, ...common } = push;
    const call = { ...common, ...own };
    if (common.body !== undefined || own.body !== undefined) call.body = { ...common.body, ...own.body };
    if (common.form !== undefined || own.form !== undefined) call.form = { ...common.form, ...own.form };
    whole[kind] = {
      ...compiler.request(path, call, names),
      when: compiler.maybe([...path, 'when'], own.when, names),
      reject: compiler.maybe([...path, 'reply', 'reject'], 'reply' in own ? own.reply?.reject : undefined, [
        'set',
        'answer',
      ]),
    };
  }
  return whole;
}

function compileEntry(entry: ConnectorDocument['entry'], compiler: Compiler): ConnectorFile['entry'] {
  if (entry === undefined) return undefined;
  const names = ['set', 'call', 'customer', 'user', 'person'] as const;
  const known = [...names, 'entry'] as const;
  const { create, update, remove, find } = entry;
  const answered = [...names, 'answer'] as const;
  return {
    when: compiler.maybe(['entry', 'when'], entry.when, names),
    create: {
      ...compiler.request(['entry', 'create'], create, names),
      id: compiler.maybe(['entry', 'create', 'id'], create.id, answered),
      exists: compiler.maybe(['entry', 'create', 'exists'], create.exists, answered),
    },
    update: update && {
      ...compiler.request(['entry', 'update'], update, known),
      id: compiler.maybe(['entry', 'update', 'id'], update.id, [...known, 'answer']),
    },
    remove: remove && compiler.request(['entry', 'remove'], remove, known),
    find: find && {
      ...compiler.request(['entry', 'find'], find, names),
      id: compiler.value(['entry', 'find', 'id'], find.id, answered),
    },
  };
}

/** Compiles all texts of a document. */
export function compileDocument(document: ConnectorDocument, compiler: Compiler): ConnectorFile {
  const { users, lookup, create, sync } = document;
  const shared = compiler.customer(['customer'], document.customer);
  const search = (
    path: Path,
    found: {
      readonly rows: string;
      readonly when?: string | undefined;
      readonly customer?: Readonly<Record<string, unknown>> | undefined;
    } & Call,
    names: readonly Name[],
  ): CompiledSearch => ({
    ...compiler.request(path, found, names),
    rows: compiler.value([...path, 'rows'], found.rows, [...names, 'answer']),
    when: compiler.maybe([...path, 'when'], found.when, [...names, 'row']),
    customer: { ...shared, ...compiler.customer([...path, 'customer'], found.customer) },
  });
  const byNumber = lookup?.number;
  return {
    document,
    base: compiler.text(['base'], document.base, ['set']),
    headers: compiler.headers([], document.headers, ['set']),
    auth: compileAuth(document.auth, compiler),
    fails: compiler.maybe(['fails'], document.fails, ['set', 'answer']),
    check: {
      ...compiler.request(['check'], document.check, ['set']),
      holds: compiler.maybe(['check', 'holds'], document.check.holds, ['set', 'answer']),
    },
    users: users && {
      ...compiler.request(['users'], users, ['set']),
      rows: compiler.value(['users', 'rows'], users.rows, ['set', 'answer']),
      when: compiler.maybe(['users', 'when'], users.when, ['set', 'row']),
      id: compiler.value(['users', 'id'], users.id, ['set', 'row']),
      email: compiler.maybe(['users', 'email'], users.email, ['set', 'row']),
      name: compiler.maybe(['users', 'name'], users.name, ['set', 'row']),
    },
    lookup: byNumber && {
      ...search(['lookup', 'number'], byNumber, ['set', 'number']),
      formats: byNumber.formats,
      compare: byNumber.compare,
    },
    lookup_text: lookup?.text && search(['lookup', 'text'], lookup.text, ['set', 'text']),
    create: create && {
      ...compiler.request(['create'], create, ['set', 'new', 'user']),
      row: compiler.value(['create', 'row'], create.row, ['set', 'new', 'user', 'answer']),
      customer: { ...shared, ...compiler.customer(['create', 'customer'], create.customer) },
    },
    entry: compileEntry(document.entry, compiler),
    push: compilePush(document.push, compiler),
    pop:
      document.pop === undefined
        ? undefined
        : compiler.address(['pop'], document.pop, ['set', 'customer', 'call']),
    inbox: compileInbox(document.inbox, shared, compiler),
    sync: sync && {
      ...search(['sync'], sync, ['set', 'cursor', 'page']),
      pages: sync.pages,
      gone: compiler.maybe(['sync', 'gone'], sync.gone, ['set', 'row']),
      page: compiler.maybe(['sync', 'page'], sync.page, ['set', 'page', 'answer']),
      cursor: compiler.maybe(['sync', 'cursor'], sync.cursor, ['set', 'row']),
    },
  };
}
