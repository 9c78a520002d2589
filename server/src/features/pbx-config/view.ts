/** Reads the configuration, draft or applied, without secrets. */
import type {
  ConfigListQuery,
  ConfigObject,
  ConfigUse,
  DraftReply,
  Pending,
} from '@offhook/contract/config.ts';
import { MAX_NAMED } from '@offhook/contract/config.ts';
import { CONFIG_SECRETS } from '@offhook/contract/config-objects.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { referencesOf } from '@offhook/contract/config-references.ts';
import { rfc3339 } from '../../core/clock.ts';
import { toDifference } from './differences.ts';
import { shownBody } from './document.ts';
import type { Draft } from './draft.ts';
import { notFound } from './edit.ts';
import { byKey, difference, referencesTo } from './model.ts';
import type { Model, ObjectRef, StoredObject } from './model.ts';

type Shown = ConfigObject<ConfigKind>;
const PAGE = 50;

export interface ConfigReader {
  one(ref: ObjectRef, view?: 'draft' | 'applied'): Shown;
  page(
    kind: ConfigKind,
    query: ConfigListQuery,
  ): { total: number; objects: Shown[]; next_cursor: string | null };
  uses(ref: ObjectRef): { used_by: readonly ConfigUse[]; uses: readonly ConfigUse[] };
  /** Differences of the draft, in order of kind and key. */
  draft(query: { limit?: number | undefined; cursor?: string | undefined }): Promise<DraftReply>;
}

/** Text for comparisons without regard to case and width of letters. */
const folded = (text: string): string => text.normalize('NFKC').toLowerCase();
function* textsOf(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'number') yield String(value);
  else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) yield* textsOf(item);
}
const holds = (object: StoredObject, wanted: string): boolean => {
  for (const text of textsOf(shownBody(object))) if (folded(text).includes(wanted)) return true;
  return false;
};

/** Throws `not_found` for a missing object. */
export function createReader(draft: Draft): ConfigReader {
  const { etags, objects } = draft;
  const modelOf = (view: 'draft' | 'applied' = 'draft'): Model =>
    view === 'applied' ? objects.applied() : objects.draft();
  function find({ kind, key }: ObjectRef, view?: 'draft' | 'applied'): StoredObject {
    const object = modelOf(view).of(kind).get(key);
    if (object === undefined) throw notFound({ kind, key });
    return object;
  }
  function pendingOf(
    { kind, key, etag: own }: StoredObject,
    view: 'draft' | 'applied' = 'draft',
  ): Pending | null {
    const other = modelOf(view === 'draft' ? 'applied' : 'draft')
      .of(kind)
      .get(key);
    if (other === undefined) return view === 'draft' ? 'added' : 'removed';
    return other.etag === own ? null : 'changed';
  }
  const shown = (object: StoredObject, view?: 'draft' | 'applied'): Shown =>
    ({
      key: object.key,
      etag: etags.of(object),
      pending: pendingOf(object, view),
      secrets_set: CONFIG_SECRETS[object.kind].filter(
        (name) => typeof (object.body as Record<string, unknown>)[name] === 'string',
      ),
      object: shownBody(object),
    }) as unknown as Shown;

  return {
    one: (ref, view) => shown(find(ref, view), view),
    page(kind, { limit = PAGE, cursor, q, view }) {
      const all: readonly StoredObject[] = [...modelOf(view).of(kind).values()];
      const wanted = q === undefined ? null : folded(q);
      const fits = wanted === null ? all : all.filter((object) => holds(object, wanted));
      const order = byKey(kind);
      const from = cursor === undefined ? 0 : fits.findIndex((o) => order(o.key, cursor) > 0);
      const rows = from < 0 ? [] : fits.slice(from, from + limit);
      const more = from >= 0 && from + limit < fits.length;
      return {
        total: fits.length,
        objects: rows.map((object) => shown(object, view)),
        next_cursor: more ? rows.at(-1)!.key : null,
      };
    },
    uses(ref) {
      const object = find(ref);
      const users = referencesTo(objects.draft(), ({ kind, key }) => kind === ref.kind && key === ref.key);
      return {
        used_by: [...users.take(MAX_NAMED)].map(({ object: { kind, key }, path }) => ({ kind, key, path })),
        uses: referencesOf(object),
      };
    },
    async draft({ limit = PAGE, cursor }) {
      const rows = difference(objects.applied(), objects.draft());
      const from = cursor === undefined ? 0 : Number(cursor);
      const reply = { version: objects.version, etag: draft.etag(), total: rows.length };
      const changed = await objects.changed();
      return {
        success: true,
        ...reply,
        changes: rows.slice(from, from + limit).map((row) => {
          const { author = '', at = 0 } = changed.get(`${row.kind} ${row.key}`) ?? {};
          return { ...toDifference(row), author, at: rfc3339(at) };
        }),
        next_cursor: from + limit < rows.length ? String(from + limit) : null,
      };
    },
  };
}
