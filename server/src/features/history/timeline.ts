import type { EndpointKind } from '../../ports/directory.ts';
import type { KnownRecord } from './records.ts';
import { compareCalls, inOrder } from './records.ts';
import type { Span } from './spans.ts';
import { overlap } from './spans.ts';

interface Running {
  from: number;
  to: number | null;
}
/** One channel from its first record to its last. */
export interface ChannelLine extends Span {
  readonly id: string;
  readonly name: string;
  readonly extension: string | null;
  readonly device: EndpointKind | null;
  readonly pair: string | null;
  readonly number: string;
  readonly caller_name: string;
  /** True for the first channel of a call: it was not rung, it dialled (or the engine was told to dial for it). */
  readonly first: boolean;
  /** The number it dialled first; for a channel that was rung, what was dialled to reach it. */
  readonly dialled: string;
  readonly last_dialled: string;
  readonly answered: number | null;
  readonly answered_in: string;
  readonly cause: number | null;
  readonly hung_up_itself: boolean;
  readonly dial_status: string;
  /** Times in bridges where people can talk. */
  readonly bridged: readonly (Span & { readonly bridge: string })[];
  readonly music: readonly Span[];
  readonly apps: readonly (Span & { readonly app: string; readonly queue: string | null })[];
  /** Extensions its dialling or transfers aimed at, with the time of the first record that says so. */
  readonly reaches: ReadonlyMap<string, number>;
}
export interface Timeline extends Span {
  /** In order of their start. */
  readonly channels: readonly ChannelLine[];
  /** The smallest call id in it. */
  readonly root: string;
  /** Channels that took a call which rang somebody else, or was parked. */
  readonly takers: ReadonlySet<string>;
  /** Channels whose ringing was taken by somebody else's pickup. */
  readonly taken: ReadonlySet<string>;
}

/** The dialplan's own name for "no number was dialled". */
const NO_NUMBER = new Set(['', 's', 'h', 't', 'i']);
const DIALLING = new Set(['dial', 'queue']);

/** What happened on each channel. Pure: the same records in any order, however often, give the same lines. */
export function timelineOf(unordered: readonly KnownRecord[]): Timeline {
  const records = inOrder(unordered);
  const last = records.at(-1)?.at_us ?? 0;
  const groups = Map.groupBy(records, (r) => r.channel);
  const channels = [...groups.values()]
    .map((own) => channelLine(own, last))
    .sort((a, b) => a.from - b.from || compareCalls(a.id, b.id));
  const takers = new Set<string>();
  const taken = new Set<string>();
  for (const r of records) {
    if (r.type === 'pickup' && r.facts.other !== undefined) {
      takers.add(r.facts.other);
      taken.add(r.channel);
    }
    if (r.type === 'park_end' && r.facts.other_name !== undefined) {
      for (const c of channels) if (c.name === r.facts.other_name) takers.add(c.id);
    }
  }
  const root = [...new Set(records.map((r) => r.call))].sort(compareCalls)[0] ?? '';
  return { from: records[0]?.at_us ?? 0, to: last, channels, root, takers, taken };
}

function channelLine(own: readonly KnownRecord[], last: number): ChannelLine {
  const first = own[0]!;
  const of = (...types: KnownRecord['type'][]): KnownRecord | undefined =>
    own.find((r) => types.includes(r.type));
  const ended = of('channel_end') ?? of('hangup');
  const to = ended?.at_us ?? last;
  const hangup = of('hangup');
  const answer = of('answer');
  const dialled = own.filter((r) => !NO_NUMBER.has(r.dialled)).map((r) => r.dialled);
  const reaches = new Map<string, number>();
  for (const r of own) if (r.reaches !== null && !reaches.has(r.reaches)) reaches.set(r.reaches, r.at_us);
  return {
    from: first.at_us,
    to,
    id: first.channel,
    name: first.channel_name,
    extension: own.find((r) => r.extension !== null)?.extension ?? null,
    device: own.find((r) => r.device !== null)?.device ?? null,
    pair: first.pair,
    number: own.find((r) => r.caller_number !== '')?.caller_number ?? '',
    caller_name: own.find((r) => r.caller_name !== '')?.caller_name ?? '',
    first: own.some((r) => r.call === (r.channel as string)),
    dialled: dialled[0] ?? '',
    last_dialled: dialled.at(-1) ?? '',
    answered: answer?.at_us ?? null,
    answered_in: answer?.app ?? '',
    cause: hangup?.facts.cause ?? null,
    hung_up_itself: hangup?.facts.source !== undefined && hangup.facts.source === hangup.channel_name,
    dial_status: own.findLast((r) => r.facts.dial_status !== undefined)?.facts.dial_status ?? '',
    bridged: bridgesOf(own, to),
    music: spansOf(own, to, 'music_start', 'music_end', () => '').map(({ from, to: end }) => ({
      from,
      to: end,
    })),
    apps: spansOf(own, to, 'app_start', 'app_end', (r) => r.app).map(({ record, ...span }) => ({
      ...span,
      app: record.app,
      queue: record.facts.queue ?? null,
    })),
    reaches,
  };
}

/** From each beginning to the next end of the same thing; what never ended lasts as long as the channel. */
function spansOf(
  own: readonly KnownRecord[],
  to: number,
  begin: KnownRecord['type'],
  end: KnownRecord['type'],
  what: (r: KnownRecord) => string,
): readonly (Span & { readonly record: KnownRecord })[] {
  const found: (Running & { record: KnownRecord })[] = [];
  for (const r of own) {
    const open = found.findLast((s) => s.to === null && what(s.record) === what(r));
    if (r.type === begin && !open) found.push({ from: r.at_us, to: null, record: r });
    if (r.type === end && open) open.to = r.at_us;
  }
  return found.map(({ from, to: ended, record }) => ({ from, to: Math.max(from, ended ?? to), record }));
}

/** A channel is in one bridge at most, so entering another one leaves the one before. */
function bridgesOf(own: readonly KnownRecord[], to: number): readonly (Span & { readonly bridge: string })[] {
  const found: (Running & { bridge: string })[] = [];
  for (const { type, at_us, facts } of own) {
    if (facts.bridge === undefined) continue;
    const open = found.findLast((s) => s.to === null);
    if (type === 'bridge_exit' && open?.bridge === facts.bridge) open.to = at_us;
    if (type !== 'bridge_enter' || (open?.bridge === facts.bridge && !facts.holding)) continue;
    if (open) open.to = at_us;
    if (!facts.holding) found.push({ from: at_us, to: null, bridge: facts.bridge });
  }
  return found.map(({ from, to: ended, bridge }) => ({ from, to: Math.max(from, ended ?? to), bridge }));
}

/** Somebody on the other end of a channel, for a time. */
export interface PeerSpan extends Span {
  readonly peer: ChannelLine;
}
/** Who was bridged with a channel and when; internal pairs are seen through, so a peer is always a real channel. */
export function peersOf(line: Timeline, channel: ChannelLine): readonly PeerSpan[] {
  const found: PeerSpan[] = [];
  const visit = (from: ChannelLine, within: Span, seen: ReadonlySet<string>): void => {
    for (const own of from.bridged) {
      const time = overlap(own, within);
      if (!time) continue;
      for (const other of line.channels) {
        if (seen.has(other.id)) continue;
        for (const there of other.bridged) {
          const together = there.bridge === own.bridge ? overlap(there, time) : null;
          if (!together) continue;
          if (other.pair === null) found.push({ ...together, peer: other });
          else {
            const half = line.channels.find((c) => c.pair === other.pair && c.id !== other.id);
            if (half) visit(half, together, new Set([...seen, other.id, half.id]));
          }
        }
      }
    }
  };
  visit(channel, channel, new Set([channel.id]));
  return found.sort((a, b) => a.from - b.from || compareCalls(a.peer.id, b.peer.id));
}

/** Time of a channel in bridges, and the part of it in which either side heard music because it was held. */
export function talkOf(
  line: Timeline,
  channel: ChannelLine,
): { readonly bridged: readonly Span[]; readonly held: readonly Span[] } {
  const held = [
    ...channel.bridged.flatMap((b) => channel.music.map((m) => overlap(b, m))),
    ...peersOf(line, channel).flatMap((p) => p.peer.music.map((m) => overlap(p, m))),
  ];
  return { bridged: channel.bridged, held: held.filter((s) => s !== null) };
}

/** One wait of one channel in one queue. */
export interface QueueVisit extends Span {
  readonly queue: string;
  readonly caller: ChannelLine;
  readonly answered: boolean;
}
/** Every wait, from joining to the first bridge or to leaving. */
export function visitsOf(channels: readonly ChannelLine[]): readonly QueueVisit[] {
  return channels.flatMap((caller) =>
    caller.apps
      .filter((a) => a.queue !== null)
      .map((a) => {
        const met = caller.bridged.find((b) => b.from >= a.from && b.from <= a.to);
        return { from: a.from, to: met?.from ?? a.to, queue: a.queue!, caller, answered: met !== undefined };
      }),
  );
}

/** The channel whose dialling rang this one; null where nothing was dialling then. */
export function diallerOf(line: Timeline, rung: ChannelLine): ChannelLine | null {
  let found: { channel: ChannelLine; from: number } | null = null;
  for (const channel of line.channels) {
    if (channel.id === rung.id) continue;
    for (const app of channel.apps) {
      if (!DIALLING.has(app.app) || app.from > rung.from || app.to < rung.from) continue;
      if (found === null || app.from > found.from) found = { channel, from: app.from };
    }
  }
  return found?.channel ?? null;
}
