import type { Conversations } from '../../ports/conversations.ts';
import type { Store } from '../../ports/store.ts';
import { rootsOf, touchConversations } from './feed.ts';
import { readRecord } from './record-codec.ts';
import type { Tables } from './tables.ts';

/** What other features may know of conversations; `onTouched` is called after each change. */
export function createKnownConversations(store: Store, onTouched: () => void): Conversations {
  const db = store.db<Tables>();
  return {
    async byCall(call) {
      const [root] = await rootsOf(db, [call]);
      if (root === undefined) return null;
      const row = await db
        .selectFrom('conversations')
        .select(['state', 'started_ms', 'ended_ms', 'record'])
        .where('root', '=', root)
        .executeTakeFirst();
      if (row === undefined) return null;
      const calls = await db
        .selectFrom('history_calls')
        .select('call')
        .where('root', '=', root)
        .orderBy('call')
        .execute();
      const { extensions, queues } = readRecord(row.record);
      return {
        id: root,
        calls: calls.map((c) => c.call),
        extensions,
        queues,
        started_ms: row.started_ms,
        ended_ms: row.ended_ms,
        open: row.state === 'open',
      };
    },
    async touch(calls) {
      await store.transaction<Tables, void>(async (trx) =>
        touchConversations(trx, await rootsOf(trx, calls)),
      );
      onTouched();
    },
  };
}
