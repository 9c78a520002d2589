/** Times without engine events, and channels of the engine that neither the call records nor the journal have. */
import type { Kysely } from 'kysely';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { inChunks } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';

/** Milliseconds since 1970. */
export interface Absence {
  readonly from: number;
  readonly to: number;
}
export interface LostChannels extends Absence {
  readonly channels: number;
}
const KEPT = 200;

/** Events caused by the engine; others are also published while the link is down, e.g. findings of the history. */
const HEARD = /^(engine|call|offer|agent|presence)\.|^queue\.caller_(?!settled)/;
export const isHeard = ({ type }: { readonly type: string }): boolean => HEARD.test(type);
/**
 * An absence lasts from the engine's last event before the link or the service was lost to the end of the resync.
 * `heard`: time of the engine's last event before the given ones.
 */
export function createAbsences(known: readonly Absence[], heard: number | null = null) {
  const found = [...known];
  let from: number | null = null;
  let newest = heard;
  return {
    /** Accepts every event, in order; returns the absence that the event ends. */
    take(type: string, at: number): Absence | null {
      const before = newest;
      if (isHeard({ type })) newest = Math.max(newest ?? at, at);
      if (type === 'engine.link_down') from ??= before ?? at;
      // A killed service writes no `engine.link_down`.
      if (type === 'engine.link_up') from ??= before ?? at;
      if (type !== ('engine.resynced' satisfies DomainEvent['type']) || from === null) return null;
      const absence = { from, to: at };
      from = null;
      found.push(absence);
      if (found.length > KEPT) found.shift();
      return absence;
    },
    overlaps: (span: Absence): boolean =>
      (from !== null && span.to >= from) || found.some((a) => a.from <= span.to && a.to >= span.from),
  };
}

const CHANNEL = /^[^:]*:(\d{9,12})\.(\d{1,12})$/;
/** An id chosen by the service has the second of its channel, but not the engine's serial number. */
const CHOSEN = /-(\d{9,12})\.[12]$/;
/**
 * Finds unrecorded channels: the engine numbers channels consecutively, so a missing number between two known ones is
 * an unrecorded channel, unless the service chose the id of a channel of that time. Null while no channel after the
 * absence is known. `channels`: all known ids around the absence.
 */
export function lostIn(absence: Absence, channels: Iterable<string>): readonly LostChannels[] | null {
  const known = new Map<number, number>();
  const chosen: number[] = [];
  for (const id of new Set(channels)) {
    const [, seconds, serial] = CHANNEL.exec(id) ?? [];
    if (seconds !== undefined) known.set(Number(serial), Number(seconds) * 1000);
    const [, second] = CHOSEN.exec(id) ?? [];
    if (second !== undefined) chosen.push(Number(second) * 1000);
  }
  const serials = [...known].sort((a, b) => a[0] - b[0]);
  if (!serials.some(([, at]) => at >= absence.to - 1000)) return null;
  return serials.flatMap(([serial, at], i) => {
    const before = serials[i - 1];
    if (before === undefined) return [];
    const missing = serial - before[0] - 1;
    const outside = at + 1000 <= absence.from || before[1] > absence.to || at < before[1];
    if (missing === 0 || outside) return [];
    // The clocks of service and engine differ slightly.
    const ours = chosen.filter((second) => second >= before[1] - 1000 && second <= at + 1000).length;
    return missing > ours ? [{ from: before[1], to: at + 1000, channels: missing - ours }] : [];
  });
}
/**
 * The part of `missing` that the channels of test calls do not explain. A test call of another day is next to a number
 * that `channels` does not contain, so it may only make a gap smaller.
 */
export function unexplainedBy(
  tests: readonly string[],
  absence: Absence,
  channels: readonly string[],
  missing: readonly LostChannels[],
): readonly LostChannels[] {
  if (missing.length === 0) return missing;
  const left = lostIn(absence, [...channels, ...tests]) ?? [];
  return left.filter((one) => missing.some((gap) => gap.from <= one.from && one.to <= gap.to));
}

/** Storage time of a test call's channel; except at idle sites, an absence is compared sooner. */
const KEEP_MS = 7 * 86_400_000;

/** Stores channels of the service's test calls: they are in no call record, but the engine numbers them. Idempotent. */
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
/** Gaps of an absence; null until a later channel is known. `legs`: channels of the journal; `tests`: of test calls. */
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
