/** Who was on the other side of a channel, and who rang it; internal pairs are seen through. */
import type { Span } from './spans.ts';
import { overlap } from './spans.ts';
import { compareCalls } from '../records.ts';
import { isLeg } from './timeline.ts';
import type { ChannelLine, Timeline } from './timeline.ts';

/** Somebody on the other end of a channel, for a time. */
export interface PeerSpan extends Span {
  readonly peer: ChannelLine;
}
/** Bounds for a conference: members of one bridge that are looked at, and looks for one channel. */
const MEMBERS = 64;
const LOOKS = 20_000;
/** Who was bridged with a channel and when; internal pairs are seen through, so a peer is always a real channel. */
export function peersOf(line: Timeline, channel: ChannelLine): readonly PeerSpan[] {
  const found: PeerSpan[] = [];
  let looks = 0;
  const visit = (from: ChannelLine, within: Span, seen: readonly string[]): void => {
    for (const own of from.bridged) {
      const time = overlap(own, within);
      if (!time) continue;
      const there = line.inBridge.get(own.bridge)!;
      for (let i = 0; i < there.length && i < MEMBERS; i += 1) {
        if ((looks += 1) > LOOKS) return;
        const { channel: other, span } = there[i]!;
        if (seen.includes(other.id)) continue;
        const together = overlap(span, time);
        if (!together) continue;
        if (isLeg(other)) found.push({ ...together, peer: other });
        else if (other.pair !== null) {
          const half = line.halves.get(other.id);
          if (half) visit(half, together, [...seen, other.id, half.id]);
        }
      }
    }
  };
  visit(channel, channel, [channel.id]);
  return found.sort((a, b) => a.from - b.from || compareCalls(a.peer.id, b.peer.id));
}

/** Time of a channel with somebody in bridges or held there, and the part of it in which either side heard music because of that. */
export function talkOf(
  line: Timeline,
  channel: ChannelLine,
): { readonly bridged: readonly Span[]; readonly held: readonly Span[] } {
  const peers = peersOf(line, channel);
  const held = [
    ...channel.bridged.flatMap((b) => channel.music.map((m) => overlap(b, m))),
    ...peers.flatMap((p) => p.peer.music.map((m) => overlap(p, m))),
  ].filter((s) => s !== null);
  // Alone in a bridge it hears an announcement, e.g. of a parking slot, or waits for who is rung.
  return { bridged: [...peers, ...held], held };
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

const DIALLING = new Set(['dial', 'queue']);
export const isDialling = (app: string): boolean => DIALLING.has(app);
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
