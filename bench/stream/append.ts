/** Cost of an event in the journal: `append.ts <way> <file>` prints `{ us }`, microseconds of CPU of one event. */
import { nodeId } from '@offhook/contract/ids.ts';
import { DatabaseSync } from 'node:sqlite';
import { openMemoryJournal } from '../../server/src/adapters/memory/journal-store.ts';
import { openSqliteJournal } from '../../server/src/adapters/sqlite/journal.ts';
import { openJournal } from '../../server/src/journal/journal.ts';
import { presenceEvent } from './events.ts';

const EVENTS = 20_000;
const [way = '', file = ''] = process.argv.slice(2);
const group = way.endsWith('100') ? 100 : 1;
const node = nodeId('ast1');

function measure(append: (from: number) => void): void {
  const step = (): void => {
    for (let i = 0; i < EVENTS; i += group) append(i);
  };
  step();
  const before = process.cpuUsage();
  step();
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ us: (user + system) / EVENTS }));
}
const events = (from: number) => Array.from({ length: group }, (_, i) => presenceEvent(from + i));

if (way.startsWith('insert')) {
  const made = openJournal({ store: openMemoryJournal(), node });
  const rows = made.append(Array.from({ length: EVENTS }, (_, i) => presenceEvent(i)));
  const db = new DatabaseSync(file);
  db.exec('pragma journal_mode=wal; pragma synchronous=normal');
  db.exec(
    'create table log (seq integer primary key, type text, subject text, at integer, json text, topics text)',
  );
  const insert = db.prepare('insert into log (type, subject, at, json, topics) values (?, ?, ?, ?, ?)');
  measure((from) => {
    if (group > 1) db.exec('begin');
    for (const row of rows.slice(from, from + group)) {
      insert.run(row.type, row.subject, row.at, row.json, row.topics);
    }
    if (group > 1) db.exec('commit');
  });
} else {
  const store = way === 'ring' ? openMemoryJournal() : openSqliteJournal(file);
  const journal = openJournal({ store, node });
  measure((from) => journal.append(events(from)));
}
process.exit();
