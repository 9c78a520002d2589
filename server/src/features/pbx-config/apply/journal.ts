/**
 * Stores the steps of every apply before they are performed: after a crash, the next start knows which files were to
 * change, with the hashes before and after. Also stores the last written hashes, to detect changes by hand.
 */
import type { Generated, Transaction } from 'kysely';
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import type { Store } from '../../../ports/store.ts';

/** One file that an apply changes; hashes are SHA-256 in hex, `before` is null for a new file. */
export interface FileStep {
  readonly name: string;
  readonly before: string | null;
  readonly after: string;
}
export interface KnownFile {
  readonly name: string;
  /** Hash of the last written, or for a hand-written file of the last accepted bytes; null for a missing file. */
  readonly hash: string | null;
  /** Hash that a start of the service is about to write; null for none. */
  readonly pending: string | null;
  /** Time at which other content was detected, in milliseconds since 1970. */
  readonly noticed_at: number | null;
  readonly hand_written: boolean;
}
export interface JournalTables {
  config_applies: {
    id: Generated<number>;
    state: string;
    /** 1 from before the first file is written until engine and files agree again. */
    open: number;
    /** FileStep[] as JSON. */
    files: string;
    /** ConfigApply as JSON, without its id. */
    body: string;
    at: number;
  };
  config_files: {
    name: string;
    hash: string | null;
    pending: string | null;
    noticed_at: number | null;
    hand_written: number;
  };
}
type Shown = Omit<ConfigApply, 'id'>;
export interface StoredApply {
  readonly id: number;
  readonly open: boolean;
  readonly files: readonly FileStep[];
  readonly shown: ConfigApply;
}
/** Limit of kept applies; the oldest are deleted. */
const KEEP_APPLIES = 1_000;

export interface ApplyJournal {
  /** Stores a new apply in a transaction of the caller; resolves with its id. */
  beginIn(trx: Transaction<JournalTables>, shown: Shown, at: number): Promise<number>;
  /** `files` and `open`: new values of the row; left out, they stay. */
  save(
    apply: ConfigApply,
    how?: { readonly files?: readonly FileStep[]; readonly open?: boolean },
  ): Promise<void>;
  /** Like `save`, in the transaction that creates the version. */
  saveIn(trx: Transaction<JournalTables>, apply: ConfigApply): Promise<void>;
  /** Stores the end of an apply that made no version, and the known files after it. */
  finish(apply: ConfigApply, files: Iterable<KnownFile>): Promise<void>;
  one(id: number): Promise<StoredApply | null>;
  page(limit: number, before: number | null): Promise<readonly ConfigApply[]>;
  /** Applies without an end, oldest first. */
  unfinished(): Promise<readonly StoredApply[]>;
  /** Known files by name. */
  files(): Promise<ReadonlyMap<string, KnownFile>>;
  knowFiles(files: Iterable<KnownFile>): Promise<void>;
  knowFilesIn(trx: Transaction<JournalTables>, files: Iterable<KnownFile>): Promise<void>;
}

const FINAL = ['applied', 'rejected', 'cancelled', 'rolled_back', 'failed'];
export const isOver = (state: string): boolean => FINAL.includes(state);
const read = (row: { id: number; open: number; files: string; body: string }): StoredApply => ({
  id: row.id,
  open: row.open === 1,
  files: JSON.parse(row.files) as FileStep[],
  shown: { id: row.id, ...(JSON.parse(row.body) as Shown) },
});
const bodyOf = (apply: ConfigApply): string => JSON.stringify({ ...apply, id: undefined });

/** `node`: name of this node, which owns the files; null if the site has only one node. */
export function createApplyJournal(store: Store, node: string | null = null): ApplyJournal {
  // File names contain no colon.
  const prefix = node === null ? '' : `${node}:`;
  const isHere = (name: string): boolean => (node === null ? !name.includes(':') : name.startsWith(prefix));
  const db = store.db<JournalTables>();
  const knowFilesIn = async (trx: Transaction<JournalTables>, files: Iterable<KnownFile>): Promise<void> => {
    for (const { name, hash, pending, noticed_at, hand_written } of files) {
      const row = { hash, pending, noticed_at, hand_written: Number(hand_written) };
      await trx
        .insertInto('config_files')
        .values({ name: prefix + name, ...row })
        .onConflict((c) => c.column('name').doUpdateSet(row))
        .execute();
    }
  };
  const saveIn = async (trx: Transaction<JournalTables>, apply: ConfigApply): Promise<void> => {
    await trx
      .updateTable('config_applies')
      .set({ state: apply.state, body: bodyOf(apply) })
      .where('id', '=', apply.id)
      .execute();
    // A new apply replaces the unfinished work of an earlier one.
    await trx.updateTable('config_applies').set({ open: 0 }).where('open', '=', 1).execute();
  };
  const beginIn = async (trx: Transaction<JournalTables>, shown: Shown, at: number): Promise<number> => {
    const { id } = await trx
      .insertInto('config_applies')
      .values({ state: shown.state, open: 0, files: '[]', body: JSON.stringify(shown), at })
      .returning('id')
      .executeTakeFirstOrThrow();
    await trx
      .deleteFrom('config_applies')
      .where('id', '<=', id - KEEP_APPLIES)
      .execute();
    return id;
  };
  return {
    beginIn,
    save: (apply, { files, open } = {}) =>
      store.transaction<JournalTables, void>(async (trx) => {
        await trx
          .updateTable('config_applies')
          .set({
            state: apply.state,
            body: bodyOf(apply),
            ...(files === undefined ? {} : { files: JSON.stringify(files) }),
            ...(open === undefined ? {} : { open: Number(open) }),
          })
          .where('id', '=', apply.id)
          .execute();
      }),
    saveIn,
    finish: (apply, files) =>
      store.transaction<JournalTables, void>(async (trx) => {
        await saveIn(trx, apply);
        await knowFilesIn(trx, files);
      }),
    async one(id) {
      const row = await db.selectFrom('config_applies').selectAll().where('id', '=', id).executeTakeFirst();
      return row === undefined ? null : read(row);
    },
    async page(limit, before) {
      let query = db.selectFrom('config_applies').selectAll().orderBy('id', 'desc').limit(limit);
      if (before !== null) query = query.where('id', '<', before);
      return (await query.execute()).map((row) => read(row).shown);
    },
    async unfinished() {
      const rows = await db
        .selectFrom('config_applies')
        .selectAll()
        .where((e) => e.or([e('open', '=', 1), e('state', 'not in', FINAL)]))
        .orderBy('id')
        .execute();
      return rows.map(read);
    },
    async files() {
      const rows = await db.selectFrom('config_files').selectAll().execute();
      return new Map(
        rows
          .filter((r) => isHere(r.name))
          .map((r) => [
            r.name.slice(prefix.length),
            {
              ...r,
              name: r.name.slice(prefix.length),
              hand_written: r.hand_written === 1,
              noticed_at: r.noticed_at === null ? null : Number(r.noticed_at),
            },
          ]),
      );
    },
    knowFiles: (files) => store.transaction<JournalTables, void>((trx) => knowFilesIn(trx, files)),
    knowFilesIn,
  };
}
