/** Findings of the comparison of call records and journal: each is stored, counted and published once. */
import type { Kysely } from 'kysely';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import type { Store } from '../../../ports/store.ts';
import type { Tables } from '../store/tables.ts';

type Gap = Omit<EventData<'history.gap'>, 'finding_id'>;
type Difference = Omit<EventData<'history.difference'>, 'finding_id'>;
type Data<T extends 'queue.caller_settled' | 'history.settled'> = Omit<EventData<T>, 'finding_id'>;
export type Finding =
  | { readonly kind: 'visit'; readonly at: number; readonly data: Data<'queue.caller_settled'> }
  | { readonly kind: 'settled'; readonly at: number; readonly data: Data<'history.settled'> }
  | { readonly kind: 'gap'; readonly at: number; readonly data: Gap }
  | { readonly kind: 'difference'; readonly at: number; readonly data: Difference };

export const DAY_MS = 86_400_000;
const PAGE = 500;

/** Stores a finding; a repeated one changes nothing. */
export async function keepFinding(db: Kysely<Tables>, finding: Finding): Promise<void> {
  const { kind, at, data } = finding;
  const key = keyOf(finding);
  await db
    .insertInto('history_findings')
    .values({ kind, key, at_ms: at, data: JSON.stringify(data), published: 0 })
    .onConflict((c) => c.column('key').doNothing())
    .execute();
}
function keyOf({ kind, data }: Finding): string {
  switch (kind) {
    case 'gap':
    case 'settled':
      return [kind, data.from, data.to, ...(data.node === undefined ? [] : [data.node])].join(' ');
    case 'difference':
      return `${data.kind} ${data.conversation_id}`;
    case 'visit':
      return `visit ${data.queue} ${data.leg_id} ${data.joined_at}`;
  }
}
/** Id of the finding that an event publishes; null for none. */
export const findingOf = ({ data }: DomainEvent): number | null =>
  (data as { readonly finding_id?: number }).finding_id ?? null;
export const tellsFinding = (type: string): boolean =>
  type.startsWith('history.') || type === ('queue.caller_settled' satisfies DomainEvent['type']);
/** Marks findings whose event is in the journal. */
export async function foundInJournal(store: Store, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await store
    .db<Tables>()
    .updateTable('history_findings')
    .set({ published: 1 })
    .where('id', 'in', ids)
    .execute();
}
/** Deletes published findings from before a time; later ones could result again from the journal. */
export async function forgetFindings(store: Store, before: number): Promise<void> {
  await store
    .db<Tables>()
    .deleteFrom('history_findings')
    .where('published', '=', 1)
    .where('at_ms', '<', before)
    .execute();
}
/** Findings without an event in the journal, oldest first. */
export async function unpublished(store: Store): Promise<readonly DomainEvent[]> {
  const rows = await store
    .db<Tables>()
    .selectFrom('history_findings')
    .selectAll()
    .where('published', '=', 0)
    .orderBy('id')
    .limit(PAGE)
    .execute();
  return rows.map(({ id, kind, at_ms, data: text }) => {
    const data = { finding_id: Number(id), ...(JSON.parse(text) as object) };
    const [type, subject] =
      kind === 'visit'
        ? ['queue.caller_settled', `queues/${(data as unknown as { queue: string }).queue}`]
        : [`history.${kind}`, `history/${id}`];
    return { type, subject, at: Number(at_ms), observed: 'live', data } as DomainEvent;
  });
}
export interface FindingFigures {
  readonly gaps: number;
  readonly differences: number;
  /** The newest gap of the last day. */
  readonly newest_gap: Gap | null;
}
/** Figures of the last day. */
export async function figuresOf(store: Store, now: number): Promise<FindingFigures> {
  const rows = await store
    .db<Tables>()
    .selectFrom('history_findings')
    .select(['kind', (e) => e.fn.countAll<number>().as('count')])
    .where('at_ms', '>=', now - DAY_MS)
    .groupBy('kind')
    .execute();
  const count = (kind: Finding['kind']): number => Number(rows.find((r) => r.kind === kind)?.count ?? 0);
  const newest = await store
    .db<Tables>()
    .selectFrom('history_findings')
    .select('data')
    .where('kind', '=', 'gap')
    .where('at_ms', '>=', now - DAY_MS)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return {
    gaps: count('gap'),
    differences: count('difference'),
    newest_gap: newest === undefined ? null : (JSON.parse(newest.data) as Gap),
  };
}
