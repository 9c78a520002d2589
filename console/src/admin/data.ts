/** Queries of the configuration pages, all below one key of the query cache, so that a change reloads all of them. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { CONFIG_KINDS, KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import type { ConfigObject } from '@offhook/contract/config.ts';
import type { Client } from '@offhook/client';
import { useClient } from '../app/session.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { freeNumber } from './free-number.ts';
import { LAYOUTS } from './layout.ts';
import type { Fields } from './schema.ts';

export type AnyObject = Omit<ConfigObject<ConfigKind>, 'object'> & { readonly object: Fields };
export const PAGE = 200;
export const pathOf = (kind: ConfigKind) => CONFIG_KINDS[kind].path;
export const kindAt = (path: string): ConfigKind | null =>
  KINDS.find((kind) => CONFIG_KINDS[kind].path === path) ?? null;
export const isKind = (word: string): word is ConfigKind => Object.hasOwn(CONFIG_KINDS, word);
export const listHref = (kind: ConfigKind): string => `${PAGE_PATHS.config}/${pathOf(kind)}`;
export const objectHref = (kind: ConfigKind, key: string): string =>
  `${listHref(kind)}/${encodeURIComponent(key)}`;
/** Address of an object whose kind is only known by name. */
export const nameHref = (kind: string, key: string): string | null =>
  isKind(kind) && key !== '' ? objectHref(kind, key) : null;
/** Text of a field; empty for other values. */
export const textOf = (object: Fields, name: string): string => {
  const value = object[name];
  return typeof value === 'string' ? value : '';
};
export const titleOf = (kind: ConfigKind, object: Fields): string => textOf(object, LAYOUTS[kind].title);

export const listPage = async (
  client: Client,
  kind: ConfigKind,
  query: { q?: string | undefined; limit?: number; cursor?: string | undefined },
  signal?: AbortSignal,
): Promise<{ total: number; objects: readonly AnyObject[]; next_cursor: string | null }> => {
  const page = await client.config.list(pathOf(kind), query, signal);
  return page as unknown as { total: number; objects: AnyObject[]; next_cursor: string | null };
};
/** Number of objects of a kind in the draft, as `total`. */
export const countQuery = (client: Client, kind: ConfigKind) => ({
  queryKey: ['config', 'count', kind],
  queryFn: ({ signal }: { signal: AbortSignal }) => listPage(client, kind, { limit: 1 }, signal),
});
export const objectQuery = (client: Client, kind: ConfigKind, key: string) => ({
  queryKey: ['config', 'object', kind, key],
  queryFn: async ({ signal }: { signal: AbortSignal }): Promise<AnyObject> =>
    (await client.config.get(pathOf(kind), key, 'draft', signal)) as unknown as AnyObject,
});
/** Kinds with a number in the same numbering plan as the extensions. */
const NUMBERED: readonly ConfigKind[] = [
  'queue',
  'ring_group',
  'menu',
  'time_condition',
  'conference',
  'parking_lot',
  'service',
];
const MOST_PAGES = 10;

async function allOf(client: Client, kind: ConfigKind, signal: AbortSignal): Promise<readonly AnyObject[]> {
  const found: AnyObject[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const { objects, next_cursor } = await listPage(client, kind, { limit: PAGE, cursor }, signal);
    found.push(...objects);
    if (next_cursor === null) break;
    cursor = next_cursor;
  }
  return found;
}
export const freeNumberQuery = (client: Client) => ({
  queryKey: ['config', 'free'],
  queryFn: async ({ signal }: { signal: AbortSignal }): Promise<string | null> => {
    const [extensions, ...others] = await Promise.all(
      (['extension', ...NUMBERED] as const).map((kind) => allOf(client, kind, signal)),
    );
    const taken = new Set<string>();
    for (const { key, object } of others.flat()) {
      taken.add(textOf(object, 'number') || key);
      // The slots of a parking lot are dialled, too.
      for (let slot = Number(object['first_slot']); slot <= Number(object['last_slot']); slot += 1)
        taken.add(String(slot));
    }
    return freeNumber(
      (extensions ?? []).map(({ key }) => key),
      taken,
    );
  },
  // Free numbers change with every created object.
  gcTime: 0,
});
/** Choices for a reference; the service searches, so that ten thousand are as quick as ten. */
export function useChoices(kind: ConfigKind, q: string, enabled: boolean) {
  const client = useClient();
  return useQuery({
    queryKey: ['config', 'choices', kind, q],
    queryFn: ({ signal }) =>
      listPage(client, kind, { limit: 50, ...(q === '' ? {} : { q: q.slice(0, 64) }) }, signal),
    enabled,
    placeholderData: (before) => before,
  });
}
/** Title of an object; empty while it is unknown, and without one. */
export function useTitle(kind: ConfigKind, key: string): string {
  const client = useClient();
  const all = useQuery({
    queryKey: ['config', 'titles', kind],
    queryFn: ({ signal }) => listPage(client, kind, { limit: PAGE }, signal),
    enabled: key !== '',
    staleTime: 60_000,
  });
  const found = all.data?.objects.find((o) => o.key === key);
  const one = useQuery({
    ...objectQuery(client, kind, key),
    enabled: key !== '' && all.data !== undefined && found === undefined && all.data.next_cursor !== null,
    staleTime: 60_000,
  });
  const object = found ?? one.data;
  return object === undefined ? '' : titleOf(kind, object.object);
}
export function useDraftState() {
  const client = useClient();
  return useQuery({
    queryKey: ['config', 'draft'],
    queryFn: ({ signal }) => client.config.draft({ limit: PAGE }, signal),
    refetchOnWindowFocus: 'always',
  });
}
/** Invalidates all queries of the configuration after a change of the draft. */
export function useRenewed(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ['config'] });
}
