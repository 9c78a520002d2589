/** Typed requests of the configuration; `path` names a kind of object as its address does, e.g. `ring-groups`. */
import type { z } from 'zod';
import type {
  ConfigChanges,
  ConfigChangesReply,
  ConfigDocument,
  ConfigListQuery,
  ConfigObject,
  ConfigUsesReply,
  ConfigValidate,
  ConfigValidateReply,
  CredentialsReply,
  DraftDiscarded,
  DraftReply,
  ImportQuery,
  NewCredentials,
} from '@offhook/contract/config.ts';
import type {
  AppliesReply,
  ApplyReply,
  DriftReply,
  NewApply,
  PlanReply,
  RestoreVersion,
  VersionObjectReply,
  VersionReply,
  VersionsReply,
} from '@offhook/contract/config-applies.ts';
import type { CONFIG_KINDS, ConfigKind } from '@offhook/contract/config-objects.ts';
import type { RouteTestReply, RouteTestRequest } from '@offhook/contract/config-route-test.ts';
import type { Done } from '@offhook/contract/session.ts';
import { at, queryOf, slowly } from './rest.ts';
import type { Request, RequestOptions } from './rest.ts';

export type ConfigKinds = typeof CONFIG_KINDS;
export type ConfigPath = ConfigKinds[ConfigKind]['path'];
export type KindAt<P extends ConfigPath> = {
  [K in ConfigKind]: ConfigKinds[K]['path'] extends P ? K : never;
}[ConfigKind];
export type ConfigGiven<P extends ConfigPath> = Readonly<z.input<ConfigKinds[KindAt<P>]['schema']>>;
/** What is left out stays, null gives a field its default back. */
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
type Query<T> = { readonly [K in keyof T]?: T[K] | undefined };

type Page = { readonly limit?: number | undefined; readonly cursor?: string | undefined };

export interface ConfigWriteOptions extends RequestOptions {
  /** The `etag` it was read with: refused with `precondition_failed` when it changed meanwhile. */
  readonly if_match?: string | undefined;
}
export interface ConfigPutOptions extends ConfigWriteOptions {
  /** Made where there is none; refused with `precondition_failed` where there is one. */
  readonly create?: boolean | undefined;
}
const held = ({ if_match, ...rest }: ConfigWriteOptions): RequestOptions => ({
  ...rest,
  ...(if_match === undefined ? {} : { headers: { 'if-match': `"${if_match}"` } }),
});

export function createConfigRest(request: Request) {
  const get = <T>(path: string, query: object = {}, signal?: AbortSignal): Promise<T> =>
    request('GET', path + queryOf(query), undefined, { signal });
  const of = (path: ConfigPath): string => at`/api/v1/config/${path}`;
  return {
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
    /** What uses it, and what it uses. */
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
    ): Promise<ConfigChanged<P>> =>
      request(
        'PUT',
        of(path) + at`/${key}`,
        object,
        create ? { ...options, headers: { 'if-none-match': '*' } } : held(options),
      ),
    patch: <P extends ConfigPath>(
      path: P,
      key: string,
      patch: ConfigPatch<P>,
      options: ConfigWriteOptions = {},
    ): Promise<ConfigChanged<P>> => request('PATCH', of(path) + at`/${key}`, patch, held(options)),
    remove: (
      path: ConfigPath,
      key: string,
      options: ConfigWriteOptions = {},
    ): Promise<z.output<typeof Done>> => request('DELETE', of(path) + at`/${key}`, undefined, held(options)),
    /** Passwords that are made up are shown this once. */
    setCredentials: (
      extension: string,
      wanted: NonNullable<z.input<typeof NewCredentials>> = {},
      options?: RequestOptions,
    ): Promise<CredentialsReply> =>
      request('POST', at`/api/v1/config/extensions/${extension}/credentials`, wanted, options),
    draft: (
      query: { readonly limit?: number | undefined; readonly cursor?: string | undefined } = {},
      signal?: AbortSignal,
    ): Promise<DraftReply> => get('/api/v1/config/draft', query, signal),
    /** All changes or none. */
    change: (
      changes: z.input<typeof ConfigChanges>['changes'],
      how: { readonly if_match?: string } = {},
      options?: RequestOptions,
    ): Promise<ConfigChangesReply> =>
      request('POST', '/api/v1/config/draft/changes', { changes, ...how }, slowly(options)),
    discard: (): Promise<z.output<typeof DraftDiscarded>> =>
      request('DELETE', '/api/v1/config/draft', undefined, slowly()),
    discardObject: (kind: ConfigKind, key: string): Promise<z.output<typeof DraftDiscarded>> =>
      request('DELETE', at`/api/v1/config/draft/${kind}/${key}`),
    validate: (
      changes: NonNullable<z.input<typeof ConfigValidate>['changes']> = [],
      options?: RequestOptions,
    ): Promise<ConfigValidateReply> =>
      request('POST', '/api/v1/config/validate', { changes }, slowly(options)),
    /** What applying the draft would change. */
    plan: (signal?: AbortSignal): Promise<z.output<typeof PlanReply>> =>
      get('/api/v1/config/plan', {}, signal),
    /** Begins; how it goes on is told by `applyState` and the event `config.progress`. */
    apply: (
      wanted: z.input<typeof NewApply> = {},
      options?: RequestOptions,
    ): Promise<z.output<typeof ApplyReply>> =>
      request('POST', '/api/v1/config/applies', wanted, slowly(options)),
    applies: (query: Page = {}, signal?: AbortSignal): Promise<z.output<typeof AppliesReply>> =>
      get('/api/v1/config/applies', query, signal),
    applyState: (id: number, signal?: AbortSignal): Promise<z.output<typeof ApplyReply>> =>
      get(at`/api/v1/config/applies/${id}`, {}, signal),
    /** Before files are written; else refused with `apply_over`. */
    cancelApply: (id: number, options?: RequestOptions): Promise<z.output<typeof ApplyReply>> =>
      request('POST', at`/api/v1/config/applies/${id}/cancel`, {}, slowly(options)),
    versions: (query: Page = {}, signal?: AbortSignal): Promise<z.output<typeof VersionsReply>> =>
      get('/api/v1/config/versions', query, signal),
    version: (version: number, signal?: AbortSignal): Promise<z.output<typeof VersionReply>> =>
      get(at`/api/v1/config/versions/${version}`, {}, signal),
    /** An object as it was. */
    versionObject: (
      version: number,
      path: ConfigPath,
      key: string,
      signal?: AbortSignal,
    ): Promise<z.output<typeof VersionObjectReply>> =>
      get(at`/api/v1/config/versions/${version}/${path}/${key}`, {}, signal),
    /** Makes it the draft and applies that. */
    restore: (
      version: number,
      wanted: z.input<typeof RestoreVersion> = {},
      options?: RequestOptions,
    ): Promise<z.output<typeof ApplyReply>> =>
      request('POST', at`/api/v1/config/versions/${version}/restore`, wanted, slowly(options)),
    /** Files of the engine that were changed by hand. */
    drift: (signal?: AbortSignal): Promise<z.output<typeof DriftReply>> =>
      get('/api/v1/config/drift', {}, signal),
    /** Where a call would go, and why. */
    routeTest: (question: RouteTestRequest, options?: RequestOptions): Promise<RouteTestReply> =>
      request('POST', '/api/v1/config/route-test', question, slowly(options)),
    export: (view: 'draft' | 'applied' = 'draft', signal?: AbortSignal): Promise<ConfigDocument> =>
      get('/api/v1/config/export', { view }, signal),
    import: (
      document: ConfigDocument,
      how: z.input<typeof ImportQuery> = {},
      options?: RequestOptions,
    ): Promise<ConfigChangesReply> =>
      request('POST', `/api/v1/config/import${queryOf(how)}`, document, slowly(options)),
  };
}
export interface ConfigRest extends ReturnType<typeof createConfigRest> {}
