import type { CallRecord } from '../../../ports/call-records.ts';
import type { Directory, EndpointKind } from '../../../ports/directory.ts';

/**
 * A call record with what the directory said when it was stored. Building a conversation needs nothing else, so building
 * it again years later gives the same rows, whoever has moved since.
 */
export interface KnownRecord extends CallRecord {
  /** Whose channel it is; null for trunks, internal pairs and helpers. */
  readonly extension: string | null;
  readonly device: EndpointKind | null;
  /** The trunk it is a channel of; null for everything else, and for records stored before there were trunks. */
  readonly trunk?: string | null;
  /** The directory's name of `extension`; missing where it has none, and in older records. */
  readonly person_name?: string | null;
  /** The extension that the dialled or target number is; null when it is none. */
  readonly reaches: string | null;
}

export function withDirectory(record: CallRecord, directory: Directory): KnownRecord {
  const owner = record.endpoint === null ? undefined : directory.byEndpoint(record.endpoint);
  const reached = directory.byExtension(record.facts.target ?? record.dialled);
  return {
    ...record,
    extension: owner?.extension ?? null,
    device: owner?.endpoints.find((e) => e.name === record.endpoint)?.kind ?? null,
    trunk: record.endpoint === null ? null : (directory.trunkByEndpoint(record.endpoint)?.name ?? null),
    person_name: owner?.name ?? null,
    reaches: reached?.active ? reached.extension : null,
  };
}

/** Types in the order in which one moment's records are to be read: a channel begins before and ends after the rest. */
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

/** Each record once, in one order, however often and in whatever order they came. */
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

/** Orders ids by the moment in them, so that the first call of a conversation is its root. */
export function compareCalls(a: string, b: string): number {
  const [p, q] = [a, b].map((id) => /(\d{1,12})\.(\d{1,12})$/.exec(id));
  if (p && q) return Number(p[1]) - Number(q[1]) || Number(p[2]) - Number(q[2]) || compareText(a, b);
  return p ? -1 : q ? 1 : compareText(a, b);
}

/** True once nothing more is to come: a conversation was closed and every channel in it has ended. */
export function isComplete(records: readonly KnownRecord[]): boolean {
  const started = new Set<string>();
  const ended = new Set<string>();
  let closed = false;
  for (const { type, channel } of records) {
    started.add(channel);
    if (type === 'hangup' || type === 'channel_end') ended.add(channel);
    if (type === 'linked_end') closed = true;
  }
  return closed && started.size === ended.size;
}
