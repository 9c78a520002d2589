/**
 * Reads a file of call records into a new store and prints the time: `ingest-subject.ts <way> <file> <records> <place>`.
 * `ours` is the history feature with its reader; `packed` decodes and packs each record and does nothing else that ours does;
 * the others store only the bare fields of each record.
 */
import fs from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import path from 'node:path';
import { nodeId } from '@offhook/contract/ids.ts';
import { CelReader } from '../../server/src/adapters/asterisk/cel/reader.ts';
import { openSqliteStore } from '../../server/src/adapters/sqlite/store.ts';
import { systemClock as clock } from '../../server/src/core/clock.ts';
import { silent as log } from '../../server/src/core/log.ts';
import type { Tables } from '../../server/src/features/history/store/tables.ts';
import { withDirectory } from '../../server/src/features/history/record/records.ts';
import type { KnownRecord } from '../../server/src/features/history/record/records.ts';
import { pack } from '../../server/src/features/history/store/packs.ts';
import { benchDirectory, benchHistory } from './directory.ts';

const [way = '', file = '', , place = ''] = process.argv.slice(2);
const cpu = process.cpuUsage();
const began = performance.now();

async function ours(): Promise<void> {
  const store = await openSqliteStore(path.join(place, 'offhook.db'));
  const size = fs.statSync(file).size;
  const records = new CelReader({ file, node: nodeId('ast1'), log, clock, rotate_bytes: Infinity });
  await using history = await benchHistory(store, records);
  const db = store.db<Tables>();
  const offset = async (): Promise<number> => {
    const row = await db
      .selectFrom('history_facts')
      .select('value')
      .where('key', '=', 'checkpoint')
      .executeTakeFirst();
    return row === undefined ? 0 : (JSON.parse(row.value) as { offset: number }).offset;
  };
  while ((await offset()) < size) await clock.sleep(20, new AbortController().signal);
  await history.close();
  await store.close();
}

/** The work that every store of these records needs: decode them, and keep those of each call as one packed text. */
async function packed(perCommit: number): Promise<void> {
  const size = fs.statSync(file).size;
  const records = new CelReader({ file, node: nodeId('ast1'), log, clock, rotate_bytes: Infinity });
  const directory = benchDirectory();
  const db = new DatabaseSync(path.join(place, 'packed.db'));
  db.exec('pragma journal_mode=wal; pragma synchronous=full');
  db.exec('create table loose (id integer primary key, call text, records blob)');
  const insert = db.prepare('insert into loose (call, records) values (?, ?)');
  let waiting: KnownRecord[] = [];
  const stop = new AbortController();
  for await (const { records: some, checkpoint } of records.read(null, stop.signal)) {
    waiting.push(...some.map((record) => withDirectory(record, directory)));
    const last = checkpoint.offset >= size;
    if (waiting.length < perCommit && !last) continue;
    db.exec('begin immediate');
    for (const [call, own] of Map.groupBy(waiting, (record) => record.call as string))
      insert.run(call, pack(JSON.stringify(own)));
    db.exec('commit');
    waiting = [];
    if (last) break;
  }
  stop.abort();
  db.close();
}
/** Commits that the store has counted (ADR 0020). */
function commitsIn(store: string): number {
  const db = new DatabaseSync(store, { readOnly: true });
  const { count } = db.prepare('select count from offhook_commits').get() as { count: number };
  db.close();
  return count;
}

/** Fields of each line; the quoting of values does not affect the cost of storing them. */
const rowsOf = (): string[][] =>
  fs
    .readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(1, -1).split('","'));

/**
 * Stores bare fields with two indexes, as an engine's own module does: an insert for each record, a commit for
 * `perCommit`.
 */
function oneByOne(perCommit: number): number {
  const rows = rowsOf();
  const db = new DatabaseSync(path.join(place, 'bare.db'));
  db.exec('pragma journal_mode=wal; pragma synchronous=full');
  const columns = Array.from({ length: 19 }, (_, i) => `c${i} text`).join(', ');
  db.exec(
    `create table cel (id integer primary key, ${columns}); create index a on cel(c1); create index b on cel(c5)`,
  );
  const insert = db.prepare(`insert into cel values (null${', ?'.repeat(19)})`);
  const start = performance.now();
  for (let at = 0; at < rows.length; at += perCommit) {
    db.exec('begin immediate');
    for (const row of rows.slice(at, at + perCommit))
      insert.run(...row.slice(0, 19), ...Array<string>(Math.max(0, 19 - row.length)).fill(''));
    db.exec('commit');
  }
  db.close();
  return performance.now() - start;
}

let ms: number;
let commits: number | undefined;
if (way === 'ours' || way === 'packed') {
  await (way === 'ours' ? ours() : packed(10_000));
  ms = performance.now() - began;
  if (way === 'ours') commits = commitsIn(path.join(place, 'offhook.db'));
} else ms = oneByOne(way === 'row by row' ? 1 : 10_000);
const { user, system } = process.cpuUsage(cpu);
process.stdout.write(
  `${JSON.stringify({ ms, cpu_ms: (user + system) / 1000, rss: process.memoryUsage.rss(), commits })}\n`,
);
