/** A store with millions of conversations: a few thousand real ones from call records, copied to other days. */
import { DatabaseSync } from 'node:sqlite';

const DAY_MS = 86_400_000;
/** Copies in one statement, so that its journal stays small. */
const AT_ONCE = 50;

/** Columns of a row `t` that change in its copy on the `c`-th day after; all others stay. */
interface Copied {
  readonly table: string;
  readonly moved: Readonly<Record<string, string>>;
}
const LATER = (column: string): string => `t.${column} + s.c * ${DAY_MS}`;
const LATER_US = (column: string): string => `t.${column} + s.c * ${DAY_MS * 1_000}`;
const NAMED = (column: string): string => `t.${column} || '.' || s.c`;

const tablesOf = (conversations: number, rows: number, changes: number): readonly Copied[] => [
  {
    table: 'conversations',
    moved: {
      id: `t.id + s.c * ${conversations}`,
      root: NAMED('root'),
      change: `t.change + s.c * ${changes}`,
      started_ms: LATER('started_ms'),
      answered_ms: LATER('answered_ms'),
      ended_ms: LATER('ended_ms'),
    },
  },
  {
    table: 'conversation_keys',
    moved: { conversation: `t.conversation + s.c * ${conversations}`, started_ms: LATER('started_ms') },
  },
  { table: 'history_calls', moved: { call: NAMED('call'), root: NAMED('root') } },
  { table: 'history_conversations', moved: { root: NAMED('root'), last_us: LATER_US('last_us') } },
  {
    table: 'history_rows',
    moved: {
      id: `t.id + s.c * ${rows}`,
      root: NAMED('root'),
      started_us: LATER_US('started_us'),
      answered_us: LATER_US('answered_us'),
      ended_us: LATER_US('ended_us'),
    },
  },
];

/** Number of outside callers whose names a search scans, each with one of the conversations. */
const CALLERS = 500_000;
const callers = (conversations: number): readonly string[] => [
  `insert into conversation_terms (kind, value, text)
   with recursive s(i) as (select 1 union all select i + 1 from s where i < ${CALLERS})
   select 'number', '+4930' || (1000000 + i), 'caller ' || i || ' of company ' || (i % 7919) || char(10) || '+4930' || (1000000 + i) from s`,
  `insert into conversation_keys (kind, value, started_ms, conversation)
   with recursive s(i) as (select 1 union all select i + 1 from s where i < ${CALLERS})
   select 'number', '+4930' || (1000000 + i), c.started_ms, c.id from s join conversations c on c.id = 1 + i % ${conversations}`,
];

/** Fills an SQLite store with conversations of one day up to `conversations` or a few more. */
export function multiply(
  file: string,
  conversations: number,
): { readonly conversations: number; readonly days: number } {
  const db = new DatabaseSync(file);
  db.exec(
    'pragma journal_mode=delete; pragma journal_mode=off; pragma synchronous=off; pragma cache_size=-1000000; pragma temp_store=memory',
  );
  const most = (table: string, column: string): number =>
    Number(db.prepare(`select max("${column}") as most from "${table}"`).get()!['most']);
  const own = most('conversations', 'id');
  const copied = tablesOf(own, most('history_rows', 'id'), most('conversations', 'change'));
  const days = Math.max(1, Math.ceil(conversations / own));
  const indexes = db
    .prepare("select name, sql from sqlite_master where type = 'index' and sql is not null")
    .all() as { name: string; sql: string }[];
  for (const { name } of indexes) db.exec(`drop index "${name}"`);
  for (const { table, moved } of copied) {
    db.exec(`create temp table template as select * from "${table}"`);
    const columns = db
      .prepare(`pragma table_info("${table}")`)
      .all()
      .map((c) => String(c['name']));
    const values = columns.map((c) => moved[c] ?? `t."${c}"`).join(', ');
    for (let from = 1; from < days; from += AT_ONCE) {
      const to = Math.min(days - 1, from + AT_ONCE - 1);
      db.exec(
        `insert into "${table}" with recursive s(c) as (select ${from} union all select c + 1 from s where c < ${to})
         select ${values} from s cross join template t`,
      );
    }
    db.exec('drop table template');
  }
  for (const sql of callers(own)) db.exec(sql);
  for (const { sql } of indexes) db.exec(sql);
  db.exec('analyze; pragma journal_mode=wal');
  db.close();
  return { conversations: own * days, days };
}
