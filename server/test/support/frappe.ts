/** Lists of documents as the REST API of Frappe answers them (frappe/model/db_query.py of version 15). */
import type { AskedOfSystem } from './connector-rig.ts';

/** A document; a list is a child table. */
export type FrappeRow = Readonly<Record<string, unknown>>;
type Filter =
  | readonly [field: string, sign: string, value: string | number]
  | readonly [doctype: string, field: string, sign: string, value: string];

/** Child tables by their DocType. */
const TABLES: Readonly<Record<string, string>> = { 'Contact Phone': 'phone_nos' };
const signs: Readonly<Record<string, (a: string | number, b: string | number) => boolean>> = {
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '=': (a, b) => a === b,
  like: (a, b) => String(a).endsWith(String(b).replace(/^%/, '')),
};
/** `GET /api/resource/<doctype>`: a field of a child table joins its rows, so that a document has a row for each of them. */
export function frappeList(documents: readonly FrappeRow[], { path }: Pick<AskedOfSystem, 'path'>) {
  const query = new URL(path, 'http://frappe').searchParams;
  const fields = JSON.parse(query.get('fields') ?? '["name"]') as string[];
  const filters = JSON.parse(query.get('filters') ?? '[]') as Filter[];
  const [, order = '', direction] =
    /^(?:`tab[\w ]+`\.)?`?(\w+)`? (asc|desc)$/.exec(query.get('order_by') ?? 'modified desc') ?? [];
  const ofChild = filters.filter((filter) => filter.length === 4);
  const table =
    fields.find((field) => field.includes('.'))?.split('.')[0] ?? (ofChild[0] && TABLES[ofChild[0][0]]);
  const joined = documents.flatMap((document): { document: FrappeRow; child: FrappeRow | undefined }[] => {
    const children = table === undefined ? [] : (document[table] as readonly FrappeRow[]);
    return children.length === 0
      ? [{ document, child: undefined }]
      : children.map((child) => ({ document, child }));
  });
  const found = joined
    .filter(({ document, child }) =>
      filters.every((filter) => {
        const [field, sign, value] =
          filter.length === 4 ? ([filter[1], filter[2], filter[3]] as const) : filter;
        const has = (filter.length === 4 ? child : document)?.[field];
        return has !== undefined && signs[sign]!(has as string, value);
      }),
    )
    .toSorted(({ document: a }, { document: b }) => {
      const [one, other] = [a[order] as string, b[order] as string];
      return one === other ? 0 : (one < other ? -1 : 1) * (direction === 'desc' ? -1 : 1);
    });
  const start = Number(query.get('limit_start') ?? 0);
  const data = found
    .slice(start, start + Number(query.get('limit_page_length') ?? 20))
    .map(({ document, child }) =>
      Object.fromEntries(
        fields.map((field) => {
          const [, own] = field.split('.');
          return own === undefined ? [field, document[field]] : [own, child?.[own] ?? null];
        }),
      ),
    );
  return { data };
}
