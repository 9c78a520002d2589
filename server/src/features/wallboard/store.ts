import { setImmediate } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { DEFAULT_SERVICE_LEVEL, ServiceLevel } from '@offhook/contract/wallboard.ts';
import { insertOf } from '../../core/inserts.ts';
import { createIndex, createTable } from '../../core/schema.ts';
import type { Migration, Store } from '../../ports/store.ts';
import { isSettled } from './gaps.ts';
import type { Gap } from './gaps.ts';
import { fold, noSums, readSums, slotOf, writeSums } from './sums.ts';
import type { Sums } from './sums.ts';
import { BOTH } from './sum-table.ts';
import type { Of, SumTable } from './sum-table.ts';

interface Tables {
  /** Counts of one queue or agent in one slot: a text of `writeSums`. */
  wallboard_sums: { of: Of; name: string; slot: number; sums: string };
  /** Sums of a UTC day, so that a long span takes few rows. */
  wallboard_days: { of: Of; name: string; day: number; sums: string };
  /** One row: the board after the event `seq` of the journal `epoch`, consistent with the sums. */
  wallboard_state: { id: number; epoch: string; seq: number; as_of: number; board: string };
  /** `unsettled`: as in `Gap`, JSON; null for a gap of an earlier version. */
  wallboard_gaps: {
    from_at: number;
    to_at: number;
    reason: Gap['reason'];
    settled: number;
    unsettled: string | null;
  };
  wallboard_service_levels: {
    queue: string;
    formula: string;
    threshold_seconds: number;
    short_abandon_seconds: number;
    flow_outs: string;
  };
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-wallboard',
    async up(db) {
      const { schema } = db;
      await createTable(schema)`wallboard_sums (
        of text not null, name text not null, slot integer not null, sums text not null,
        constraint wallboard_sums_key primary key (of, name, slot))`;
      await createIndex(schema)`wallboard_sums_slot on wallboard_sums (of, slot)`;
      await createTable(schema)`wallboard_days (
        of text not null, name text not null, day integer not null, sums text not null,
        constraint wallboard_days_key primary key (of, name, day))`;
      await createIndex(schema)`wallboard_days_day on wallboard_days (of, day)`;
      await createTable(schema)`wallboard_state (
        id integer primary key, epoch text not null, seq bigint not null, as_of bigint not null, board text not null)`;
      await createTable(schema)`wallboard_gaps (
        from_at bigint not null, to_at bigint not null, reason text not null, settled integer not null)`;
      await createTable(schema)`wallboard_service_levels (
        queue text primary key, formula text not null, threshold_seconds integer not null,
        short_abandon_seconds integer not null, flow_outs text not null)`;
    },
  },
  {
    id: '0110-wallboard-gap-engines',
    async up(db) {
      await db.schema.alterTable('wallboard_gaps').addColumn('unsettled', 'text').execute();
    },
  },
];

/** Position in the journal up to which events were counted. */
export interface Position {
  readonly epoch: string;
  /** Newest counted event; 0 for none. */
  readonly seq: number;
  /** Time of the newest counted event; 0 for none. */
  readonly as_of: number;
}
export interface StoredSums {
  readonly of: Of;
  readonly name: string;
  readonly slot: number;
  /** Without zeros. */
  readonly sums: Partial<Sums>;
}
const SLOTS_OF_DAY = 96;
/** Added sums of one queue or agent in one slot or day. */
interface Added {
  readonly of: Of;
  readonly name: string;
  /** Slot or day. */
  readonly at: number;
  readonly sums: Sums;
}
/** Rows before the event loop runs other work: together 3 ms. */
const AT_ONCE = 200;
const SIZES = [1, 10, 50, AT_ONCE];
/** Texts of the added sums together with the stored ones, which `read` returns. */
async function withStored(
  added: readonly Added[],
  read: (
    of: Of,
    at: number,
    names: readonly string[],
  ) => Promise<readonly { readonly name: string; readonly sums: string }[]>,
): Promise<readonly (Omit<Added, 'sums'> & { readonly sums: string })[]> {
  const rows = [];
  for (const parts of Map.groupBy(added, ({ of, at }) => `${of}/${at}`).values()) {
    const { of, at } = parts[0]!;
    for (let i = 0; i < parts.length; i += AT_ONCE) {
      if (rows.length >= AT_ONCE) await setImmediate();
      const some = parts.slice(i, i + AT_ONCE);
      const stored = new Map((await read(of, at, namesOf(some))).map(({ name, sums }) => [name, sums]));
      for (const { name, sums } of some) {
        const text = stored.get(name);
        rows.push({ of, name, at, sums: writeSums(text === undefined ? sums : together(sums, text)) });
      }
    }
  }
  return rows;
}
/** Names to read, as many as one of few sizes, because the database keeps each text of a statement prepared. */
function namesOf(some: readonly Added[]): readonly string[] {
  const names = some.map(({ name }) => name);
  const size = SIZES.find((most) => most >= names.length) ?? AT_ONCE;
  return [...names, ...Array<string>(size - names.length).fill(names[0]!)];
}
const slotsOf = (added: SumTable): readonly Added[] =>
  [...added.rows()].map(({ of, name, slot, sums }) => ({ of, name, at: slot, sums }));
function daysOf(added: SumTable): readonly Added[] {
  const days = new Map<string, Added>();
  for (const { of, name, slot, sums } of added.rows()) {
    const at = Math.floor(slot / SLOTS_OF_DAY);
    const key = `${of}/${name}/${at}`;
    const day = days.get(key);
    if (day === undefined) {
      const first = noSums();
      fold(first, sums);
      days.set(key, { of, name, at, sums: first });
    } else fold(day.sums, sums);
  }
  return [...days.values()];
}
const writeSlots = () =>
  insertOf<Tables, Tables['wallboard_sums']>((db, rows) =>
    db
      .insertInto('wallboard_sums')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['of', 'name', 'slot']).doUpdateSet((eb) => ({ sums: eb.ref('excluded.sums') })),
      ),
  );
const writeDays = () =>
  insertOf<Tables, Tables['wallboard_days']>((db, rows) =>
    db
      .insertInto('wallboard_days')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['of', 'name', 'day']).doUpdateSet((eb) => ({ sums: eb.ref('excluded.sums') })),
      ),
  );
function together(sums: Sums, more: Sums | string): Sums {
  const both = noSums();
  fold(both, sums);
  fold(both, typeof more === 'string' ? readSums(more) : more);
  return both;
}

/** Two years, and ten weeks to compare them. */
const KEEP_MS = 800 * 86_400_000;
/** Rows per statement: one read holds the event loop for a few milliseconds. */
const PAGE = 500;

interface SlotRow {
  readonly slot: number;
  readonly sums: Partial<Sums>;
}
interface NameRow {
  readonly name: string;
  readonly sums: Partial<Sums>;
}

/** Sums, gaps and service levels. Every method throws `store_unavailable` if the database fails. */
export class WallboardStore {
  readonly #store: Store;
  readonly #db: Kysely<Tables>;
  readonly #writeSlots = writeSlots();
  readonly #writeDays = writeDays();

  private constructor(store: Store) {
    this.#store = store;
    this.#db = store.db<Tables>();
  }
  /** Runs the migrations. */
  static async open(store: Store): Promise<WallboardStore> {
    await store.migrate('wallboard', migrations);
    return new WallboardStore(store);
  }

  /** Null before the first save. */
  async position(): Promise<(Position & { readonly board: string }) | null> {
    const row = await this.#db.selectFrom('wallboard_state').selectAll().executeTakeFirst();
    if (row === undefined) return null;
    return { epoch: row.epoch, seq: Number(row.seq), as_of: Number(row.as_of), board: row.board };
  }

  /** True if the last save is the one with this position. By a transaction, which waits for a former one to end. */
  async has({ epoch, seq }: Position): Promise<boolean> {
    return await this.#store.transaction<Tables, boolean>(async (trx) => {
      const row = await trx.selectFrom('wallboard_state').select(['epoch', 'seq']).executeTakeFirst();
      return row?.epoch === epoch && Number(row.seq) === seq;
    });
  }
  /** Adds the counts and the position since the last save, all or nothing. A gap replaces one with the same start. */
  async save(added: SumTable, position: Position, board: string, gaps: readonly Gap[] = []): Promise<void> {
    // Read before the transaction, in which no other work may run. The caller makes one save after the other.
    const slots = await withStored(slotsOf(added), (of, slot, names) =>
      this.#db
        .selectFrom('wallboard_sums')
        .select(['name', 'sums'])
        .where('of', '=', of)
        .where('slot', '=', slot)
        .where('name', 'in', names)
        .execute(),
    );
    const days = await withStored(daysOf(added), (of, day, names) =>
      this.#db
        .selectFrom('wallboard_days')
        .select(['name', 'sums'])
        .where('of', '=', of)
        .where('day', '=', day)
        .where('name', 'in', names)
        .execute(),
    );
    await this.#store.transaction<Tables, void>(async (trx) => {
      await this.#writeSlots(
        trx,
        slots.map(({ of, name, at, sums }) => ({ of, name, slot: at, sums })),
      );
      await this.#writeDays(
        trx,
        days.map(({ of, name, at, sums }) => ({ of, name, day: at, sums })),
      );
      await trx
        .insertInto('wallboard_state')
        .values({ id: 1, ...position, board })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ ...position, board }))
        .execute();
      for (const gap of gaps) {
        const { from, to, reason, unsettled } = gap;
        await trx
          .deleteFrom('wallboard_gaps')
          .where('from_at', '=', from)
          .where('reason', '=', reason)
          .execute();
        await trx
          .insertInto('wallboard_gaps')
          .values({
            from_at: from,
            to_at: to,
            reason,
            settled: Number(isSettled(gap)),
            unsettled: unsettled === undefined ? null : JSON.stringify(unsettled),
          })
          .execute();
      }
    });
  }

  /** Everything from this slot on: the queues, then the agents, whole slots at a time. */
  async *since(first: number): AsyncGenerator<readonly StoredSums[], void, void> {
    for (const of of BOTH) {
      const stored = this.#db.selectFrom('wallboard_sums').selectAll().where('of', '=', of);
      for (let next = first; ;) {
        const page = await stored.where('slot', '>=', next).orderBy('slot').limit(PAGE).execute();
        const last = page.at(-1)?.slot;
        if (last === undefined) break;
        const whole = page.length < PAGE ? page : page.filter(({ slot }) => slot < last);
        const rows = whole.length > 0 ? whole : await stored.where('slot', '=', last).execute();
        yield rows.map(({ sums, ...row }) => ({ ...row, sums: readSums(sums) }));
        if (page.length < PAGE) break;
        next = rows.at(-1)!.slot + 1;
      }
    }
  }

  /** The slots of one queue or agent from `first` to before `end`, in order, a page at a time. */
  async *slots(
    of: Of,
    name: string,
    first: number,
    end: number,
  ): AsyncGenerator<readonly SlotRow[], void, void> {
    for (let next = first; ;) {
      const rows = await this.#db
        .selectFrom('wallboard_sums')
        .select(['slot', 'sums'])
        .where('of', '=', of)
        .where('name', '=', name)
        .where('slot', '>=', next)
        .where('slot', '<', end)
        .orderBy('slot')
        .limit(PAGE)
        .execute();
      if (rows.length > 0) yield rows.map(({ slot, sums }) => ({ slot, sums: readSums(sums) }));
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      next = last.slot + 1;
    }
  }

  /** Sums that add up to these slots, by whole days where possible; of every name unless one is given. */
  async *parts(
    of: Of,
    first: number,
    end: number,
    name?: string,
  ): AsyncGenerator<readonly NameRow[], void, void> {
    const [firstDay, endDay] = [Math.ceil(first / SLOTS_OF_DAY), Math.floor(end / SLOTS_OF_DAY)];
    const whole = firstDay < endDay;
    const edges = whole
      ? [
          [first, firstDay * SLOTS_OF_DAY],
          [endDay * SLOTS_OF_DAY, end],
        ]
      : [[first, end]];
    const read = (rows: readonly { name: string; sums: string }[]): NameRow[] =>
      rows.map((row) => ({ name: row.name, sums: readSums(row.sums) }));
    for (const [from, to] of edges as [number, number][]) {
      const step = name === undefined ? 4 : SLOTS_OF_DAY;
      for (let slot = from; slot < to; slot += step) {
        let query = this.#db
          .selectFrom('wallboard_sums')
          .select(['name', 'sums'])
          .where('of', '=', of)
          .where('slot', '>=', slot)
          .where('slot', '<', Math.min(slot + step, to));
        if (name !== undefined) query = query.where('name', '=', name);
        yield read(await query.execute());
      }
    }
    if (!whole) return;
    const step = name === undefined ? 1 : PAGE;
    for (let day = firstDay; day < endDay; day += step) {
      let query = this.#db
        .selectFrom('wallboard_days')
        .select(['name', 'sums'])
        .where('of', '=', of)
        .where('day', '>=', day)
        .where('day', '<', Math.min(day + step, endDay));
      if (name !== undefined) query = query.where('name', '=', name);
      yield read(await query.execute());
    }
  }

  async gaps(): Promise<Gap[]> {
    const rows = await this.#db.selectFrom('wallboard_gaps').selectAll().orderBy('from_at').execute();
    return rows.map(({ from_at, to_at, reason, settled, unsettled }): Gap => {
      const gap = { from: Number(from_at), to: Number(to_at), reason };
      if (reason !== 'unheard') return gap;
      if (unsettled !== null)
        return { ...gap, unsettled: JSON.parse(unsettled) as NonNullable<Gap['unsettled']> };
      return { ...gap, unsettled: settled === 1 ? [] : [[null, gap.to]] };
    });
  }

  async purge(now: number): Promise<void> {
    await this.#db
      .deleteFrom('wallboard_sums')
      .where('of', 'in', BOTH)
      .where('slot', '<', slotOf(now - KEEP_MS))
      .execute();
    await this.#db
      .deleteFrom('wallboard_days')
      .where('of', 'in', BOTH)
      .where('day', '<', Math.floor(slotOf(now - KEEP_MS) / SLOTS_OF_DAY))
      .execute();
    await this.#db
      .deleteFrom('wallboard_gaps')
      .where('to_at', '<', now - KEEP_MS)
      .execute();
  }

  async levels(): Promise<Map<string, ServiceLevel>> {
    const rows = await this.#db.selectFrom('wallboard_service_levels').selectAll().execute();
    return new Map(
      rows.map(({ queue, ...level }) => {
        const read = ServiceLevel.safeParse(level);
        return [queue, read.success ? read.data : DEFAULT_SERVICE_LEVEL];
      }),
    );
  }

  async saveLevel(
    queue: string,
    level: ServiceLevel,
    also: (trx: Transaction<unknown>) => Promise<void>,
  ): Promise<void> {
    await this.#store.transaction<Tables, void>(async (trx) => {
      await trx
        .insertInto('wallboard_service_levels')
        .values({ queue, ...level })
        .onConflict((conflict) => conflict.column('queue').doUpdateSet({ ...level }))
        .execute();
      await also(trx as unknown as Transaction<unknown>);
    });
  }
}
