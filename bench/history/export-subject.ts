/**
 * A million rows as CSV: `export-subject.ts <way> <file> [<where the CSV stays>]`. `ours` is the pages of the history and
 * the writer of the exports feature, into a file; `bare` reads one prepared text of each row and writes it, the least
 * possible work.
 */
import { closeSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import { openSqliteStore } from '../../server/src/adapters/sqlite/store.ts';
import { csvOf } from '../../server/src/features/exports/csv.ts';
import { PAGE_ROWS } from '../../server/src/features/exports/runner.ts';
import { createConversationRows } from '../../server/src/features/history/query/export-rows.ts';
import type { ExportPlace } from '../../server/src/ports/conversations.ts';
import { bare } from './directory.ts';

const [way = '', file = '', kept = ''] = process.argv.slice(2);
const out = kept || path.join(os.tmpdir(), `offhook-bench-export-${process.pid}.csv`);
const handle = openSync(out, 'w');
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const began = performance.now();
const before = process.memoryUsage.rss();
let [rows, peak] = [0, before];

if (way === 'ours') {
  const store = await openSqliteStore(file);
  const history = createConversationRows(bare(store));
  const reader = { extension: '', level: 'supervisor', key: null } as const;
  const { bound } = await history.begin(reader, {});
  async function* pages() {
    for (let after: ExportPlace | null = null; ;) {
      const page = await history.page(reader, {}, { bound, after, limit: PAGE_ROWS.csv });
      rows += page.lines.length;
      peak = Math.max(peak, process.memoryUsage.rss());
      yield page.lines;
      if (page.next === null) return;
      after = page.next;
      await turn();
    }
  }
  for await (const piece of csvOf(EXPORT_COLUMNS, pages())) writeSync(handle, piece);
  await store.close();
} else {
  const db = new DatabaseSync(file, { readOnly: true });
  let held: string[] = [];
  for (const row of db
    .prepare('select cells from conversations order by started_ms desc, id desc')
    .iterate()) {
    held.push(String(row['cells']));
    rows += 1;
    if (held.length === 500) {
      writeSync(handle, `${held.join('\r\n')}\r\n`);
      held = [];
    }
  }
  db.close();
}
const ms = performance.now() - began;
closeSync(handle);
const bytes = statSync(out).size;
if (kept === '') unlinkSync(out);
process.stdout.write(
  `${JSON.stringify({ ms, rows, bytes, growth: peak - before, delay_p99: delay.percentile(99) / 1e6 })}\n`,
);
