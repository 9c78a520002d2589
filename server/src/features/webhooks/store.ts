import type { Generated, Kysely, Selectable, Transaction } from 'kysely';
import type { DeliveryState, DisabledReason } from '@offhook/contract/webhooks.ts';
import { createTable } from '../../core/schema.ts';
import type { JournalRow } from '../../ports/journal-store.ts';
import type { Migration, Store } from '../../ports/store.ts';

interface Tables {
  webhooks: {
    id: Generated<number>;
    url: string;
    /** JSON arrays. */
    topics: string;
    types: string | null;
    description: string;
    enabled: number;
    disabled_reason: DisabledReason | null;
    disabled_at: number | null;
    created_at: number;
    created_by: string;
    /** Id of a person; negative: of an API key. */
    owner: number;
    secret: string;
    previous_secret: string | null;
    previous_until: number | null;
    /** Progress as JSON, written in groups. */
    progress: string;
  };
  webhook_deliveries: {
    webhook_id: number;
    /** Unique within the webhook, ascending. */
    number: number;
    state: DeliveryState;
    seq: number;
    to_seq: number;
    event_id: string | null;
    type: string | null;
    replay: number;
    attempts: number;
    status: number | null;
    error: string | null;
    latency_ms: number | null;
    excerpt: string;
    first_at: number;
    last_at: number;
    next_at: number | null;
    /** For a parked delivery: the journal's row as JSON, because the journal may delete it before a replay. */
    row: string | null;
  };
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-webhooks',
    async up(db) {
      await createTable(db.schema)`webhooks (
        id integer primary key autoincrement, url text not null, topics text not null, types text,
        description text not null, enabled integer not null, disabled_reason text, disabled_at integer,
        created_at integer not null, created_by text not null, owner integer not null, secret text not null,
        previous_secret text, previous_until integer, progress text not null)`;
      await createTable(db.schema)`webhook_deliveries (
        webhook_id integer not null, number integer not null, state text not null, seq integer not null,
        to_seq integer not null, event_id text, type text, replay integer not null, attempts integer not null,
        status integer, error text, latency_ms integer, excerpt text not null, first_at integer not null,
        last_at integer not null, next_at integer, row text,
        constraint webhook_deliveries_key primary key (webhook_id, number))`;
    },
  },
];

/** Settings of a webhook; replaced as a whole. Times in milliseconds since 1970. */
export interface Settings {
  readonly url: string;
  readonly topics: readonly string[];
  readonly types: readonly string[] | null;
  readonly description: string;
  readonly enabled: boolean;
  readonly disabled_reason: DisabledReason | null;
  readonly disabled_at: number | null;
  readonly created_at: number;
  readonly created_by: string;
  readonly owner: number;
  readonly secret: string;
  readonly previous_secret: string | null;
  readonly previous_until: number | null;
}
/** Delivery position in the journal: events up to `at` are done; `head` failed and is retried before later events. */
export interface Line {
  at: number;
  head: Failed | null;
}
interface Failed {
  seq: number;
  number: number;
  attempts: number;
  first_at: number;
  next_at: number;
  /** Planned time from the failure to `next_at`. Progress that 0.1.0 stored lacks it. */
  wait_ms?: number;
}
/** Progress of the deliveries of one webhook. */
export interface Progress {
  /** Epoch of the journal that the seqs belong to. */
  epoch: string;
  live: Line;
  /** A replay of the events `from` to `to`; live events wait until it has ended. */
  replay: (Line & { from: number; to: number }) | null;
  /** Time of the first failure since the last successful delivery. */
  failing_since: number | null;
}
export interface WebhookRow {
  readonly id: number;
  readonly settings: Settings;
  readonly progress: Progress;
  /** Number of the newest row of the delivery log. */
  readonly last_number: number;
}
/** A row of the delivery log. */
export type DeliveryRow = Omit<Tables['webhook_deliveries'], 'webhook_id'>;
/** A delivery with a part of an event or of an answer. */
export type KeptDelivery = Pick<Tables['webhook_deliveries'], 'webhook_id' | 'number' | 'row' | 'excerpt'>;
/** Changes of one webhook, written together with those of others. */
export interface Group {
  readonly id: number;
  /** Null if they did not change. */
  readonly settings: Settings | null;
  /** `Progress` as JSON, taken together with the lines. */
  readonly progress: string;
  readonly lines: readonly DeliveryRow[];
}
export type InTransaction = (trx: Transaction<unknown>) => Promise<void>;

/** Rows of the delivery log kept per webhook, besides as many parked ones. */
export const KEPT_LINES = 1_000;
const KEPT_MS = 7 * 86_400_000;
const PARKED_MS = 30 * 86_400_000;

const settingsColumns = (s: Settings) => ({
  url: s.url,
  topics: JSON.stringify(s.topics),
  types: s.types === null ? null : JSON.stringify(s.types),
  description: s.description,
  enabled: Number(s.enabled),
  disabled_reason: s.disabled_reason,
  disabled_at: s.disabled_at,
  created_at: s.created_at,
  created_by: s.created_by,
  owner: s.owner,
  secret: s.secret,
  previous_secret: s.previous_secret,
  previous_until: s.previous_until,
});
const settingsOf = (row: Selectable<Tables['webhooks']>): Settings => ({
  url: row.url,
  topics: JSON.parse(row.topics) as string[],
  types: row.types === null ? null : (JSON.parse(row.types) as string[]),
  description: row.description,
  enabled: row.enabled === 1,
  disabled_reason: row.disabled_reason,
  disabled_at: row.disabled_at,
  created_at: row.created_at,
  created_by: row.created_by,
  owner: row.owner,
  secret: row.secret,
  previous_secret: row.previous_secret,
  previous_until: row.previous_until,
});

/** Writes the progress and log rows of one webhook and deletes its rows beyond `KEPT_LINES`. */
async function saveGroup(trx: Transaction<Tables>, { id, settings, progress, lines }: Group): Promise<void> {
  await trx
    .updateTable('webhooks')
    .set({
      ...(settings === null ? {} : settingsColumns(settings)),
      progress,
    })
    .where('id', '=', id)
    .execute();
  for (const line of lines) {
    await trx
      .insertInto('webhook_deliveries')
      .values({ ...line, webhook_id: id })
      .onConflict((c) => c.columns(['webhook_id', 'number']).doUpdateSet(line))
      .execute();
  }
  const newest = lines.at(-1)?.number;
  if (newest === undefined) return;
  await trx
    .deleteFrom('webhook_deliveries')
    .where('webhook_id', '=', id)
    .where('number', '<=', newest - KEPT_LINES)
    .where('state', '!=', 'parked')
    .execute();
  if (!lines.some((line) => line.state === 'parked')) return;
  const parked = trx
    .selectFrom('webhook_deliveries')
    .select('number')
    .where('webhook_id', '=', id)
    .where('state', '=', 'parked')
    .orderBy('number', 'desc')
    .offset(KEPT_LINES)
    .limit(Number.MAX_SAFE_INTEGER);
  await trx
    .deleteFrom('webhook_deliveries')
    .where('webhook_id', '=', id)
    .where('number', 'in', parked)
    .execute();
}

/** What an erasure searches. */
const keptIn = (db: Kysely<Tables>) => ({
  /** Deliveries after `after` that have an event or the start of an answer, in the order of their keys. */
  keptAfter(after: KeptDelivery | null, limit: number): Promise<KeptDelivery[]> {
    const { webhook_id, number } = after ?? { webhook_id: 0, number: 0 };
    return db
      .selectFrom('webhook_deliveries')
      .select(['webhook_id', 'number', 'row', 'excerpt'])
      .where((e) => e.or([e('row', 'is not', null), e('excerpt', '!=', '')]))
      .where((e) => e(e.refTuple('webhook_id', 'number'), '>', e.tuple(e.val(webhook_id), e.val(number))))
      .orderBy('webhook_id')
      .orderBy('number')
      .limit(limit)
      .execute();
  },
  /** Deletes the event and the answer of a delivery, but not its line. */
  async empty({ webhook_id, number }: KeptDelivery): Promise<void> {
    await db
      .updateTable('webhook_deliveries')
      .set({ row: null, excerpt: '' })
      .where('webhook_id', '=', webhook_id)
      .where('number', '=', number)
      .execute();
  },
});

export type WebhookStore = Awaited<ReturnType<typeof createWebhookStore>>;
/** Every method throws `store_unavailable` if the database rejects it. `also` runs in the transaction of the change. */
export async function createWebhookStore(store: Store) {
  await store.migrate('webhooks', migrations);
  const db = store.db<Tables>();
  const change = <R>(work: (trx: Transaction<Tables>) => Promise<R>): Promise<R> =>
    store.transaction<Tables, R>(work);
  const untyped = (trx: Transaction<Tables>): Transaction<unknown> => trx as unknown as Transaction<unknown>;
  return {
    async all(): Promise<WebhookRow[]> {
      const rows = await db.selectFrom('webhooks').selectAll().orderBy('id').execute();
      const newest = await db
        .selectFrom('webhook_deliveries')
        .select((e) => ['webhook_id', e.fn.max('number').as('number')])
        .groupBy('webhook_id')
        .execute();
      const numbers = new Map(newest.map((row) => [row.webhook_id, row.number]));
      return rows.map((row) => ({
        id: row.id,
        settings: settingsOf(row),
        progress: JSON.parse(row.progress) as Progress,
        last_number: numbers.get(row.id) ?? 0,
      }));
    },
    add(settings: Settings, progress: Progress, also: (id: number) => InTransaction): Promise<number> {
      return change(async (trx) => {
        const { id } = await trx
          .insertInto('webhooks')
          .values({ ...settingsColumns(settings), progress: JSON.stringify(progress) })
          .returning('id')
          .executeTakeFirstOrThrow();
        await also(id)(untyped(trx));
        return id;
      });
    },
    remove(id: number, also: InTransaction): Promise<void> {
      return change(async (trx) => {
        await trx.deleteFrom('webhooks').where('id', '=', id).execute();
        await trx.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute();
        await also(untyped(trx));
      });
    },
    /** Writes several webhooks in one commit. */
    save(groups: readonly Group[], also: InTransaction): Promise<void> {
      return change(async (trx) => {
        for (const group of groups) await saveGroup(trx, group);
        await also(untyped(trx));
      });
    },
    /** Newest first, `limit` at most, older than `before`. */
    lines(
      id: number,
      options: { limit: number; before: number | null; state: DeliveryState | null },
    ): Promise<DeliveryRow[]> {
      let query = db
        .selectFrom('webhook_deliveries')
        .selectAll()
        .where('webhook_id', '=', id)
        .orderBy('number', 'desc')
        .limit(options.limit);
      if (options.before !== null) query = query.where('number', '<', options.before);
      if (options.state !== null) query = query.where('state', '=', options.state);
      return query.execute();
    },
    /** The oldest parked event of this journal after `after` and up to `to`. */
    async parked(id: number, epoch: string, after: number, to: number): Promise<JournalRow | null> {
      const found = await db
        .selectFrom('webhook_deliveries')
        .select('row')
        .where('webhook_id', '=', id)
        .where('state', '=', 'parked')
        // An erasure has emptied the others.
        .where('row', 'is not', null)
        // Only ids that start with `epoch:`; the same seq of another epoch is another event.
        .where('event_id', '>=', `${epoch}:`)
        .where('event_id', '<', `${epoch};`)
        .where('seq', '>', after)
        .where('seq', '<=', to)
        .orderBy('seq')
        .limit(1)
        .executeTakeFirst();
      return found?.row == null ? null : (JSON.parse(found.row) as JournalRow);
    },
    ...keptIn(db),
    /** Deletes log rows older than a week, and parked ones older than 30 days. */
    purge(now: number): Promise<void> {
      return change(async (trx) => {
        await trx
          .deleteFrom('webhook_deliveries')
          .where('last_at', '<', now - KEPT_MS)
          .where('state', '!=', 'parked')
          .where('state', '!=', 'retrying')
          .execute();
        await trx
          .deleteFrom('webhook_deliveries')
          .where('last_at', '<', now - PARKED_MS)
          .execute();
      });
    },
  };
}
