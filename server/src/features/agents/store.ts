import type { ReadinessSource } from '@offhook/contract/agents.ts';
import { insertOf } from '../../core/inserts.ts';
import { createTable } from '../../core/schema.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Migration, Store } from '../../ports/store.ts';

/** Last requested or adopted state of an agent in one queue; the engine is brought to it after a restart. */
export interface Intent {
  readonly extension: string;
  readonly queue: string;
  readonly member: boolean;
  readonly paused: boolean;
  readonly reason: string;
  readonly source: ReadinessSource;
  /** False for a member from the engine's configuration, which the service never adds. */
  readonly dynamic: boolean;
  readonly penalty: number;
  /** Milliseconds since 1970 when this state began. */
  readonly since: number;
  /** When it was stored, milliseconds since 1970 by the service's clock. */
  readonly noted_at: number;
  /** Grows with every change of this row. */
  readonly version: number;
  /** True once the engine has had time to store it on its own disk. */
  readonly settled: boolean;
}
interface Row {
  extension: string;
  queue: string;
  member: number;
  paused: number;
  reason: string;
  source: ReadinessSource;
  dynamic: number;
  penalty: number;
  since: number;
  noted_at: number;
  version: number;
  settled: number;
}
interface Tables {
  agent_intents: Row;
  /**
   * `boot`, `node`: boot id and node of the leading engine when its agents were last all brought to their intents.
   * `boot:<node>`: the same boot id of another engine. `seeded`: the first members were added. `reload`: the engine reloads
   * its configuration and agents are not yet restored to their intents.
   */
  agent_facts: { key: string; value: string };
}
export type Facts = Readonly<
  Partial<Record<'boot' | 'node' | 'seeded' | 'reload', string>> & Record<`boot:${string}`, string>
>;
export type Fact = keyof Facts;

export const migrations: readonly Migration[] = [
  {
    id: '0100-intents',
    async up(db) {
      await createTable(db.schema)`agent_intents (
        extension text not null, queue text not null, member integer not null, paused integer not null,
        reason text not null, dynamic integer not null, penalty integer not null, since bigint not null,
        noted_at bigint not null, version integer not null, settled integer not null, source text not null,
        constraint agent_intents_key primary key (extension, queue))`;
      await createTable(db.schema)`agent_facts (key text primary key, value text not null)`;
    },
  },
];

/** In the order of the columns of its statement. */
const toRow = (i: Intent): Row => ({
  extension: i.extension,
  queue: i.queue,
  member: Number(i.member),
  paused: Number(i.paused),
  reason: i.reason,
  source: i.source,
  dynamic: Number(i.dynamic),
  penalty: i.penalty,
  since: i.since,
  noted_at: i.noted_at,
  version: i.version,
  settled: Number(i.settled),
});
const fromRow = (r: Row): Intent => ({
  ...r,
  member: Boolean(r.member),
  paused: Boolean(r.paused),
  dynamic: Boolean(r.dynamic),
  settled: Boolean(r.settled),
  since: Number(r.since),
  noted_at: Number(r.noted_at),
});
const upsertRows = () =>
  insertOf<Tables, Row>((db, rows) =>
    db
      .insertInto('agent_intents')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['extension', 'queue']).doUpdateSet((eb) => ({
          member: eb.ref('excluded.member'),
          paused: eb.ref('excluded.paused'),
          reason: eb.ref('excluded.reason'),
          source: eb.ref('excluded.source'),
          dynamic: eb.ref('excluded.dynamic'),
          penalty: eb.ref('excluded.penalty'),
          since: eb.ref('excluded.since'),
          noted_at: eb.ref('excluded.noted_at'),
          version: eb.ref('excluded.version'),
          settled: eb.ref('excluded.settled'),
        })),
      ),
  );

export interface IntentStore {
  load(): Promise<{ intents: Intent[]; facts: Map<Fact, string> }>;
  /** All or nothing. Throws `store_unavailable` if the database fails. */
  save(batch: Batch): Promise<void>;
}
/** Content of one transaction, for any number of agents. */
export interface Batch {
  readonly intents: readonly Intent[];
  readonly facts: Facts;
  /** Entries of the audit trail, if the trail can share our transaction. */
  readonly trail: readonly AuditEntry[];
}
export const storedIntents = async (store: Pick<Store, 'db'>): Promise<Intent[]> =>
  (await store.db<Tables>().selectFrom('agent_intents').selectAll().execute()).map(fromRow);
export function createIntentStore(store: Store, audit: Audit): IntentStore {
  const upsert = upsertRows();
  return {
    async load() {
      const intents = await storedIntents(store);
      const facts = await store.db<Tables>().selectFrom('agent_facts').selectAll().execute();
      return {
        intents,
        facts: new Map(facts.map((f) => [f.key as Fact, f.value])),
      };
    },
    async save({ intents, facts, trail }) {
      await store.transaction<Tables, void>(async (trx) => {
        await upsert(trx, intents.map(toRow));
        if (trail.length > 0) await audit.recordIn?.(trx, ...trail);
        for (const [key, value] of Object.entries(facts)) {
          await trx
            .insertInto('agent_facts')
            .values({ key, value })
            .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
            .execute();
        }
      });
    },
  };
}
