import { createEnvironments } from './expressions.ts';
import type { Environments } from './expressions.ts';
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
  /** Field of a multipart form that holds the audio of a recording. */
  readonly file: string | undefined;
  readonly ok: readonly number[];
}
export type CustomerFields = Readonly<
  Partial<Record<keyof NonNullable<ConnectorDocument['customer']>, Filler>>
>;
/** A request whose answer is one page of a list. */
export interface CompiledList extends CompiledRequest {
  readonly rows: Filler;
  /** Value with which the next page is requested, in the answer. */
  readonly page: Filler | undefined;
  readonly pages: { readonly first: number; readonly step: number; readonly full: number } | undefined;
}
/** A request whose answer contains rows of customers. */
export interface CompiledSearch extends CompiledRequest {
  readonly rows: Filler;
  readonly when: Filler | undefined;
  readonly customer: CustomerFields;
}
export interface CompiledPush extends CompiledRequest {
  readonly when: Filler | undefined;
  /** Whether the answer rejects the call. */
  readonly reject: Filler | undefined;
  /** Id of the call in the answer. */
  readonly id: Filler | undefined;
}
export interface CompiledPop {
  readonly at: 'ringing' | 'answered';
  readonly show: CompiledRequest;
  readonly hide: CompiledRequest | undefined;
}
export interface CompiledAttach extends CompiledRequest {
  readonly when: Filler | undefined;
  readonly id: Filler | undefined;
  readonly find: (CompiledRequest & { readonly id: Filler }) | undefined;
  readonly remove: CompiledRequest | undefined;
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
      readonly send_client: 'basic' | 'body' | 'query';
      readonly send_token: { readonly query: string } | undefined;
    };
/** A checked file with all its texts compiled. */
export interface ConnectorFile {
  readonly document: ConnectorDocument;
  readonly base: Template;
  readonly headers: readonly (readonly [name: string, value: Template])[];
  readonly auth: CompiledAuth;
  readonly fails: Filler | undefined;
  /** Asks for the time zone of the system. */
  readonly zone: (CompiledRequest & { readonly name: Filler }) | undefined;
  readonly check: CompiledRequest & { readonly holds: Filler | undefined };
  readonly users:
    | (CompiledList & {
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
        readonly attach: CompiledAttach | undefined;
      }
    | undefined;
  /** Address of a page. */
  readonly pop: Filler | undefined;
  /** Requests that make the system show a call. */
  readonly server_pop: CompiledPop | undefined;
  readonly push: Readonly<Partial<Record<PushKind, CompiledPush>>> | undefined;
  readonly inbox: CompiledInbox | undefined;
  readonly sync:
    | (CompiledSearch &
        CompiledList & {
          readonly gone: Filler | undefined;
          readonly cursor: Filler | undefined;
        })
    | undefined;
}
export type Path = readonly (string | number)[];
export type Call = Pick<
  NonNullable<ConnectorDocument['create']>,
  'get' | 'post' | 'put' | 'patch' | 'delete' | 'query' | 'headers' | 'body' | 'form' | 'ok'
> & { readonly file?: string | undefined };

/** Origin of an address, or one setting instead of it, and the rest of the address. */
const ADDRESS = /^(https?:\/\/[^/?#]+|\{\{ *set\.[a-z0-9_]+ *\}\})([/?#].*|)$/;

/** Compiles the texts of one document and reports their faults to `found`. */
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
   * Address of a page. Only settings may determine its host; other values are percent-encoded in the rest. A single
   * expression is a complete address from an answer of the system.
   */
  address(path: Path, text: string, names: readonly Name[]): Filler {
    const [, origin, rest] = ADDRESS.exec(text) ?? [];
    if (origin === undefined || rest === undefined) {
      const given = this.text(path, text, names);
      if (given.parts.length !== 1 || typeof given.parts[0] === 'string')
        this.#found(path, 'address', 'must begin with https://, http:// or a setting with `url: true`');
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
      file: call.file,
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
    if (fields?.['number'] !== undefined && fields['numbers'] !== undefined)
      this.#found([...path, 'number'], 'schema', 'number and numbers exclude each other');
    return Object.fromEntries(
      Object.entries(fields ?? {}).map(([name, value]) => [name, field(name, value)]),
    );
  }
  /** Fields of `shared`, replaced by these. */
  ownCustomer(
    shared: CustomerFields,
    path: Path,
    fields: Readonly<Record<string, unknown>> | undefined,
  ): CustomerFields {
    const own = this.customer(path, fields);
    const { number, numbers, ...rest } = shared;
    const inherited =
      (own.number ?? own.numbers) ? {} : { ...(number && { number }), ...(numbers && { numbers }) };
    return { ...rest, ...inherited, ...own };
  }
  /** Refuses `cursor` and `gone` if each row is one number of a customer: changes would not name deleted numbers. */
  wholeRows(path: Path, fields: CustomerFields, sync: { readonly [name: string]: unknown }): void {
    for (const name of ['cursor', 'gone'])
      if (fields.number !== undefined && sync[name] !== undefined)
        this.#found(
          [...path, name],
          'rows',
          `rows that are single numbers of customers (\`number\`) are listed whole: leave ${name} out, or list customers with all of their \`numbers\``,
        );
  }
}
