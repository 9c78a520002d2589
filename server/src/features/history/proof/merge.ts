/** Merges the engine's call records of a conversation with records made of the journal, which fill gaps. */
import type { BridgeId } from '@offhook/contract/ids.ts';
import type { CallRecordType } from '../../../ports/call-records.ts';
import { isComplete } from '../record/records.ts';
import type { KnownRecord } from '../record/records.ts';

/** Each kind of fact of a channel comes from one source, because a mixture would count times twice. */
const KINDS: Readonly<Partial<Record<CallRecordType, string>>> = {
  channel_start: 'start',
  hangup: 'end',
  channel_end: 'end',
  answer: 'answer',
  bridge_enter: 'bridge',
  bridge_exit: 'bridge',
  music_start: 'music',
  music_end: 'music',
  park_start: 'park',
  park_end: 'park',
};
/** Facts of the whole conversation, for which the engine's records are more exact. */
const MARKS = new Set<CallRecordType>(['blind_transfer', 'attended_transfer', 'pickup', 'forward']);
/** Ends of intervals, which need their start. */
const ENDS = new Set<CallRecordType>(['bridge_exit', 'music_end', 'park_end', 'app_end']);
const kindOf = (r: KnownRecord): string =>
  KINDS[r.type] ??
  (r.type === 'app_start' || r.type === 'app_end'
    ? `app ${r.app}`
    : r.facts.queue_status
      ? 'status'
      : r.type);
const factOf = (r: KnownRecord): string =>
  MARKS.has(r.type) ? r.type : r.type === 'linked_end' ? `${r.call} ended` : `${r.channel} ${kindOf(r)}`;
const isBridge = (r: KnownRecord): boolean => r.type === 'bridge_enter' && r.facts.holding !== true;

export interface Merged {
  readonly records: readonly KnownRecord[];
  /** True when part of the conversation is known from the journal only. */
  readonly journal: boolean;
}

/** Pure: the result depends neither on the order nor on repetitions of the records. */
export function merged(records: readonly KnownRecord[]): Merged {
  if (!records.some((r) => r.observed === 'journal')) return { records, journal: false };
  const engine = records.filter((r) => r.observed !== 'journal');
  const journal = records.filter((r) => r.observed === 'journal');
  if (isWhole(engine, journal)) return { records: engine, journal: false };
  // An end in the engine's records does not prove that its start was recorded.
  const known = new Set(
    engine.filter((r) => !ENDS.has(r.type) && (r.type !== 'bridge_enter' || isBridge(r))).map(factOf),
  );
  const bridges = bridgesOf(engine);
  const queues = queuesIn(engine);
  const added = journal
    .filter((r) => !known.has(factOf(r)) && !(r.facts.queue !== undefined && queues.has(r.facts.queue)))
    .map((r) => (r.facts.bridge === undefined ? r : inBridge(r, bridges.get(r.call) ?? r.facts.bridge)));
  const all = [...engine, ...added];
  return { records: [...all, ...lostEnds(all, journal)], journal: true };
}
/** True when the call records contain everything that the journal reports. */
function isWhole(engine: readonly KnownRecord[], journal: readonly KnownRecord[]): boolean {
  if (!isComplete(engine)) return false;
  const channels = new Set(engine.map((r) => r.channel));
  const met = new Set(engine.filter(isBridge).map((r) => r.channel));
  const queues = queuesIn(engine);
  return journal.every(
    (r) =>
      channels.has(r.channel) &&
      (!isBridge(r) || met.has(r.channel)) &&
      (r.facts.queue === undefined || queues.has(r.facts.queue)),
  );
}
/** For a placed call, the engine has the queue on an internal pair and the journal on the leg behind it. */
const queuesIn = (records: readonly KnownRecord[]): ReadonlySet<string> =>
  new Set(records.flatMap((r) => (r.type === 'app_start' ? (r.facts.queue ?? []) : [])));
const inBridge = (r: KnownRecord, bridge: BridgeId): KnownRecord => ({ ...r, facts: { ...r.facts, bridge } });
/**
 * Bridge of each call in the engine's records: the last one that a party entered. A party that only the journal reports
 * was in the same one.
 */
function bridgesOf(engine: readonly KnownRecord[]): ReadonlyMap<string, BridgeId> {
  const found = new Map<string, { at: number; bridge: BridgeId }>();
  for (const r of engine) {
    const { bridge } = r.facts;
    if (!isBridge(r) || bridge === undefined) continue;
    const before = found.get(r.call);
    if (before === undefined || r.at_us > before.at || (r.at_us === before.at && bridge > before.bridge))
      found.set(r.call, { at: r.at_us, bridge });
  }
  return new Map([...found].map(([call, { bridge }]) => [call, bridge]));
}
/** Ends of internal channels, which the journal does not report: the end of their call at the latest. */
function lostEnds(all: readonly KnownRecord[], journal: readonly KnownRecord[]): readonly KnownRecord[] {
  const over = journal.filter((r) => r.type === 'linked_end').sort((a, b) => b.at_us - a.at_us)[0];
  if (over === undefined) return [];
  const ended = new Set(
    all.filter((r) => r.type === 'hangup' || r.type === 'channel_end').map((r) => r.channel),
  );
  const last = new Map<string, KnownRecord>();
  for (const r of all) {
    if (ended.has(r.channel) || r.observed === 'journal') continue;
    const before = last.get(r.channel);
    if (before === undefined || r.at_us > before.at_us) last.set(r.channel, r);
  }
  return [...last.values()].map((r) => ({
    ...r,
    type: 'channel_end' as const,
    at_us: Math.max(r.at_us, over.at_us),
    app: '',
    app_data: '',
    facts: {},
    observed: 'journal' as const,
    key: `end-${r.channel}`,
  }));
}
