import { nodeOf } from '@offhook/contract/ids.ts';
import type { Kysely } from 'kysely';
import { BUILT } from '../store/packs.ts';
import { firstOf, isChannel } from '../record/records.ts';
import type { KnownRecord } from '../record/records.ts';
import { NO_SIP } from '../store/tables.ts';
import type { ChannelRow, ConversationRow, Tables } from '../store/tables.ts';
import { inChunks, insertAll } from '../store/store.ts';
import { removeRows } from './person-rows.ts';

/** A conversation that the given call records belong to; `row` is not stored yet. */
export interface Touched {
  readonly row: ConversationRow;
  readonly records: readonly KnownRecord[];
  /** True if nothing of this conversation is stored. */
  readonly fresh: boolean;
  /** Ids of conversations merged into this one now. */
  readonly joined: readonly string[];
}
export interface Linked {
  readonly touched: readonly Touched[];
  /** Ids of conversations merged into others. */
  readonly merged: readonly string[];
}

/**
 * Finds the conversation of each record. A channel in two calls (attended transfer, pickup, retrieval of a parked call)
 * joins them into one, whose root is the first call.
 */
export async function linkRecords(db: Kysely<Tables>, records: readonly KnownRecord[]): Promise<Linked> {
  const pairs = new Map<string, ChannelRow>();
  const add = (channel: string, call: string, sip_serial: number | null = null): void => {
    const key = `${channel} ${call}`;
    pairs.set(key, { channel, call, sip_serial: sip_serial ?? pairs.get(key)?.sip_serial ?? null });
  };
  for (const { channel, call, sip_serial } of records)
    add(channel, call, sip_serial === null ? NO_SIP : sip_serial);
  // The half at the called engine belongs to the call of the half that called it, whose id is their pair.
  for (const { channel, call, pair } of records)
    if (pair !== null && pair !== (channel as string) && isChannel(pair)) add(pair, call);
  // The transferee replaced this channel, and who rang for it or talked to it does so with the transferee. Until the end of
  // the call the engine may write no other record that joins the two.
  for (const { call, facts } of records)
    for (const channel of [facts.replaces, facts.joins]) if (channel !== undefined) add(channel, call);
  const channels = [...new Set([...pairs.values()].map((row) => row.channel))];
  const before = await inChunks(channels, (some) =>
    db.selectFrom('history_channels').selectAll().where('channel', 'in', some).execute(),
  );
  for (const row of before) pairs.delete(`${row.channel} ${row.call}`);
  await insertAll([...pairs.values()], (some) => db.insertInto('history_channels').values(some).execute());

  const calls = [...new Set([...before.map((row) => row.call), ...records.map((r) => r.call as string)])];
  const rootOf = new Map(
    (
      await inChunks(calls, (some) =>
        db.selectFrom('history_calls').selectAll().where('call', 'in', some).execute(),
      )
    ).map((row) => [row.call, row.root]),
  );
  const far = new Set(
    [...before, ...pairs.values()]
      .filter((row) => nodeOf(row.channel) !== nodeOf(row.call))
      .map((row) => row.call),
  );
  const sets = createSets(far);
  for (const call of calls) sets.begin(call, rootOf.get(call) ?? call);
  const callOf = new Map<string, string>();
  for (const { channel, call } of [...before, ...pairs.values()]) {
    sets.join(callOf.get(channel) ?? call, call);
    callOf.set(channel, call);
  }

  const fresh = calls.filter((call) => !rootOf.has(call)).map((call) => ({ call, root: sets.rootOf(call) }));
  await insertAll(fresh, (some) => db.insertInto('history_calls').values(some).execute());
  const moved = new Set([...rootOf.values()].filter((root) => sets.rootOf(root) !== root));
  for (const root of moved) await moveConversation(db, root, sets.rootOf(root));

  const groups = Map.groupBy(records, (r) => sets.rootOf(r.call));
  const known = new Map(
    (
      await inChunks([...groups.keys()], (some) =>
        db.selectFrom('history_conversations').selectAll().where('root', 'in', some).execute(),
      )
    ).map((row) => [row.root, row]),
  );
  const touched = [...groups].map(([root, own]): Touched => {
    const old = known.get(root) ?? { root, last_us: 0, closing: 0, built: BUILT.no, built_by: 0 };
    const last_us = own.reduce((most, r) => Math.max(most, r.at_us), old.last_us);
    const closing = own.some((r) => r.type === 'linked_end') ? 1 : old.closing;
    const joined = [...moved].filter((from) => sets.rootOf(from) === root);
    return { row: { ...old, last_us, closing }, records: own, fresh: !known.has(root), joined };
  });
  return { touched, merged: [...moved] };
}

export const putConversations = (db: Kysely<Tables>, rows: readonly ConversationRow[]): Promise<void> =>
  insertAll(rows, (some) =>
    db
      .insertInto('history_conversations')
      .values(some)
      .onConflict((c) =>
        c.column('root').doUpdateSet((e) => ({
          last_us: e.ref('excluded.last_us'),
          closing: e.ref('excluded.closing'),
          built: e.ref('excluded.built'),
          built_by: e.ref('excluded.built_by'),
        })),
      )
      .execute(),
  );

/** Merges one conversation into another. Rows keep their id, so that lists keep their order. */
async function moveConversation(db: Kysely<Tables>, from: string, to: string): Promise<void> {
  await db.updateTable('history_calls').set({ root: to }).where('root', '=', from).execute();
  await db.updateTable('history_packs').set({ root: to }).where('root', '=', from).execute();
  const there = db.selectFrom('history_rows').select('extension').where('root', '=', to);
  await removeRows(
    db,
    await db
      .selectFrom('history_rows')
      .selectAll()
      .where('root', '=', from)
      .where('extension', 'in', there)
      .execute(),
  );
  await db.updateTable('history_rows').set({ root: to }).where('root', '=', from).execute();
  const both = await db
    .selectFrom('history_conversations')
    .selectAll()
    .where('root', 'in', [from, to])
    .execute();
  await db.deleteFrom('history_conversations').where('root', '=', from).execute();
  if (both.length === 0) return;
  const joined = {
    root: to,
    last_us: Math.max(...both.map((c) => c.last_us)),
    closing: Math.max(...both.map((c) => c.closing)),
    built: both.some((c) => c.built !== BUILT.no) ? BUILT.yes : BUILT.no,
    built_by: 0,
  };
  await putConversations(db, [joined]);
}

/** Sets of calls that belong together. The root of a set is its first call, and in `far` only if all its calls are. */
function createSets(far: ReadonlySet<string>) {
  const parent = new Map<string, string>();
  const rootOf = (call: string): string => {
    let root = call;
    for (let up = parent.get(root); up !== undefined && up !== root; up = parent.get(root)) root = up;
    parent.set(call, root);
    return root;
  };
  return {
    rootOf,
    /** Begins with the stored root, which was chosen with all records known then. */
    begin(call: string, root: string): void {
      if (!parent.has(root)) parent.set(root, root);
      parent.set(call, root);
    },
    join(a: string, b: string): void {
      const [p, q] = [rootOf(a), rootOf(b)].sort((x, y) => firstOf(x, y, far)) as [string, string];
      parent.set(q, p);
    },
  };
}
