/** Call records of a conversation as intervals of each channel. */
import { nodeOf } from '@offhook/contract/ids.ts';
import type { EndpointKind } from '../../../ports/directory.ts';
import type { KnownRecord } from './records.ts';
import { compareCalls, firstOf, inOrder } from './records.ts';
import type { Span } from './figures.ts';

/** Interval in a bridge where people can talk. */
export interface BridgeSpan extends Span {
  readonly bridge: string;
}
export interface AppSpan extends Span {
  readonly app: string;
  readonly data: string;
  readonly queue: string | null;
  /** Channel that waited in this queue until a transfer replaced it by this one. */
  readonly replaces?: string;
}
/** One channel from its first record to its last. */
export interface ChannelLine extends Span {
  readonly id: string;
  readonly name: string;
  /** Null for internal pairs and helpers, which are never legs. */
  readonly endpoint: string | null;
  readonly extension: string | null;
  readonly person_name: string | null;
  readonly trunk: string | null;
  readonly device: EndpointKind | null;
  readonly pair: string | null;
  readonly number: string;
  readonly caller_name: string;
  /** First channel of a call: it dialled, or the engine placed the call for it. */
  readonly first: boolean;
  /** True if the engine rang it. */
  readonly rung: boolean;
  /** First dialled number; for a rung channel, the number dialled to reach it. */
  readonly dialled: string;
  readonly last_dialled: string;
  readonly answered: number | null;
  readonly answered_in: string;
  readonly ended: boolean;
  readonly cause: number | null;
  /** Name of the channel that hung up; empty if the engine names none. */
  readonly hung_up_by: string;
  readonly hung_up_itself: boolean;
  readonly dial_status: string;
  readonly bridged: readonly BridgeSpan[];
  readonly music: readonly Span[];
  readonly parked: readonly Span[];
  readonly apps: readonly AppSpan[];
  /** Extensions that its dialling or transfers reach, with the time of the first such record. */
  readonly reaches: ReadonlyMap<string, number>;
}
/** True for a channel that is neither a half of an internal pair nor a helper of the engine. */
export const isLeg = (c: ChannelLine): boolean => c.endpoint !== null && c.pair === null;
/** True if an application of this name rings other channels. */
export const isDialling = (app: string): boolean => app === 'dial' || app === 'queue';
export interface Timeline extends Span {
  /** In order of their start. */
  readonly channels: readonly ChannelLine[];
  readonly byId: ReadonlyMap<string, ChannelLine>;
  /** Smallest call id of the conversation; `merged` has all others. */
  readonly root: string;
  readonly merged: readonly string[];
  /** Transfers, pickups, parking, forwards and user-defined records of the dialplan, in order. */
  readonly marks: readonly KnownRecord[];
  /** Channels that picked up a ringing call or retrieved a parked one. */
  readonly takers: ReadonlySet<string>;
  /** Channels whose ringing was picked up by another channel. */
  readonly taken: ReadonlySet<string>;
  /** The other half of each half of an internal pair. */
  readonly halves: ReadonlyMap<string, ChannelLine>;
  /** Channels in each bridge, each with its interval. */
  readonly inBridge: ReadonlyMap<string, readonly Member[]>;
}
export interface Member {
  readonly channel: ChannelLine;
  readonly span: BridgeSpan;
}

/** Values of the dialplan for "no number was dialled". */
const NO_NUMBER = new Set(['', 's', 'h', 't', 'i']);
const MARKS = new Set<KnownRecord['type']>([
  'blind_transfer',
  'attended_transfer',
  'pickup',
  'forward',
  'park_start',
  'park_end',
  'user_defined',
]);

/** Pure: the same records in any order, however often, give the same lines. Near linear in their number. */
export function timelineOf(unordered: readonly KnownRecord[]): Timeline {
  const records = straightened(inOrder(unordered));
  const last = records.at(-1)?.at_us ?? 0;
  const byId = new Map<string, Draft>();
  const calls = new Set<string>();
  const marks: KnownRecord[] = [];
  for (const r of records) {
    let draft = byId.get(r.channel);
    if (draft === undefined) byId.set(r.channel, (draft = begun(r)));
    take(draft, r);
    calls.add(r.call);
    if (MARKS.has(r.type)) marks.push(r);
    if (r.type !== 'attended_transfer') continue;
    draft.passed_on = r.at_us;
    passWait(byId, r);
  }
  // The half at the called engine begins a call there, but it was rung by the half whose id is the key of the pair.
  const isFar = ({ pair, first }: ReturnType<typeof begun>): boolean =>
    pair !== null && pair !== first.channel && byId.has(pair);
  for (const d of byId.values()) if (isFar(d)) d.began_call = false;
  const channels = [...byId.values()].map((d) => finished(d, last));
  channels.sort((a, b) => a.from - b.from || compareCalls(a.id, b.id));
  const far = new Set([...byId.values()].filter(isFar).map((d) => d.first.call as string));
  const [root = '', ...merged] = [...calls].sort((a, b) => firstOf(a, b, far));
  return {
    from: records[0]?.at_us ?? 0,
    to: last,
    channels,
    byId: new Map(channels.map((c) => [c.id, c])),
    root,
    merged,
    marks,
    ...takersOf(marks, channels),
    halves: halvesOf(channels),
    inBridge: membersOf(channels),
  };
}

/** Serial number of a channel, in order of creation; null for an id that was assigned. */
const serialOf = (channel: string): number | null => {
  const found = /^(?:[^:]*:)?\d{1,12}\.(\d{1,12})$/.exec(channel);
  return found ? Number(found[1]) : null;
};
/** Smaller distances are not evidence of a clock that was set back. */
const SET_BACK_US = 1_000_000;
/**
 * A clock that is set back during a conversation gives records a time before the start of its first channel. They are
 * moved behind all other records; distances between them stay.
 */
function straightened(records: readonly KnownRecord[]): readonly KnownRecord[] {
  // Serial numbers of two engines cannot be compared.
  if (new Set(records.map((r) => nodeOf(r.channel))).size > 1) return records;
  const serials = new Map<string, number | null>();
  let [least, channel] = [Infinity, ''];
  let earliest: number | undefined;
  for (const r of records) {
    let serial = serials.get(r.channel);
    if (serial === undefined) serials.set(r.channel, (serial = serialOf(r.channel)));
    if (serial === null) continue;
    earliest ??= r.at_us;
    if (serial < least) [least, channel] = [serial, r.channel];
  }
  const began = records.find((r) => r.channel === channel && r.type === 'channel_start')?.at_us;
  if (began === undefined || earliest! > began - SET_BACK_US) return records;
  const before = records.filter((r) => r.at_us >= began);
  const shift = before.at(-1)!.at_us - records[0]!.at_us;
  const after = records.filter((r) => r.at_us < began).map((r) => ({ ...r, at_us: r.at_us + shift }));
  return [...before, ...after];
}

type Open<T> = { -readonly [K in keyof T]: T[K] };
interface Draft {
  readonly first: KnownRecord;
  start: KnownRecord | undefined;
  answer: KnownRecord | undefined;
  hangup: KnownRecord | undefined;
  end: KnownRecord | undefined;
  known: KnownRecord | undefined;
  /** Time of its attended transfer. */
  passed_on: number | undefined;
  trunk: string | null;
  endpoint: string | null;
  /** A half of a call between two engines gets its pair only when the dialplan has run. */
  pair: string | null;
  number: string;
  caller_name: string;
  began_call: boolean;
  dialled: string;
  last_dialled: string;
  dial_status: string;
  readonly bridged: Open<BridgeSpan>[];
  readonly music: Open<Span>[];
  readonly parked: Open<Span>[];
  readonly apps: Open<AppSpan>[];
  readonly running: Map<string, Open<AppSpan>>;
  readonly reaches: Map<string, number>;
}
/** End of an interval that is still open. */
const OPEN = Number.MAX_SAFE_INTEGER;
/** The engine moves a channel in several steps within this time. */
const SETTLED_US = 100_000;

const begun = (first: KnownRecord): Draft => ({
  first,
  start: undefined,
  answer: undefined,
  hangup: undefined,
  end: undefined,
  known: undefined,
  passed_on: undefined,
  trunk: null,
  endpoint: null,
  pair: null,
  number: '',
  caller_name: '',
  began_call: false,
  dialled: '',
  last_dialled: '',
  dial_status: '',
  bridged: [],
  music: [],
  parked: [],
  apps: [],
  running: new Map(),
  reaches: new Map(),
});

function take(d: Draft, r: KnownRecord): void {
  if (d.known === undefined && r.extension !== null) d.known = r;
  d.trunk ??= r.trunk ?? null;
  d.endpoint ??= r.endpoint;
  d.pair ??= r.pair;
  if (d.number === '') d.number = r.caller_number;
  if (d.caller_name === '') d.caller_name = r.caller_name;
  if (r.call === (r.channel as string)) d.began_call = true;
  if (!NO_NUMBER.has(r.dialled)) {
    if (d.dialled === '') d.dialled = r.dialled;
    d.last_dialled = r.dialled;
  }
  if (r.facts.dial_status !== undefined) d.dial_status = r.facts.dial_status;
  if (r.reaches !== null && !d.reaches.has(r.reaches)) d.reaches.set(r.reaches, r.at_us);
  takeStep(d, r);
}
function takeStep(d: Draft, r: KnownRecord): void {
  const at = r.at_us;
  switch (r.type) {
    case 'channel_start':
      d.start ??= r;
      return;
    case 'answer':
      d.answer ??= r;
      return;
    case 'hangup':
      d.hangup ??= r;
      return;
    case 'channel_end':
      d.end ??= r;
      return;
    case 'app_start':
      return appStarted(d, r);
    case 'app_end': {
      const running = d.running.get(r.app);
      if (running) running.to = at;
      d.running.delete(r.app);
      return;
    }
    case 'bridge_enter':
    case 'bridge_exit':
      return bridgeChanged(d, r);
    case 'music_start':
      return begin(d.music, at);
    case 'music_end':
      return end(d.music, at);
    case 'park_start':
      return begin(d.parked, at);
    case 'park_end':
      return end(d.parked, at);
    default:
  }
}
function begin(spans: Open<Span>[], at: number): void {
  if (spans.at(-1)?.to !== OPEN) spans.push({ from: at, to: OPEN });
}
function end(spans: Open<Span>[], at: number): void {
  const last = spans.at(-1);
  if (last?.to === OPEN) last.to = at;
}
function appStarted(d: Draft, r: KnownRecord): void {
  if (d.running.has(r.app)) return;
  const span = { from: r.at_us, to: OPEN, app: r.app, data: r.app_data, queue: r.facts.queue ?? null };
  d.apps.push(span);
  d.running.set(r.app, span);
}
/** A channel is in one bridge at most: entering another bridge leaves the previous one. */
function bridgeChanged(d: Draft, { type, at_us, facts }: KnownRecord): void {
  if (facts.bridge === undefined) return;
  const last = d.bridged.at(-1);
  const open = last?.to === OPEN ? last : undefined;
  if (type === 'bridge_exit') {
    if (open?.bridge === facts.bridge) open.to = at_us;
    return;
  }
  if (open?.bridge === facts.bridge && !facts.holding) return;
  if (open) open.to = at_us;
  if (!facts.holding) d.bridged.push({ from: at_us, to: OPEN, bridge: facts.bridge });
}

/** The transferee goes on waiting in the queue in which the transferer's second channel waited. */
function passWait(byId: ReadonlyMap<string, Draft>, { facts, at_us }: KnownRecord): void {
  const second = byId.get(facts.replaces ?? '');
  const to = byId.get(facts.other ?? '');
  const waits = second?.running.get('queue');
  if (second === undefined || to === undefined || waits === undefined) return;
  const own = to.running.get('queue');
  if (own) own.to = at_us;
  waits.to = at_us;
  second.running.delete('queue');
  const span = { ...waits, from: at_us, to: OPEN, replaces: second.first.channel };
  to.apps.push(span);
  to.running.set('queue', span);
}

function finished(d: Draft, last: number): ChannelLine {
  const { first } = d;
  const to = Math.min(Math.max(first.at_us, (d.end ?? d.hangup)?.at_us ?? last), goneAt(d));
  for (const spans of [d.bridged, d.music, d.parked, d.apps]) {
    for (const span of spans) if (span.to === OPEN) span.to = Math.max(span.from, to);
  }
  const answered_in = d.answer?.app ?? '';
  const hung_up_by = d.hangup?.facts.source ?? '';
  const began = d.start?.dialled ?? '';
  return {
    from: first.at_us,
    to,
    id: first.channel,
    name: first.channel_name,
    endpoint: d.endpoint,
    extension: d.known?.extension ?? null,
    person_name: d.known?.person_name ?? null,
    trunk: d.trunk,
    device: d.known?.device ?? null,
    pair: d.pair,
    number: d.number,
    caller_name: d.caller_name,
    first: d.began_call,
    rung: d.began_call
      ? answered_in.startsWith('appdial') || (d.answer === undefined && d.apps.length === 0 && began === 's')
      : true,
    dialled: d.dialled,
    last_dialled: d.last_dialled,
    answered: d.answer?.at_us ?? null,
    answered_in,
    ended: d.end !== undefined || d.hangup !== undefined,
    cause: d.hangup?.facts.cause ?? null,
    hung_up_by,
    hung_up_itself: hung_up_by !== '' && hung_up_by === d.hangup?.channel_name,
    dial_status: d.dial_status,
    bridged: d.bridged,
    music: d.music,
    parked: d.parked,
    apps: d.apps,
    reaches: d.reaches,
  };
}

/**
 * After an attended transfer to a ringing target, the engine keeps the transferer's channel until the target answers,
 * although its phone has hung up.
 */
function goneAt({ passed_on, bridged }: Draft): number {
  const last = bridged.at(-1);
  if (passed_on === undefined || last === undefined || last.to > passed_on + SETTLED_US) return OPEN;
  return Math.max(passed_on, last.to);
}

function takersOf(
  marks: readonly KnownRecord[],
  channels: readonly ChannelLine[],
): Pick<Timeline, 'takers' | 'taken'> {
  const takers = new Set<string>();
  const taken = new Set<string>();
  const names = new Set<string>();
  for (const r of marks) {
    if (r.type === 'pickup' && r.facts.other !== undefined) {
      takers.add(r.facts.other);
      taken.add(r.channel);
    }
    if (r.type === 'park_end' && r.facts.other_name !== undefined) names.add(r.facts.other_name);
  }
  if (names.size > 0) for (const c of channels) if (names.has(c.name)) takers.add(c.id);
  return { takers, taken };
}
function halvesOf(channels: readonly ChannelLine[]): ReadonlyMap<string, ChannelLine> {
  const first = new Map<string, ChannelLine>();
  const other = new Map<string, ChannelLine>();
  for (const c of channels) {
    if (c.pair === null) continue;
    const half = first.get(c.pair);
    if (half === undefined) first.set(c.pair, c);
    else if (!other.has(half.id)) other.set(half.id, c).set(c.id, half);
  }
  return other;
}
function membersOf(channels: readonly ChannelLine[]): ReadonlyMap<string, readonly Member[]> {
  const found = new Map<string, Member[]>();
  for (const channel of channels) {
    for (const span of channel.bridged) {
      const there = found.get(span.bridge);
      if (there) there.push({ channel, span });
      else found.set(span.bridge, [{ channel, span }]);
    }
  }
  return found;
}
