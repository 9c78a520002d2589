/** The dialling that rang a channel, and the leg behind it. */
import { isDialling, isLeg } from './timeline.ts';
import type { AppSpan, ChannelLine, Timeline } from './timeline.ts';
import type { KnownRecord } from './records.ts';

/** An application that rings others, and the channel it runs on. */
export interface Dialling {
  readonly channel: ChannelLine;
  readonly app: AppSpan;
}
/** Origin of a channel that was rung. */
export interface Origin {
  /** Diallings that led to it, the nearest first; several where internal pairs lie between. */
  readonly chain: readonly Dialling[];
  /** Outermost dialling, shared by all legs that ring together; null where the engine rang the channel by itself. */
  readonly top: Dialling | null;
  /** The leg it was rung for; null where the engine rang it by itself. */
  readonly by: ChannelLine | null;
  /** The leg that consults this one in an attended transfer: the internal pair began on it during its talk. */
  readonly consult: ChannelLine | null;
  /** The engine placed the call and rang this leg first. */
  readonly placed: boolean;
}
export interface Origins {
  of(channel: ChannelLine): Origin;
  /** True if a dialling ran for this channel when it began. */
  isRung(channel: ChannelLine): boolean;
  /** The leg that this half of a pair first met in a bridge. */
  metBy(half: ChannelLine): ChannelLine | null;
}

const NOTHING: Origin = { chain: [], top: null, by: null, consult: null, placed: false };
/** Limit of internal pairs in a row. */
const DEPTH = 8;
const PAIR_NUMBER = /-[0-9a-f]{8}$/;
/** The name by which the arguments of a dialling name this channel. */
const nameOf = (c: ChannelLine): string =>
  c.endpoint ?? (c.pair === null ? c.name : c.pair.replace(PAIR_NUMBER, ''));

export function originsOf(line: Timeline): Origins {
  const { halves } = line;
  const all = line.channels
    .flatMap((channel) => channel.apps.filter((a) => isDialling(a.app)).map((app) => ({ channel, app })))
    .sort((a, b) => a.app.from - b.app.from);
  const known = new Map<string, Origin>();
  const forwards = line.marks.filter((r) => r.type === 'forward');
  const find = (rung: ChannelLine): Dialling | null => dialling(all, rung) ?? sentOn(all, forwards, rung);

  const origin = (c: ChannelLine): Origin => {
    const chain: Dialling[] = [];
    let rung = c;
    for (let depth = 0; depth < DEPTH; depth += 1) {
      const found = find(rung);
      if (found === null) break;
      chain.push(found);
      if (found.channel.pair === null || wasMoved(found)) break;
      const half = halves.get(found.channel.id);
      if (half === undefined || half.first || found.channel.first) break;
      rung = half;
    }
    const top = chain.at(-1) ?? null;
    if (top === null) return NOTHING;
    if (top.channel.pair === null) return { chain, top, by: top.channel, consult: null, placed: false };
    const half = halves.get(top.channel.id);
    if (half === undefined) return { chain, top, by: null, consult: null, placed: top.channel.first };
    if (wasMoved(top)) return { chain, top, by: metBy(half), consult: null, placed: false };
    if (half.first || top.channel.first) {
      const by = placedFor(half, c);
      return { chain, top, by, consult: null, placed: by === null };
    }
    const consult = metBy(half);
    return { chain, top, by: consult, consult, placed: false };
  };
  /** The leg behind the other half of the pair with which the engine placed the call. */
  const placedFor = (half: ChannelLine, rung: ChannelLine): ChannelLine | null => {
    const leg = line.channels.find((c) => isLeg(c) && c.id !== rung.id && c.from < rung.from);
    return leg !== undefined && half.apps.length > 0 ? leg : null;
  };
  const metBy = (half: ChannelLine): ChannelLine | null => {
    const first = half.bridged[0];
    if (first === undefined) return null;
    const there = line.inBridge.get(first.bridge)!;
    return there.find((m) => isLeg(m.channel) && m.span.to >= first.from)?.channel ?? null;
  };
  return {
    of(channel) {
      let found = known.get(channel.id);
      if (found === undefined) known.set(channel.id, (found = channel.rung ? origin(channel) : NOTHING));
      return found;
    },
    isRung: (channel) => find(channel) !== null,
    metBy,
  };
}

/** A half that was in a bridge before it dialled was transferred: its other half does not belong to the dialling. */
const wasMoved = ({ channel, app }: Dialling): boolean => {
  const first = channel.bridged[0];
  return first !== undefined && first.from < app.from;
};
/** The engine cuts values at this length, so a long list of destinations may lack the wanted one. */
const CUT = 1000;
/** Newest dialling that names the channel. A queue names no channel and rings only while its caller is in no bridge. */
function dialling(all: readonly Dialling[], rung: ChannelLine): Dialling | null {
  const name = nameOf(rung);
  let queue: Dialling | null = null;
  for (let i = startedBy(all, rung.from) - 1; i >= 0; i -= 1) {
    const found = all[i]!;
    const { app, channel } = found;
    if (app.to < rung.from || channel.id === rung.id) continue;
    if (app.app === 'dial' && (names(app.data, name) || app.data.length >= CUT)) return found;
    const talks = channel.bridged.some((b) => b.from <= rung.from && b.to > rung.from);
    if (app.app === 'queue' && !talks) queue ??= found;
  }
  return queue === null ? null : keptFor(all, queue, rung);
}
/** A ring goes on for the transferee that replaced the caller. */
function keptFor(all: readonly Dialling[], queue: Dialling, rung: ChannelLine): Dialling {
  const { channel, app } = queue;
  const next = all.find((d) => d.app.replaces === channel.id && d.app.from === app.to);
  return next !== undefined && rung.to > app.to ? next : queue;
}
/** Longest time between two records of one step of the engine, in microseconds. */
const TOGETHER_US = 500_000;
/** A device that forwards a call makes the dialling that rang it ring an internal pair to the new number. */
function sentOn(
  all: readonly Dialling[],
  forwards: readonly KnownRecord[],
  rung: ChannelLine,
): Dialling | null {
  if (rung.pair === null) return null;
  const forward = forwards.find(
    (r) =>
      Math.abs(r.at_us - rung.from) <= TOGETHER_US &&
      rung.pair!.includes(`/${plainNumber(r.facts.target ?? '')}@`),
  );
  if (forward === undefined) return null;
  return (
    all.findLast(
      (d) => d.channel.id === forward.channel && d.app.from <= rung.from && d.app.to >= rung.from,
    ) ?? null
  );
}
/** The number alone, without the technology before it and the context after it. */
export const plainNumber = (target: string): string =>
  target.replace(/^[A-Za-z]+\//, '').replace(/[@/].*/s, '');
/** Number of diallings that began at this time or before. */
function startedBy(all: readonly Dialling[], at: number): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle]!.app.from <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
/** Matches `Tech/name/…`, `Tech/name&…`, `Tech/name,…`, `Tech/number@name`; the name of a pair has its technology. */
function names(data: string, name: string): boolean {
  for (let at = data.indexOf(name); at !== -1; at = data.indexOf(name, at + 1)) {
    const [before, after] = [data[at - 1], data[at + name.length]];
    const begins = at === 0 || before === '/' || before === '&' || before === '@';
    if (begins && (after === undefined || after === '/' || after === '&' || after === ',')) return true;
  }
  return false;
}
