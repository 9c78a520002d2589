/**
 * Cost of an event in the journal: `append.ts <way> <file> [<port and pid of a message server>]` prints `{ us }`,
 * microseconds of CPU of one event, those of the server included.
 */
import { nodeId } from '@offhook/contract/ids.ts';
import { DatabaseSync } from 'node:sqlite';
import { openMemoryJournal } from '../../server/src/adapters/memory/journal-store.ts';
import { openSqliteJournal } from '../../server/src/adapters/sqlite/journal.ts';
import { openJournal } from '../../server/src/journal/journal.ts';
import { cpuOf } from '../lib.ts';
import { presenceEvent } from './events.ts';
import { openStream } from './nats-stream.ts';
import * as redis from './redis.ts';

const [way = '', file = '', port = '', pid = ''] = process.argv.slice(2);
const group = way.endsWith('100') ? 100 : 1;
/** For one event at a time, a message server takes a hundred times as long as a call in this process. */
const EVENTS = port !== '' && group === 1 ? 2_000 : 20_000;
const node = nodeId('ast1');

async function measure(append: (from: number) => unknown): Promise<void> {
  const step = async (): Promise<void> => {
    for (let i = 0; i < EVENTS; i += group) await append(i);
  };
  await step();
  const cpu = (): number => {
    const { user, system } = process.cpuUsage();
    return user + system + (pid === '' ? 0 : cpuOf(Number(pid)));
  };
  const before = cpu();
  await step();
  console.log(JSON.stringify({ us: (cpu() - before) / EVENTS }));
}
const events = (from: number) => Array.from({ length: group }, (_, i) => presenceEvent(from + i));

/** The same events as rows of the journal. */
function rowsOf() {
  const made = openJournal({ store: openMemoryJournal(), node });
  return made.append(Array.from({ length: EVENTS }, (_, i) => presenceEvent(i)));
}
if (way.startsWith('redis')) {
  const client = await redis.openRedis(Number(port));
  const rows = rowsOf();
  let seq = 0;
  await client.send([redis.command('DEL', redis.STREAM)]);
  await measure((from) =>
    client.send(rows.slice(from, from + group).map(({ json }) => redis.entry((seq += 1), json))),
  );
} else if (way.startsWith('jetstream')) {
  await using stream = await openStream(Number(port), false);
  const rows = rowsOf();
  await measure((from) => stream.append(rows.slice(from, from + group).map(({ json }) => json)));
} else if (way.startsWith('insert')) {
  const rows = rowsOf();
  const db = new DatabaseSync(file);
  db.exec('pragma journal_mode=wal; pragma synchronous=normal');
  db.exec(
    'create table log (seq integer primary key, type text, subject text, at integer, json text, topics text)',
  );
  const insert = db.prepare('insert into log (type, subject, at, json, topics) values (?, ?, ?, ?, ?)');
  await measure((from) => {
    if (group > 1) db.exec('begin');
    for (const row of rows.slice(from, from + group)) {
      insert.run(row.type, row.subject, row.at, row.json, row.topics);
    }
    if (group > 1) db.exec('commit');
  });
} else {
  const store = way === 'ring' ? openMemoryJournal() : openSqliteJournal(file);
  const journal = openJournal({ store, node });
  await measure((from) => journal.append(events(from)));
}
process.exit();
