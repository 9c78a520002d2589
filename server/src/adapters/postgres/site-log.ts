import { firstCheck, checkOf } from '../../core/row-check.ts';
import type { JournalRow } from '../../ports/journal-store.ts';
import type { LogState, SiteLog } from '../../ports/site-log.ts';
import { OneSession } from './one-session.ts';

export const LOG_SCHEMA = `
create table if not exists offhook_log (
  one integer primary key check (one = 1), epoch text not null, began bigint not null, head bigint not null, tail bigint not null,
  sum text not null, term bigint not null, holder text, location text, until timestamptz not null
);
create table if not exists offhook_journal (
  seq bigint primary key, type text not null, subject text not null, at bigint not null, topics text not null, json text not null
);`;
const STATE = 'epoch, began, head, tail, sum as "check", term';
/** Checks term, holder and head, moves the head and inserts the rows in one statement; else changes nothing. */
const APPEND = `with moved as (
    update offhook_log set head = head + cardinality($3::bigint[]), sum = $9
      where term = $1 and head = $2 and ($10::text is null or holder = $10) returning head
  )
  insert into offhook_journal (seq, type, subject, at, topics, json)
  select r.* from unnest($3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[]) r
  where exists (select 1 from moved)`;
/** Rows deleted by one statement. */
const TRIM_ROWS = 5_000;

interface Holding {
  readonly holder: string;
  readonly location: string;
  readonly seconds: number;
}

/** Escapes as in JSON the characters that PostgreSQL's text cannot hold; `plain` restores them. */
const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);
const plain = (text: string): string => (text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text);

/** The log in the schema of a PostgreSQL database. Opens nothing before the first call. */
export function openPostgresSiteLog(url: string): SiteLog {
  const session = new OneSession(url, LOG_SCHEMA);
  // A database that lost its newest rows assigns a term a second time: only the holder distinguishes both processes.
  let own: string | null = null;
  const state = async (): Promise<LogState | null> =>
    (await session.ask<LogState>(`select ${STATE} from offhook_log`)).rows[0] ?? null;

  const held = async (): Promise<(LogState & Pick<Holding, 'holder'>) | undefined> =>
    (await session.ask<LogState & Pick<Holding, 'holder'>>(`select ${STATE}, holder from offhook_log`))
      .rows[0];

  async function read(after: number, limit: number): Promise<readonly JournalRow[]> {
    const { rows } = await session.ask<JournalRow>(
      'select seq, type, subject, at, topics, json from offhook_journal where seq > $1 order by seq limit $2',
      [after, limit],
      'read',
    );
    return rows.map((row) => ({ ...row, subject: plain(row.subject), topics: plain(row.topics) }));
  }
  async function append(
    term: number,
    after: number,
    rows: readonly JournalRow[],
  ): ReturnType<SiteLog['append']> {
    const sum = checkOf(rows.at(-1)?.json ?? '');
    const { count } = await session.ask(
      APPEND,
      [
        term,
        after,
        rows.map((row) => row.seq),
        rows.map((row) => row.type),
        rows.map((row) => quoted(row.subject)),
        rows.map((row) => row.at),
        rows.map((row) => quoted(row.topics)),
        rows.map((row) => row.json),
        sum,
        own,
      ],
      'append',
    );
    if (count === rows.length) return 'appended';
    const now = await held();
    if (now === undefined || now.term !== term || (own !== null && now.holder !== own)) return 'deposed';
    if (now.head < after) return 'behind';
    // An earlier call may have stored the first of these rows, and another process may have appended after them.
    const there = Math.min(now.head - after, rows.length);
    if (there > 0) {
      const last = rows[there - 1]!;
      const kept = now.head === last.seq ? now.check : checkOf((await read(last.seq - 1, 1))[0]?.json ?? '');
      if (kept !== checkOf(last.json)) return 'other';
    }
    return there === rows.length ? 'appended' : append(term, now.head, rows.slice(there));
  }
  return {
    state,
    async begin({ epoch, began, head, check }) {
      const { count } = await session.ask(
        `insert into offhook_log (one, epoch, began, head, tail, sum, term, until)
          values (1, $1, $2, $3, $3::bigint + 1, $4, 0, now()) on conflict do nothing`,
        [epoch, began, head, check],
      );
      return count === 1;
    },
    async take({ id, location }, seconds) {
      const taken = await session.ask<LogState>(
        `update offhook_log set term = term + 1, holder = $1, location = $2, until = now() + make_interval(secs => $3)
          where holder is null or holder = $1 or until < now() returning ${STATE}`,
        [id, location, seconds],
      );
      if (taken.rows[0] !== undefined) {
        own = id;
        return { taken: true, state: taken.rows[0] };
      }
      const [other] = (
        await session.ask<Holding>(
          'select holder, location, extract(epoch from until - now()) as seconds from offhook_log',
        )
      ).rows;
      if (other === undefined) throw new Error('take() before begin()');
      const { holder, ...more } = other;
      return {
        taken: false,
        by: { id: holder, location: more.location },
        seconds: Math.max(0, more.seconds),
      };
    },
    async renew(term, seconds) {
      const { count } = await session.ask(
        `update offhook_log set until = now() + make_interval(secs => $2)
          where term = $1 and ($3::text is null or holder = $3)`,
        [term, seconds, own],
      );
      return count === 1;
    },
    async pass(term, to, seconds) {
      const { count } = await session.ask(
        `update offhook_log set holder = coalesce($2::text, holder), location = coalesce($3::text, location),
          until = now() + make_interval(secs => $4) where term = $1 and ($5::text is null or holder = $5)`,
        // One second in the past, so that a writer that asks at the same moment finds the lease expired.
        [term, to?.id ?? null, to?.location ?? null, to === null ? -1 : seconds, own],
      );
      return count === 1;
    },
    append,
    read,
    trim: (term, below) => trim(session, term, below, own),
    async restart(term, { epoch, began }) {
      const { count } = await session.ask(
        `update offhook_log set epoch = $2, began = $3, head = $3::bigint - 1, sum = $4
          where term = $1 and head < $3 and ($5::text is null or holder = $5)`,
        [term, epoch, began, firstCheck(epoch), own],
      );
      return count === 1;
    },
    close: () => session.close(),
  };
}

async function trim(session: OneSession, term: number, below: number, own: string | null): Promise<void> {
  const { count } = await session.ask(
    `update offhook_log set tail = greatest(tail, least($2, head + 1))
      where term = $1 and ($3::text is null or holder = $3)`,
    [term, below, own],
  );
  for (let deleted = count === 1 ? TRIM_ROWS : 0; deleted === TRIM_ROWS;) {
    const gone = await session.ask(
      `delete from offhook_journal where seq in (
        select seq from offhook_journal where seq < (select tail from offhook_log where term = $1) order by seq limit $2)`,
      [term, TRIM_ROWS],
    );
    deleted = gone.count;
  }
}
