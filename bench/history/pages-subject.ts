/**
 * The history over HTTP on an existing store: `pages-subject.ts <file or URL>`. Every token is accepted, so that the cost
 * of a page is not hidden by authentication. `/offset` is a usual implementation: the same rows by OFFSET, with a count.
 */
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore } from '../../server/src/adapters/sqlite/store.ts';
import { silent as log } from '../../server/src/core/log.ts';
import { conversationOperations, historyOperations } from '../../server/src/features/history/operations.ts';
import { createHost } from '../../server/src/http/host.ts';
import { addOperations } from '../../server/src/http/operations.ts';
import type { CallRecords } from '../../server/src/ports/call-records.ts';
import { benchHistory } from './directory.ts';

export type PageQuestion =
  /** Microseconds of a repeated statement alone. */
  | {
      readonly ask: 'statement';
      readonly sql: string;
      readonly values: readonly (string | number)[];
      readonly times: number;
    }
  /** Start of the newest conversation, in milliseconds since 1970. */
  | { readonly ask: 'newest' };

const [file = ''] = process.argv.slice(2);
const store = await openSqliteStore(file);
const bare = new DatabaseSync(file, { readOnly: true });
/** A source without new records. */
const records: CallRecords = {
  async *read(_from, signal) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    yield* [];
  },
};
const history = await benchHistory(store, records);
const host = await createHost({
  config: { corsOrigins: [], publicUrl: '', trustProxy: [] },
  authenticator: {
    authenticate: async (token) => ({
      session_id: 1,
      person_id: 1,
      extension: token,
      username: token,
      level: 'supervisor',
      expires_at: 4_000_000_000_000,
      cookie: false,
      key: null,
    }),
  },
  log,
  version: 'bench',
});
// An empty phonebook: the figures are those of the history.
const customers = { named: async () => new Map() };
addOperations(host.app, [
  historyOperations(history, customers),
  conversationOperations({ ...history, customers }),
]);
const page = bare.prepare(
  'select * from history_rows where extension = ? order by started_us desc, id desc limit 50 offset ?',
);
const total = bare.prepare('select count(*) as n from history_rows where extension = ?');
host.app.get('/offset/:extension/:offset', { config: { level: 'public' } }, (request) => {
  const { extension, offset } = request.params as { extension: string; offset: string };
  return { total: total.get(extension)!['n'], calls: page.all(extension, Number(offset)) };
});
host.app.get('/hello', { config: { level: 'public' } }, () => ({ hello: true }));
const { port } = await host.listen({ host: '127.0.0.1', port: 0 });
process.on('message', (question: PageQuestion) => {
  if (question.ask === 'newest') {
    process.send!(bare.prepare('select max(started_ms) as newest from conversations').get()!);
    return;
  }
  const statement = bare.prepare(question.sql);
  const us: number[] = [];
  let rows = 0;
  for (let i = 0; i < question.times; i += 1) {
    const began = performance.now();
    rows = statement.all(...question.values).length;
    us.push((performance.now() - began) * 1_000);
  }
  process.send!({ us, rows });
});
process.stdout.write(`${JSON.stringify({ port })}\n`);
