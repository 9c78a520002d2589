/** Channels of the engine that neither the call records nor the journal have. */
import type { Kysely } from 'kysely';
import { inChunks } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import { lostIn, unexplainedBy } from './absences.ts';
import type { Absence, LostChannels } from './absences.ts';

/** Time for which the channel of a test call is kept. An absence is compared with the next call, which comes earlier on all but idle sites. */
const KEEP_MS = 7 * 86_400_000;

/**
 * Stores channels of the service's test calls, which no call record names and which the engine numbers like all others. The
 * same ids again change nothing.
 */
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

const AROUND_US = 3_600_000_000;
/** Channels of the conversations in the call records around an absence. */
async function channelsAround(db: Kysely<Tables>, { from, to }: Absence): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('history_channels')
    .innerJoin('history_calls', 'history_calls.call', 'history_channels.call')
    .innerJoin('history_conversations', 'history_conversations.root', 'history_calls.root')
    .select('history_channels.channel')
    .where('history_conversations.last_us', '>=', from * 1000 - AROUND_US)
    .where('history_conversations.last_us', '<=', to * 1000 + AROUND_US)
    .execute();
  return rows.map((row) => row.channel);
}
/** Gaps of an absence; null until a later channel is known. `legs`: channels that the journal knows; `tests`: those of test calls. */
export async function gapsOf(
  db: Kysely<Tables>,
  absence: Absence,
  legs: Iterable<string>,
  tests: () => Promise<readonly string[]>,
): Promise<readonly LostChannels[] | null> {
  const around = [...(await channelsAround(db, absence)), ...legs];
  const missing = lostIn(absence, around);
  if (missing === null || missing.length === 0) return missing;
  return unexplainedBy(await tests(), absence, around, missing);
}
