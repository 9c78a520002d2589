import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { usePostgres } from '../../../test/support/use-site.ts';
import { openPostgresStore } from '../../adapters/postgres/store.ts';
import { SessionStore } from './store.ts';
import type { SessionTables } from './store.ts';

const server = usePostgres();
const DAY_MS = 86_400_000;

test('sessions - in PostgreSQL old sessions are deleted with their tokens, beside tens of thousands that stay', async () => {
  const url = new URL(await server().createDatabase());
  // As with a million sessions and the usual memory: their ids do not fit into a hash table.
  url.searchParams.set('options', '-c work_mem=64kB');
  const store = openPostgresStore(url.href);
  const sessions = await SessionStore.open(store);
  const now = 100 * DAY_MS;
  const db = store.db<SessionTables>();
  await store.transaction<SessionTables, void>(async (trx) => {
    await sql`insert into sessions (person_id, created_at, last_used_at, ends_at)
      select 1, 0, 0, case when n <= 100 then 0 else ${now}::bigint end from generate_series(1, 40000) n`.execute(
      trx,
    );
    await sql`insert into session_tokens (hash, session_id, confirmed, created_at)
      select 'token ' || id, id, 1, 0 from sessions`.execute(trx);
  });
  await sql`analyze sessions, session_tokens`.execute(db);
  await sessions.purge(now);
  for (const table of ['sessions', 'session_tokens'] as const) {
    const { n } = await db
      .selectFrom(table)
      .select((e) => e.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow();
    assert.equal(Number(n), 39_900, table);
  }
  await store.close();
});
