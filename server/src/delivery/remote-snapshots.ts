import { messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Heard } from '../rights/hearing.ts';
import type { Framing } from './batch.ts';
import { stateKeyOf } from './snapshots.ts';
import type { Snapshots } from './snapshots.ts';
import type { View } from './view.ts';

export interface RemoteSnapshotsOptions {
  /** Asks the node that has the state; `epoch` is that of its journal. */
  readonly ask: (wanted: readonly Heard[]) => Promise<View & { readonly epoch: string }>;
  readonly journal: { readonly epoch: string; readonly head: number };
  /** The copy of the journal: it waits for the answer, then stops at its position for a moment. */
  readonly copy: { hold(): void; meet(seq: number | null): void };
  readonly log: Log;
}
/** Shortest interval between two requests, and interval between attempts of waiting clients, in ms. */
const EVERY_MS = 50;
const PATIENCE_MS = 250;
/** Approximate limit of topics in one request; further topics wait for the next one. */
const MOST_TOPICS = 500;

/**
 * Snapshots of another node, delivered while the copy of the journal is exactly at their position. All clients that
 * wait at the same time share one request.
 */
export function createRemoteSnapshots({ ask, journal, copy, log }: RemoteSnapshotsOptions): Snapshots {
  /** Waiting clients and their topics, oldest first; `asked` once the request for these topics is under way. */
  const waiting = new Map<() => void, { readonly heard: readonly Heard[]; asked: boolean }>();
  /** JSON texts of the state as of `cursor`, and frames made of them. */
  let texts: ReadonlyMap<string, string> = new Map();
  const frames = new Map<string, Buffer>();
  let cursor = -1;
  let asking = false;
  let askedAt = -Infinity;
  let soon: NodeJS.Timeout | undefined;
  let closed = false;

  const has = (heard: readonly Heard[]): boolean => heard.every((one) => texts.has(stateKeyOf(one)));
  const retry = (of: (one: { readonly heard: readonly Heard[] }) => boolean): void => {
    const due = [...waiting].filter(([, one]) => of(one)).map(([again]) => again);
    for (const again of due) waiting.delete(again);
    for (const again of due) again();
  };
  const giveOut = (): void => retry(({ heard }) => has(heard));
  // A client that has waited too long gives up when it is called again.
  const patience = setInterval(() => retry(() => true), PATIENCE_MS);
  patience.unref();

  /** Topics of the oldest waiting clients, limited so that the leading node can still do its other work. */
  const nextQuestion = (): ReadonlyMap<string, Heard> => {
    const wanted = new Map<string, Heard>();
    for (const one of waiting.values()) {
      if (one.asked || wanted.size >= MOST_TOPICS) continue;
      one.asked = true;
      for (const heard of one.heard) wanted.set(stateKeyOf(heard), heard);
    }
    return wanted;
  };
  const question = (): void => {
    if (asking || closed || soon !== undefined) return;
    const wait = askedAt + EVERY_MS - performance.now();
    if (wait > 0) {
      soon = setTimeout(() => {
        soon = undefined;
        question();
      }, wait);
      return;
    }
    const wanted = nextQuestion();
    if (wanted.size === 0) return;
    asking = true;
    askedAt = performance.now();
    copy.hold();
    void answerTo(wanted).then((met) => {
      asking = false;
      if (closed) return;
      copy.meet(met);
      question();
    });
  };
  /** Position of the answer; null without one that can be used. */
  const answerTo = async (wanted: ReadonlyMap<string, Heard>): Promise<number | null> => {
    try {
      const view = await ask([...wanted.values()]);
      if (view.epoch !== journal.epoch) throw new Error('the journal has another epoch');
      if (view.cursor < journal.head) return null;
      texts = new Map([...wanted.keys()].map((key, i) => [key, view.topics[i]!]));
      frames.clear();
      cursor = view.cursor;
      return cursor;
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the leading node gave no snapshot');
      return null;
    }
  };
  return {
    take(heard, framing, again) {
      if (cursor === journal.head && has(heard))
        return { cursor, frames: heard.map((one) => frameOf(one, framing)) };
      // The copy may not have reached the position of the texts that are here already.
      const asked = cursor > journal.head && has(heard);
      waiting.set(again, { heard, asked });
      if (!asked) question();
      return null;
    },
    committed() {
      if (waiting.size > 0 && cursor === journal.head) giveOut();
    },
    close() {
      closed = true;
      clearTimeout(soon);
      clearInterval(patience);
      waiting.clear();
    },
  };
  function frameOf(one: Heard, framing: Framing): Buffer {
    const key = `${framing.name} ${stateKeyOf(one)}`;
    const known = frames.get(key);
    if (known !== undefined) return known;
    const frame = framing.snapshot(one.topic, cursor, texts.get(stateKeyOf(one))!);
    frames.set(key, frame);
    return frame;
  }
}
