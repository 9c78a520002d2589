import type { NodeId } from '@offhook/contract/ids.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import type { EngineStatus } from '../../ports/engine.ts';
import { createDecoder } from './ami/framing.ts';
import { FactReader } from './fact-reader.ts';
import { Mirror } from './mirror.ts';

export interface Transcript {
  readonly events: readonly EngineEvent[];
  readonly counters: Pick<EngineStatus['counters'], 'frames' | 'unknown' | 'malformed' | 'oversize'>;
  /** Frames that could not be read, at most the last 20. */
  readonly malformed: readonly string[];
}

/** The facts of a recorded stream, read exactly as a live one is; for support, replays and tests. */
export const readTranscript = (node: NodeId, chunks: Iterable<Buffer>): Transcript => {
  const mirror = new Mirror();
  const events: EngineEvent[] = [];
  const reader = new FactReader({
    node,
    known: mirror,
    now: () => 0,
    emit(event) {
      mirror.apply(event);
      events.push(event);
    },
    system: () => {},
    suspicious: () => {},
  });
  const decoder = createDecoder(
    { event: reader.event, ignored: reader.ignored, response: () => {}, dropped: reader.dropped },
    { wants: reader.wants },
  );
  for (const chunk of chunks) decoder.write(chunk);
  return { events, counters: reader.counters(), malformed: reader.malformed() };
};
