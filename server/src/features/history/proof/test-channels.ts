/** Channels of the test calls of the service: no call record names them, yet the engine numbers them like all others. */
import type { Kysely } from 'kysely';
import { inChunks } from '../store.ts';
import type { Tables } from '../tables.ts';

/** Time for which an id is kept. An absence is compared with the next call, which comes earlier on all but idle sites. */
const KEEP_MS = 7 * 86_400_000;

/** Stores ids; the same ids again change nothing. */
export async function keepTestChannels(
  db: Kysely<Tables>,
  channels: readonly string[],
  now: number,
): Promise<void> {
  if (channels.length === 0) return;
  await inChunks(channels, async (some) => {
    await db
      .insertInto('history_test_channels')
      .values(some.map((channel) => ({ channel, at_ms: now })))
      .onConflict((c) => c.column('channel').doNothing())
      .execute();
    return [];
  });
  await db
    .deleteFrom('history_test_channels')
    .where('at_ms', '<', now - KEEP_MS)
    .execute();
}
export async function testChannels(db: Kysely<Tables>): Promise<readonly string[]> {
  const rows = await db.selectFrom('history_test_channels').select('channel').execute();
  return rows.map((row) => row.channel);
}
