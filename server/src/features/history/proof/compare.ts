/** Compares a call of the journal with its conversation from the call records. */
import type { Kysely } from 'kysely';
import type { EventData } from '@offhook/contract/events.ts';
import { rfc3339 } from '../../../core/clock.ts';
import type { CallRecord } from '../../../ports/call-records.ts';
import { BUILT, readRecord } from '../store/packs.ts';
import type { ConversationRecord } from '../record/record.ts';
import { spokenMs, talkClockMs } from '../record/figures.ts';
import { inChunks } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import type { Absences } from './gaps.ts';
import type { Finding } from './findings.ts';
import type { Story } from './stories.ts';
import { recordsOfStory, talkOfStory } from './story-records.ts';

/** Largest difference of talk time that is no finding; both sources agree to a fraction of a second. */
export const TOLERANCE_MS = 2_000;

function callsOf(story: Story): readonly string[] {
  return [story.call, ...story.merged.flatMap(callsOf)];
}
/** Data of a call that the call records lack. Talk times in ms; `completes`: records are added from the journal. */
export interface Lack {
  readonly kind: EventData<'history.difference'>['kind'];
  readonly records: number | null;
  readonly journal: number;
  readonly completes: boolean;
}
/** Stored data of some calls. */
export interface Stored {
  /** Call of each channel in the engine's records. */
  readonly callOf: ReadonlyMap<string, string>;
  readonly rootOf: ReadonlyMap<string, string>;
  readonly callsOf: ReadonlyMap<string, readonly string[]>;
  readonly open: ReadonlySet<string>;
  readonly records: ReadonlyMap<string, ConversationRecord>;
}
export async function storedOf(db: Kysely<Tables>, stories: readonly Story[]): Promise<Stored> {
  const channels = stories.flatMap((story) => [...story.legs.keys()]);
  const byChannel = await inChunks(channels, (some) =>
    db.selectFrom('history_channels').selectAll().where('channel', 'in', some).execute(),
  );
  const callOf = new Map(byChannel.map((row) => [row.channel, row.call]));
  const calls = [...new Set([...stories.flatMap(callsOf), ...callOf.values()])];
  const byCall = await inChunks(calls, (some) =>
    db.selectFrom('history_calls').selectAll().where('call', 'in', some).execute(),
  );
  const rootOf = new Map(byCall.map((row) => [row.call, row.root]));
  const roots = [...new Set(rootOf.values())];
  const byRoot = await inChunks(roots, (some) =>
    db.selectFrom('history_calls').selectAll().where('root', 'in', some).execute(),
  );
  const open = await inChunks(roots, (some) =>
    db
      .selectFrom('history_conversations')
      .select('root')
      .where('root', 'in', some)
      .where('built', '=', BUILT.no)
      .execute(),
  );
  const histories = await inChunks(roots, (some) =>
    db.selectFrom('conversations').select(['root', 'record']).where('root', 'in', some).execute(),
  );
  return {
    callOf,
    rootOf,
    callsOf: new Map(
      [...Map.groupBy(byRoot, (row) => row.root)].map(([root, rows]) => [root, rows.map((r) => r.call)]),
    ),
    open: new Set(open.map((row) => row.root)),
    records: new Map(histories.map((row) => [row.root, readRecord(row.record)])),
  };
}
interface JournalView {
  /** True while the call lasts. */
  readonly isOpen: (call: string) => boolean;
  /** True if the journal received no events of an engine with one of these ids during a part of the interval. */
  readonly overlaps: Absences['overlaps'];
}
/** Null if the call needs no finding; `waits` while a call merged with it lasts. */
export function lackOf(story: Story, stored: Stored, journal: JournalView): Lack | 'waits' | null {
  const journalMs = talkOfStory(story, 'held too');
  const lack = (kind: Lack['kind'], records: number | null, completes = true): Lack => ({
    kind,
    records,
    journal: journalMs,
    completes,
  });
  const calls = callsOf(story);
  const known = [...calls, ...[...story.legs.keys()].flatMap((leg) => stored.callOf.get(leg) ?? [])];
  const roots = [...new Set(known.flatMap((call) => stored.rootOf.get(call) ?? []))];
  if (roots.length === 0) return lack('not_in_records', null);
  const all = roots.flatMap((root) => stored.callsOf.get(root) ?? []);
  if (all.some((call) => !calls.includes(call) && journal.isOpen(call))) return 'waits';
  if (roots.some((root) => stored.open.has(root))) return lack('no_end_in_records', null);
  const records = roots.flatMap((root) => stored.records.get(root) ?? []);
  const [record] = records;
  // A call with a supervisor who listens has no conversation.
  if (record === undefined) return null;
  if (story.end!.reason !== 'engine_lost' && records.some((r) => r.ended_by === 'engine_lost'))
    return lack('no_end_in_records', null);
  if (records.length > 1) return lack('not_in_records', null);
  const comparable =
    !story.partial &&
    record.merged_from.length < calls.length &&
    !journal.overlaps({ from: story.from, to: story.end!.at }, [...calls, ...story.legs.keys()]);
  if (!comparable || agrees(story, record, TOLERANCE_MS)) return null;
  const recordsMs = spokenMs(record);
  return lack('talk_time', recordsMs, journalMs > recordsMs);
}
/**
 * True if both have the same talk time with holds, or without them: they may differ about a hold alone, because a phone may
 * hold by itself, and the holder may leave the held party alone to consult somebody.
 */
export const agrees = (story: Story, record: ConversationRecord, tolerance: number): boolean =>
  Math.abs(spokenMs(record) - talkOfStory(story, 'held too')) <= tolerance ||
  Math.abs(talkClockMs(record) - talkOfStory(story, 'not held')) <= tolerance;
/** Records of the journal's call, with the call ids of its conversation in the call records. */
export function recordsFor(story: Story, { rootOf, callOf }: Stored): readonly CallRecord[] {
  // The engine and the journal may use different call ids when the engine used an id twice.
  return recordsOfStory(story).map((r): CallRecord => {
    const call = rootOf.has(r.call) ? undefined : callOf.get(r.channel);
    return call === undefined ? r : { ...r, call: call as CallRecord['call'] };
  });
}
export const differenceOf = (story: Story, lack: Lack, at: number): Finding => ({
  kind: 'difference',
  at,
  data: {
    conversation_id: story.call,
    kind: lack.kind,
    from: rfc3339(story.from),
    to: rfc3339(story.end!.at),
    records_seconds: lack.records === null ? null : lack.records / 1000,
    journal_seconds: lack.journal / 1000,
    completed: lack.completes,
  },
});
