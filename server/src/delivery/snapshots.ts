import type { TopicSources } from '../ports/stream.ts';
import type { Framing } from './batch.ts';
import type { Heard } from '../rights/hearing.ts';

export interface Snapshot {
  /** The journal's head. */
  readonly cursor: number;
  /** One per topic, in order. */
  readonly frames: readonly Buffer[];
}
export interface Snapshots {
  /**
   * The state of each topic, all exactly as of `cursor`; null while none can be given: `retry` is called when
   * a new attempt makes sense.
   */
  take(heard: readonly Heard[], framing: Framing, retry: () => void): Snapshot | null;
  /** The journal has new rows. */
  committed(): void;
  close(): void;
}
/** Position in the journal of the state that the sources show. */
export interface Position {
  /** Seq of the newest event that the state contains, committed or not. */
  readonly seq: number;
  /** Grows when the state was taken back to an earlier one: seqs after the head then belong to other events. */
  readonly restored: number;
}
export interface Positions {
  /** Null while the state has no position in the journal. */
  position(): Position | null;
  /** The journal's head will be the present position for a moment, in which `committed` is called. */
  meet(): void;
}
/** Key, equal for principals who see the same state of a topic; an empty list of objects differs from null (all). */
export const stateKeyOf = ({ topic, objects, since_ms }: Heard): string =>
  `${topic} ${since_ms} ${objects === null ? '*' : objects.join(' ')}`;
/** Shortest interval between two new heads, in ms, so that a thousand clients at once share one snapshot. */
const EVERY_MS = 50;
const MAX_KEPT = 32 * 1024 * 1024;
const TURN_MS = 8;

/**
 * Snapshots at a position of the journal. If events are not committed yet, the frames are built from the current state
 * and delivered once the journal's head reaches it, so that a site that commits all the time delivers snapshots, too.
 */
export function createSnapshots(options: {
  sources: TopicSources;
  positions: Positions;
  head: () => number;
}): Snapshots {
  const { sources, positions, head } = options;
  const kept = new Map<string, Buffer>();
  let waiting = new Set<() => void>();
  let size = 0;
  let cursor = -1;
  let restored = 0;
  let madeAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;

  const again = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const until = performance.now() + TURN_MS;
    const asked = waiting;
    waiting = new Set();
    for (const retry of asked) {
      if (performance.now() > until) waiting.add(retry);
      else retry();
    }
    if (waiting.size > 0) timer ??= setTimeout(again, 1);
  };
  const wait = (retry: () => void): null => {
    waiting.add(retry);
    timer ??= setTimeout(again, EVERY_MS);
    return null;
  };
  const forget = (): void => {
    kept.clear();
    size = 0;
  };
  const keyOf = (heard: Heard, framing: Framing): string => `${framing.name} ${stateKeyOf(heard)}`;
  /** Frames of the current state, which is the state at `cursor`. */
  const build = (heard: readonly Heard[], framing: Framing): readonly Buffer[] =>
    heard.map((one) => {
      const key = keyOf(one, framing);
      const known = kept.get(key);
      if (known !== undefined) return known;
      const { topic, noun, objects, since_ms } = one;
      const state = sources[noun].snapshot(objects, since_ms) ?? null;
      const frame = framing.snapshot(topic, cursor, JSON.stringify(state));
      size += frame.length;
      // Frames that wait for the head are kept: without them their client would never get its snapshot.
      if (size > MAX_KEPT && cursor === head()) forget();
      kept.set(key, frame);
      return frame;
    });
  const known = (heard: readonly Heard[], framing: Framing): readonly Buffer[] | null => {
    const frames = heard.flatMap((one) => kept.get(keyOf(one, framing)) ?? []);
    return frames.length === heard.length ? frames : null;
  };
  return {
    take(heard, framing, retry) {
      const at = positions.position();
      const now = head();
      const ahead = cursor > now && at?.restored === restored;
      if (at?.seq === cursor && (ahead || cursor === now)) {
        if (!ahead) return { cursor, frames: build(heard, framing) };
        if (size < MAX_KEPT) build(heard, framing);
        return wait(retry);
      }
      if (ahead) return wait(retry);
      // The state has changed since, but the kept frames are those of the head.
      const frames = cursor === now ? known(heard, framing) : null;
      if (frames !== null) return { cursor, frames };
      if (at === null || performance.now() - madeAt < EVERY_MS) return wait(retry);
      forget();
      ({ seq: cursor, restored } = at);
      madeAt = performance.now();
      const built = build(heard, framing);
      if (cursor === now) return { cursor, frames: built };
      positions.meet();
      return wait(retry);
    },
    committed() {
      if (waiting.size > 0 && head() === cursor) again();
    },
    close() {
      clearTimeout(timer);
      waiting.clear();
    },
  };
}
