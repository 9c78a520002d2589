import { randomBytes } from 'node:crypto';
import type { StoreGap } from '../../ports/store.ts';
import type { Connection } from './database.ts';
import type { Commit, StoreSeal } from './store-seal.ts';

/**
 * Each commit of the store has a number, written in its own transaction; the seal beside the store has the newest number on the
 * disk. A store that is behind its seal at opening has lost the commits between (ADR 0020).
 */
const SCHEMA = `
create table if not exists offhook_commits (id text primary key, count integer not null, at integer not null) without rowid;
create table if not exists offhook_gaps (
  id integer primary key, from_ms integer not null, to_ms integer not null, writes integer not null,
  found_ms integer not null, told integer not null
);`;
const NEXT = 'update offhook_commits set count = count + 1, at = ? returning count';

export interface Commits {
  /** Name of this store, shared by its copies. */
  readonly id: string;
  /** Oldest first. */
  readonly gaps: readonly StoreGap[];
  /** The gap found at this opening; null without one. */
  readonly found: StoreGap | null;
  /** Numbers the current transaction. */
  next(): Commit;
}
/** `isNew`: the store was created by this opening, so an existing seal belongs to an earlier one. */
export function openCommits(writer: Connection, seal: StoreSeal['kept'], isNew: boolean): Commits {
  writer.exec('begin immediate');
  try {
    writer.exec(SCHEMA);
    const row = writer.run('select id, count, at from offhook_commits', []).rows[0];
    const known =
      row === undefined
        ? null
        : { id: String(row['id']), count: Number(row['count']), at: Number(row['at']) };
    const id = known?.id ?? randomBytes(9).toString('base64url');
    if (known === null) writer.run('insert into offhook_commits (id, count, at) values (?, 0, 0)', [id]);
    const isSame = !isNew && seal !== null && (known === null || known.id === seal.id);
    const found = isSame ? gapBetween(known ?? { count: 0, at: 0 }, seal) : null;
    if (found !== null) {
      writer.run(
        'insert into offhook_gaps (id, from_ms, to_ms, writes, found_ms, told) values (?, ?, ?, ?, ?, 0)',
        [found.id, found.from, found.to, found.writes, found.found],
      );
      // The number of a lost commit is never assigned again.
      writer.run('update offhook_commits set count = ?, at = ?', [found.id, found.found]);
    }
    const gaps = writer.run('select * from offhook_gaps order by id', []).rows.map(gapOf);
    writer.exec('commit');
    return {
      id,
      gaps,
      found,
      next() {
        const at = Date.now();
        return { count: Number(writer.run(NEXT, [at]).rows[0]?.['count']), at };
      },
    };
  } catch (error) {
    if (writer.inTransaction) writer.exec('rollback');
    throw error;
  }
}
function gapBetween(left: Commit, sealed: Commit): StoreGap | null {
  const writes = sealed.count - left.count;
  if (writes <= 0) return null;
  const from = left.at || sealed.at;
  return {
    id: sealed.count + 1,
    from,
    to: Math.max(from, sealed.at),
    writes,
    found: Date.now(),
    reported: false,
  };
}
const gapOf = (row: Readonly<Record<string, unknown>>): StoreGap => ({
  id: Number(row['id']),
  from: Number(row['from_ms']),
  to: Number(row['to_ms']),
  writes: Number(row['writes']),
  found: Number(row['found_ms']),
  reported: row['told'] === 1,
});
