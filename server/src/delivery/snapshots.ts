import type { TopicSources } from '../ports/stream.ts';
import type { Framing } from './batch.ts';
import type { Heard } from '../rights/hearing.ts';

export interface Snapshot {
  readonly cursor: number;
  /** One per topic, in order. */
  readonly frames: readonly Buffer[];
}
export interface Snapshots {
  /**
   * The state of each topic, all exactly as of `cursor`; null while none can be built: `retry` is called when
   * a new attempt makes sense.
   */
  take(heard: readonly Heard[], framing: Framing, retry: () => void): Snapshot | null;
  close(): void;
}
/** Shortest interval between two new heads, in ms, so that a thousand clients at once share one snapshot. */
const EVERY_MS = 50;
const MAX_KEPT = 32 * 1024 * 1024;
const TURN_MS = 8;

export function createSnapshots(options: {
  sources: TopicSources;
  /** True when the model shows the state at the journal's head. */
  settled: () => boolean;
  head: () => number;
}): Snapshots {
  const { sources, settled, head } = options;
  const kept = new Map<string, Buffer>();
  let waiting = new Set<() => void>();
  let size = 0;
  let cursor = -1;
  let madeAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;

  const again = (): void => {
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
  const forget = (): void => {
    kept.clear();
    size = 0;
  };
  return {
    take(heard, framing, retry) {
      const at = head();
      if (!settled() || (at !== cursor && performance.now() - madeAt < EVERY_MS)) {
        waiting.add(retry);
        timer ??= setTimeout(again, EVERY_MS);
        return null;
      }
      if (at !== cursor) {
        forget();
        cursor = at;
        madeAt = performance.now();
      }
      const frames = heard.map(({ topic, noun, objects }) => {
        const key = `${framing.name} ${topic} ${objects === null ? '' : objects.join(' ')}`;
        const known = kept.get(key);
        if (known !== undefined) return known;
        const frame = framing.snapshot(topic, at, JSON.stringify(sources[noun].snapshot(objects) ?? null));
        size += frame.length;
        if (size > MAX_KEPT) forget();
        kept.set(key, frame);
        return frame;
      });
      return { cursor: at, frames };
    },
    close() {
      clearTimeout(timer);
      waiting.clear();
    },
  };
}
