import type { CallRecord } from '../../../ports/call-records.ts';
import type { Directory, EndpointKind } from '../../../ports/directory.ts';

/**
 * A call record with the directory's data at the time it was stored. A rebuild needs nothing else, so that it gives the
 * same rows years later, even after people changed extensions.
 */
export interface KnownRecord extends CallRecord {
  /** Extension of the channel's endpoint; null for trunks, internal pairs and helpers. */
  readonly extension: string | null;
  readonly device: EndpointKind | null;
  /** Trunk of the channel; null for other channels, and missing in records stored before there were trunks. */
  readonly trunk?: string | null;
  /** Name of `extension` in the directory; missing in older records. */
  readonly person_name?: string | null;
  /** The extension with the dialled or target number; null if there is none. */
  readonly reaches: string | null;
  /** Of a `forward`: the extension whose calls go to another number; missing in older records and in other ones. */
  readonly forwarder?: string;
}

export function withDirectory(record: CallRecord, directory: Directory): KnownRecord {
  const owner = record.endpoint === null ? undefined : directory.byEndpoint(record.endpoint);
  const active = (number: string): string | null => {
    const found = directory.byExtension(number);
    return found?.active ? found.extension : null;
  };
  const forwarder = record.type === 'forward' ? active(record.dialled) : null;
  return {
    ...record,
    extension: owner?.extension ?? null,
    device: owner?.endpoints.find((e) => e.name === record.endpoint)?.kind ?? null,
    trunk: record.endpoint === null ? null : (directory.trunkByEndpoint(record.endpoint)?.name ?? null),
    person_name: owner?.name ?? null,
    reaches: active(record.facts.target ?? record.dialled),
    ...(forwarder === null ? {} : { forwarder }),
  };
}

/** Order of records with the same time: the start of a channel comes first, its end last. */
const ORDER: readonly CallRecord['type'][] = [
  'channel_start',
  'app_start',
  'forward',
  'answer',
  'pickup',
  'park_end',
  'music_end',
  'bridge_exit',
  'bridge_enter',
  'music_start',
  'park_start',
  'local_optimize_begin',
  'local_optimize',
  'blind_transfer',
  'attended_transfer',
  'user_defined',
  'app_end',
  'hangup',
  'channel_end',
  'linked_end',
];
const RANK = new Map(ORDER.map((type, i) => [type, i]));
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Each record once, in a fixed order that does not depend on the input's. */
export function inOrder(records: readonly KnownRecord[]): readonly KnownRecord[] {
  const once = new Map(records.map((record) => [record.key, record]));
  return [...once.values()].sort(
    (a, b) =>
      a.at_us - b.at_us ||
      RANK.get(a.type)! - RANK.get(b.type)! ||
      compareText(a.channel, b.channel) ||
      compareText(a.key, b.key),
  );
}

/** Orders ids by the time in them, so that the first call of a conversation is its root. */
export function compareCalls(a: string, b: string): number {
  const [p, q] = [a, b].map((id) => /(\d{1,12})\.(\d{1,12})$/.exec(id));
  if (p && q) return Number(p[1]) - Number(q[1]) || Number(p[2]) - Number(q[2]) || compareText(a, b);
  return p ? -1 : q ? 1 : compareText(a, b);
}

/** True for the key of a pair between two engines: the id of the half that called. */
export const isChannel = (key: string): boolean => /^[A-Za-z0-9_-]{1,40}:\d{9,12}\.\d{1,12}$/.test(key);

/** As `compareCalls`, but the calls in `far`, which a call of this conversation began at another engine, come last. */
export const firstOf = (a: string, b: string, far: ReadonlySet<string>): number =>
  Number(far.has(a)) - Number(far.has(b)) || compareCalls(a, b);

/** True if the conversation was closed and every channel in it has ended: no more records will come. */
export function isComplete(records: readonly KnownRecord[]): boolean {
  const started = new Set<string>();
  const ended = new Set<string>();
  const halves = new Map<string, Set<string>>();
  let closed = false;
  for (const { type, channel, pair } of records) {
    started.add(channel);
    if (type === 'hangup' || type === 'channel_end') ended.add(channel);
    if (type === 'linked_end') closed = true;
    if (pair !== null) halves.set(pair, (halves.get(pair) ?? new Set()).add(channel));
  }
  // An answered call to another engine also has records of that engine.
  for (const { type, pair } of records)
    if (type === 'answer' && pair !== null && isChannel(pair) && halves.get(pair)!.size < 2) return false;
  return closed && started.size === ended.size;
}
