/** Typed requests for everything under /api/v1, grouped by subject and derived from the operations of the contract. */
import type { z } from 'zod';
import type {
  ConfigChanges,
  ConfigDocument,
  ConfigListQuery,
  ConfigObject,
  ConfigUsesReply,
  ConfigValidate,
  ImportQuery,
} from '@offhook/contract/config.ts';
import type { CONFIG_KINDS, ConfigKind } from '@offhook/contract/config-objects.ts';
import type { FileBody, Method, Operation } from '@offhook/contract/operation.ts';
import type { Groups } from '@offhook/contract/operations/groups.ts';
import type { Done } from '@offhook/contract/session.ts';
import { ROUTES } from './routes.ts';

export type { Method };
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** For 24 hours a repeat with the same key is not run again and gets the first result. */
  readonly idempotency_key?: string | undefined;
  /** For changes that may take long: `timeout_ms` of the client is their limit. */
  readonly slow?: boolean | undefined;
  /** Sent in addition to those of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
export interface WriteOptions extends RequestOptions {
  /** The `etag` or `version` that was read: rejected with `precondition_failed` when the object has changed since. */
  readonly if_match?: string | number | undefined;
}
export type Request = <T>(
  method: Method,
  path: string,
  body?: object,
  options?: RequestOptions,
) => Promise<T>;

/** An absent field is not sent; numbers and texts are sent unchanged. */
type Query<T> = { readonly [K in keyof T]?: T[K] | ('true' extends T[K] ? boolean : never) | undefined };
type Body<S> = Readonly<NonNullable<S extends z.ZodType ? z.input<S> : never>>;
type PathArgs<P extends string> = P extends `${string}/:${infer Rest}`
  ? [id: string | number, ...PathArgs<Rest>]
  : [];
type BodyArgs<O> = O extends { readonly body: infer S }
  ? object extends Body<S>
    ? [body?: Body<S>]
    : [body: Body<S>]
  : [];
type QueryArgs<O> = O extends { readonly query: infer S extends z.ZodType }
  ? [query?: Query<z.output<S>>]
  : [];
type LastArgs<O> = O extends { readonly method: 'GET' }
  ? [signal?: AbortSignal]
  : O extends { readonly etag: 'match' | 'replace' }
    ? [options?: WriteOptions]
    : [options?: RequestOptions];
type ArgsOf<O> = O extends { readonly path: infer P extends string }
  ? [...PathArgs<P>, ...BodyArgs<O>, ...QueryArgs<O>, ...LastArgs<O>]
  : never;
/** The method of an operation: path parameters in order, then the body, the query, and a signal or options. */
type MethodOf<O> = O extends { readonly reply: infer S extends z.ZodType }
  ? (...args: ArgsOf<O>) => Promise<z.output<S>>
  : never;
type HasMethod<O> = O extends { readonly file: true } | { readonly takes: FileBody }
  ? false
  : O extends { readonly path: `/api/v1/${string}` }
    ? true
    : false;
type MethodNames<A> = { [K in keyof A]: HasMethod<A[K]> extends true ? K : never }[keyof A];
type MethodsOf<A> = { readonly [K in MethodNames<A>]: MethodOf<A[K]> };
type RoutesOf<A> = { readonly [K in MethodNames<A>]: A[K] extends Operation ? string : never };
const routes: { readonly [G in keyof Groups]: RoutesOf<Groups[G]> } = ROUTES;

export const queryOf = (fields: object): string => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
};
/** A path with its parts encoded: an id may contain any character. */
const at = (strings: TemplateStringsArray, ...parts: readonly (string | number)[]): string =>
  String.raw({ raw: strings }, ...parts.map((part) => encodeURIComponent(part)));
const slowly = (options?: RequestOptions): RequestOptions => ({ slow: true, ...options });
const held = ({ if_match, ...rest }: WriteOptions): RequestOptions => ({
  ...rest,
  ...(if_match === undefined ? {} : { headers: { 'if-match': `"${if_match}"`, ...rest.headers } }),
});

function methodOf(request: Request, route: string): (...args: unknown[]) => Promise<unknown> {
  const [method, path, ...takes] = route.split(' ') as [Method, string, ...string[]];
  return (...args) => {
    const rest = [...args];
    const address = path.replaceAll(/:\w+/g, () => encodeURIComponent(String(rest.shift())));
    const body = takes.includes('body') ? ((rest.shift() ?? {}) as object) : undefined;
    const query = takes.includes('query') ? queryOf((rest.shift() ?? {}) as object) : '';
    if (method === 'GET')
      return request('GET', address + query, undefined, { signal: rest[0] as AbortSignal | undefined });
    const options = rest[0] === undefined ? undefined : held(rest[0] as WriteOptions);
    return request(method, address + query, body, takes.includes('slow') ? slowly(options) : options);
  };
}
function groupOf<G extends keyof Groups>(request: Request, group: G): MethodsOf<Groups[G]> {
  const methods = Object.entries<string>(routes[group]).map(([name, route]) => [
    name,
    methodOf(request, route),
  ]);
  return Object.fromEntries(methods) as MethodsOf<Groups[G]>;
}

export function createRest(request: Request) {
  const session = groupOf(request, 'session');
  const agents = groupOf(request, 'agents');
  const queues = groupOf(request, 'queues');
  const figures = groupOf(request, 'wallboard');
  const conversations = groupOf(request, 'conversations');
  const webhooks = groupOf(request, 'webhooks');
  return {
    session: {
      ...session,
      changePassword: (current_password: string, new_password: string) =>
        session.changePassword({ current_password, new_password }),
      beginOtp: (current_password?: string) =>
        session.beginOtp(current_password === undefined ? {} : { current_password }),
      confirmOtp: (otp: string) => session.confirmOtp({ otp }),
      /** Answers `confirmation_required`; `otp` if the second factor is on. */
      confirm: (password: string, otp?: string) =>
        session.confirm({ password, ...(otp === undefined ? {} : { otp }) }),
      disableOtp: (current_password: string, otp: string) => session.disableOtp({ current_password, otp }),
    },
    features: groupOf(request, 'features'),
    agents: {
      ...agents,
      list: (signal?: AbortSignal) => agents.list({}, signal),
      /** The agent of the extension; an empty list for a person who is not an agent. */
      find: (extension: string, signal?: AbortSignal) => agents.list({ extension }, signal),
    },
    queues: {
      ...queues,
      stats: figures.stats,
      setServiceLevel: figures.setServiceLevel,
      setPriority: (name: string, caller: string, priority: number, options?: RequestOptions) =>
        queues.setPriority(name, caller, { priority }, options),
      addMember: (name: string, extension: string, options?: RequestOptions) =>
        queues.addMember(name, { extension }, options),
    },
    calls: groupOf(request, 'calls'),
    conversations: {
      ...conversations,
      addNote: (id: string, text: string, options?: RequestOptions) =>
        conversations.addNote(id, { text }, options),
    },
    /** Outside numbers to be called back. */
    callbacks: groupOf(request, 'callbacks'),
    /** Rules that block or allow callers. */
    callerRules: groupOf(request, 'callerRules'),
    /** `client.audio` downloads their audio. */
    recordings: groupOf(request, 'recordings'),
    /** Prompts and music on hold; `uploadSound` and `soundFile` of the client transfer their bytes. */
    sounds: groupOf(request, 'sounds'),
    wallboard: figures.figures,
    webhooks: {
      ...webhooks,
      /** Sends the events from one seq to another again, both included. */
      replay: (id: number, from: number, to: number, options?: RequestOptions) =>
        webhooks.replay(id, { from, to }, options),
    },
    connectors: groupOf(request, 'connectors'),
    apiKeys: groupOf(request, 'apiKeys'),
    /** Files of conversations, created in the background; `client.exportFile` downloads one. */
    exports: groupOf(request, 'exports'),
    presence: groupOf(request, 'presence'),
    privacy: {
      ...groupOf(request, 'privacy'),
      /** The file itself, parsed. */
      file: (id: number, signal?: AbortSignal): Promise<{ items: { kind: string; value: unknown }[] }> =>
        request('GET', at`/api/v1/privacy/exports/${id}/file`, undefined, { signal }),
    },
    audit: groupOf(request, 'audit').list,
    blockedNetworks: groupOf(request, 'blockedNetworks'),
    nodes: groupOf(request, 'nodes'),
    phones: groupOf(request, 'phones'),
    nightSwitches: groupOf(request, 'nightSwitches'),
    boards: groupOf(request, 'boards'),
    push: groupOf(request, 'push'),
    config: createConfigRest(request),
    people: groupOf(request, 'people'),
    /** Customers, shared and personal; `importCustomers` of the client imports a file of them. */
    phonebook: groupOf(request, 'phonebook'),
    /** Address books on other servers that the phonebook follows. */
    phonebookSources: groupOf(request, 'phonebookSources'),
    /** For administrators: whether phones and browsers reach the engine, each way tried by a call. */
    pathCheck: groupOf(request, 'pathCheck'),
    /** For supervisors: current state of the trunks. */
    trunks: groupOf(request, 'trunks').list,
    consoleSettings: groupOf(request, 'consoleSettings'),
  };
}
export type Rest = ReturnType<typeof createRest>;

export type ConfigKinds = typeof CONFIG_KINDS;
/** Path segment of a kind of object, e.g. `ring-groups`. */
export type ConfigPath = ConfigKinds[ConfigKind]['path'];
export type KindAt<P extends ConfigPath> = {
  [K in ConfigKind]: ConfigKinds[K]['path'] extends P ? K : never;
}[ConfigKind];
export type ConfigGiven<P extends ConfigPath> = Readonly<z.input<ConfigKinds[KindAt<P>]['schema']>>;
/** Absent fields stay unchanged, null restores the default. */
export type ConfigPatch<P extends ConfigPath> = {
  readonly [F in keyof ConfigGiven<P>]?: ConfigGiven<P>[F] | null;
};
export type ConfigOne<P extends ConfigPath> = ConfigObject<KindAt<P>> & { readonly success: true };
export type ConfigChanged<P extends ConfigPath> = ConfigOne<P> & {
  readonly secrets: Readonly<Record<string, string>>;
};
export interface ConfigPage<P extends ConfigPath> {
  readonly success: true;
  readonly total: number;
  readonly objects: readonly ConfigObject<KindAt<P>>[];
  readonly next_cursor: string | null;
}
export interface ConfigPutOptions extends WriteOptions {
  /** Creates a new object; rejected with `precondition_failed` if it exists. */
  readonly create?: boolean | undefined;
}

/** Objects of every kind have the same operations, so each is one function for all kinds. */
function createConfigRest(request: Request) {
  const config = groupOf(request, 'config');
  const get = <T>(path: string, query: object = {}, signal?: AbortSignal): Promise<T> =>
    request('GET', path + queryOf(query), undefined, { signal });
  const of = (path: ConfigPath): string => at`/api/v1/config/${path}`;
  return {
    ...config,
    list: <P extends ConfigPath>(
      path: P,
      query: Query<ConfigListQuery> = {},
      signal?: AbortSignal,
    ): Promise<ConfigPage<P>> => get(of(path), query, signal),
    get: <P extends ConfigPath>(
      path: P,
      key: string,
      view: 'draft' | 'applied' = 'draft',
      signal?: AbortSignal,
    ): Promise<ConfigOne<P>> => get(of(path) + at`/${key}`, { view }, signal),
    /** Objects that reference it, and objects it references. */
    uses: (path: ConfigPath, key: string, signal?: AbortSignal): Promise<ConfigUsesReply> =>
      get(of(path) + at`/${key}/uses`, {}, signal),
    create: <P extends ConfigPath>(
      path: P,
      object: ConfigGiven<P>,
      options?: RequestOptions,
    ): Promise<ConfigChanged<P>> => request('POST', of(path), object, options),
    put: <P extends ConfigPath>(
      path: P,
      key: string,
      object: ConfigGiven<P>,
      { create = false, ...options }: ConfigPutOptions = {},
    ): Promise<ConfigChanged<P>> => {
      const how = create ? { ...options, headers: { 'if-none-match': '*' } } : held(options);
      return request('PUT', of(path) + at`/${key}`, object, how);
    },
    patch: <P extends ConfigPath>(
      path: P,
      key: string,
      patch: ConfigPatch<P>,
      options: WriteOptions = {},
    ): Promise<ConfigChanged<P>> => request('PATCH', of(path) + at`/${key}`, patch, held(options)),
    remove: (path: ConfigPath, key: string, options: WriteOptions = {}): Promise<z.output<typeof Done>> =>
      request('DELETE', of(path) + at`/${key}`, undefined, held(options)),
    /** Applies all changes or none. */
    change: (
      changes: z.input<typeof ConfigChanges>['changes'],
      how: { readonly if_match?: string } = {},
      options?: RequestOptions,
    ) => config.change({ changes, ...how }, options),
    validate: (
      changes: NonNullable<z.input<typeof ConfigValidate>['changes']> = [],
      options?: RequestOptions,
    ) => config.validate({ changes }, options),
    export: (view: 'draft' | 'applied' = 'draft', signal?: AbortSignal): Promise<ConfigDocument> =>
      config.export({ view }, signal) as Promise<ConfigDocument>,
    import: (document: ConfigDocument, how: z.input<typeof ImportQuery> = {}, options?: RequestOptions) =>
      config.import(document, how, options),
  };
}
