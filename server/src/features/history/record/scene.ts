/** Input shared by all parts of the record, built once. */
import type { RecordedLeg } from './record.ts';
import type { KnownRecord } from './records.ts';
import { originsOf } from './origins.ts';
import type { Origins } from './origins.ts';
import { isLeg } from './timeline.ts';
import type { AppSpan, ChannelLine, Timeline } from './timeline.ts';
import { msOf } from './replay.ts';
import type { Handover, Segment, Segments } from './replay.ts';

export type LegDisposition = RecordedLeg['disposition'];
/** Steps of the engine within this time, in ms, belong together, e.g. a hang-up and the ends it causes. */
export const AT_ONCE_MS = 500;
export const isSoon = (a_us: number, b_us: number): boolean => Math.abs(a_us - b_us) <= AT_ONCE_MS * 1000;

/** Limit of legs in one bridge that are compared pairwise. */
const MANY = 32;

export interface Scene {
  readonly line: Timeline;
  readonly origins: Origins;
  /** Channels of parties (`isLeg`), in order of their start. */
  readonly legs: readonly ChannelLine[];
  readonly byName: ReadonlyMap<string, ChannelLine>;
  /** Legs that were rung, by their outermost dialling. */
  readonly rungBy: ReadonlyMap<AppSpan, readonly ChannelLine[]>;
  /** Legs that were rung, by each channel that dialled on the way to them. */
  readonly rungVia: ReadonlyMap<string, readonly ChannelLine[]>;
  /** Legs that were in one bridge with another, for however short a time. */
  readonly met: ReadonlySet<string>;
  /** Legs whose device sent the call on to another number. */
  readonly diverted: ReadonlySet<string>;
  /** No more records will come, although channels have no end. */
  readonly lost: boolean;
}

export function sceneOf(line: Timeline, lost: boolean): Scene {
  const origins = originsOf(line);
  const legs = line.channels.filter(isLeg);
  const rungBy = new Map<AppSpan, ChannelLine[]>();
  const rungVia = new Map<string, ChannelLine[]>();
  for (const c of legs) {
    const { top, chain } = origins.of(c);
    if (top) put(rungBy, top.app, c);
    for (const { channel } of chain) put(rungVia, channel.id, c);
  }
  return {
    line,
    origins,
    legs,
    byName: new Map(line.channels.map((c) => [c.name, c])),
    rungBy,
    rungVia,
    met: metIn(line),
    diverted: new Set(
      line.marks.flatMap((r) =>
        r.type === 'forward' ? (divertedBy(rungVia.get(r.channel) ?? [], r)?.id ?? []) : [],
      ),
    ),
    lost,
  };
}
function metIn({ inBridge }: Timeline): ReadonlySet<string> {
  const found = new Set<string>();
  for (const members of inBridge.values()) {
    const legs = members.filter((m) => isLeg(m.channel));
    // Above the limit, every leg is taken to have met another.
    if (legs.length > MANY) for (const m of legs) found.add(m.channel.id);
    else
      for (const a of legs) {
        const met = legs.some(
          (b) => b.channel !== a.channel && b.span.from <= a.span.to && b.span.to >= a.span.from,
        );
        if (met) found.add(a.channel.id);
      }
  }
  return found;
}
function put<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const there = map.get(key);
  if (there) there.push(value);
  else map.set(key, [value]);
}
/** The ringing leg that was released when its call was forwarded; none where the extension had forwarded it before it rang. */
export const divertedBy = (
  rung: readonly ChannelLine[],
  { at_us: at, forwarder }: Pick<KnownRecord, 'at_us' | 'forwarder'>,
): ChannelLine | undefined =>
  rung
    .filter((c) => forwarder === undefined || c.extension === null || c.extension === forwarder)
    .filter(
      (c) => c.from <= at && c.to >= at - AT_ONCE_MS * 1000 && c.answered === null && c.bridged.length === 0,
    )
    .sort((a, b) => a.to - b.to)[0];

/** A caller transferred before the target answered waits in the dialling of the transferer's second channel. */
export function handoversOf({ line, legs, rungVia }: Scene): readonly Handover[] {
  return line.marks.flatMap((r) => {
    const by = line.byId.get(r.channel);
    const to = line.byId.get(r.facts.other ?? '');
    if (r.type !== 'attended_transfer' || by === undefined || to === undefined) return [];
    const runs = (a: AppSpan): boolean => a.app === 'dial' && a.from <= r.at_us && a.to >= r.at_us;
    const second = legs.find(
      (c) => c !== by && c.endpoint === by.endpoint && c.bridged.length === 0 && c.apps.some(runs),
    );
    const rung = second ? (rungVia.get(second.id) ?? []).filter((c) => c.to > r.at_us) : [];
    if (second === undefined || rung.length === 0) return [];
    const left = to.bridged.find((b) => b.from <= r.at_us && b.to >= r.at_us)?.to ?? r.at_us;
    const until_us = Math.max(left, ...rung.map((c) => c.to));
    return [{ to, dialling: second.apps.find(runs)!, at_us: left, until_us }];
  });
}

export const numberOf = (c: ChannelLine): string => c.extension ?? c.number;

/** State of a leg at a time, in ms; after its end, its last segment. */
function stretchAt(segments: Segments, leg: string, at: number): Segment | undefined {
  const own = segments.get(leg) ?? [];
  let [low, high] = [0, own.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (own[middle]!.from <= at) low = middle + 1;
    else high = middle;
  }
  return own[low - 1];
}
/** Legs that a leg was connected to just before a time in microseconds. */
export const withBefore = (segments: Segments, leg: string, at_us: number): readonly string[] =>
  stretchAt(segments, leg, msOf(at_us) - 1)?.with ?? [];
/** The leg itself, or the leg behind the other half of an internal pair. */
export function legOf(scene: Scene, channel: string, at_us: number): string | null {
  const c = scene.line.byId.get(channel);
  if (c === undefined || isLeg(c)) return c?.id ?? null;
  const half = scene.line.halves.get(channel);
  const span = half?.bridged.find((b) => b.to >= at_us) ?? half?.bridged.at(-1);
  const there = span ? scene.line.inBridge.get(span.bridge)! : [];
  const beside = there.find((m) => isLeg(m.channel) && m.span.to >= span!.from);
  return beside?.channel.id ?? null;
}
