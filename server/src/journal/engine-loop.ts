import { setImmediate as turn } from 'node:timers/promises';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { Backoff } from '../core/backoff.ts';
import { messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Engine } from '../ports/engine.ts';
import type { JournalRow } from '../ports/journal-store.ts';
import type { LiveModel, ModelInput, SiteEvent } from '../ports/live.ts';
import { eventOf } from './journal.ts';
import type { Journal } from './journal.ts';

/** Limits of one commit in rows, and of one turn of the event loop in ms. */
const GROUP_ROWS = 500;
const TURN_MS = 5;
/** Limit of events held while the journal rejects writes; beyond it they are dropped and a snapshot replaces them. */
const MAX_HELD = 100_000;
const RETRY = { first_ms: 50, most_ms: 2_000 } as const;
/**
 * Committed events after which a checkpoint is saved, so that the next start reads no more than these; a large checkpoint is
 * saved less often, because a big site would pay for all its people.
 */
const CHECKPOINT_EVERY = 5_000;
const CHECKPOINT_CHARACTERS = 400;
/** Interval between snapshots requested after a failed step of the model. */
const RESYNC_EVERY_MS = 10_000;

/** How far the journal is behind the engine, for readiness and metrics. */
export interface JournalLag {
  /** Events that are not committed yet. */
  readonly held: number;
  /** Age of the oldest of them in milliseconds; 0 when there is none. */
  readonly oldest_ms: number;
  /** Why the journal rejects them; null while it does not. */
  readonly error: string | null;
  /** Events dropped because too many were held; a snapshot replaced them. */
  readonly dropped: number;
  /** Facts on which the model's step failed. */
  readonly failed: number;
}
export interface EngineLoop {
  /** Restores the model from the journal and follows the engine. `tell` and `publish` must not be called earlier. */
  begin(start: LoopStart): void;
  /** Resolves when the engine's events end or the signal is aborted, and the held events are written or dropped. */
  readonly closed: Promise<void>;
  lag(): JournalLag;
  /**
   * Passes a decision of the service to the model, in order with the engine's facts. The newest `site.changed` is remembered.
   * O(1) beside the step.
   */
  readonly tell: (input: ModelInput) => void;
  /** Commits events of features, in order with the model's own. */
  readonly publish: (events: readonly DomainEvent[]) => void;
  /** True when every event is committed: the model then shows the state at the journal's head. */
  readonly settled: () => boolean;
}
export interface EngineLoopOptions {
  readonly engine: Pick<Engine, 'events' | 'resync'>;
  readonly model: LiveModel;
  readonly journal: Journal;
  readonly log: Log;
  /** Limit of held events while the journal rejects writes. */
  readonly maxHeld?: number;
}
export interface LoopStart {
  readonly signal: AbortSignal;
  /** The site at the start. */
  readonly site: SiteEvent;
  /** Called after every commit with its rows, in order. */
  readonly onCommitted?: (rows: readonly JournalRow[], events: readonly DomainEvent[]) => void;
  /** Called after every batch of facts, committed or held; wakes the waiters of the live view. */
  readonly onStepped?: () => void;
}

/**
 * The one serial loop of an engine: facts → model → journal. While the journal rejects writes (disk full, lock), facts still
 * enter the model, and their events are held in order and retried; nothing is lost or doubled up to `MAX_HELD`. Beyond it the
 * model returns to the committed state and a snapshot of the engine yields the differences.
 */
export function createEngineLoop(options: EngineLoopOptions): EngineLoop {
  const { engine, model, journal, log, maxHeld = MAX_HELD } = options;
  let held: DomainEvent[] = [];
  let heldSince = 0;
  let error: string | null = null;
  const backoff = new Backoff(RETRY);
  let retryTimer: NodeJS.Timeout | undefined;
  let overflowed = false;
  let dropped = 0;
  let failed = 0;
  let flushing = false;
  let lastResync = -Infinity;
  let sinceCheckpoint = 0;
  let checkpointAfter = CHECKPOINT_EVERY;
  let start: LoopStart | null = null;
  let site: SiteEvent;
  let closed: Promise<void> = Promise.resolve();

  const restore = (): void => {
    try {
      const kept = journal.checkpoint();
      model.restore(kept?.text ?? null, eventsAfter(journal, kept?.seq ?? journal.tail - 1));
    } catch (cause) {
      log.error(
        { err: cause },
        'the open state of the journal cannot be read; everything is published again',
      );
      model.restore(null, []);
    }
    step(site);
  };
  const step = (event: ModelInput): void => {
    let events: readonly DomainEvent[];
    try {
      events = model.step(event);
    } catch (cause) {
      failed += 1;
      log.error({ err: cause, event: event.type }, 'the model could not take a fact');
      if (performance.now() - lastResync > RESYNC_EVERY_MS) {
        lastResync = performance.now();
        // Half of a step may be missing: restore the committed state, unless some of it still waits to be written.
        if (held.length === 0 && event.type !== 'site.changed') restore();
        engine.resync();
      }
      return;
    }
    hold(events);
  };
  const hold = (events: readonly DomainEvent[]): void => {
    if (events.length === 0) return;
    if (overflowed) {
      dropped += events.length;
      return;
    }
    if (held.length === 0) heldSince = performance.now();
    for (const made of events) held.push(made);
    if (error === null || held.length <= maxHeld) return;
    overflowed = true;
    dropped += held.length;
    held = [];
    log.error({ dropped }, 'the journal took nothing for too long; the state will be taken anew');
  };
  /**
   * Writes held events until all are written, the journal rejects them, or this turn is used up; true when all are written.
   * While the journal rejects writes only the retry's own timer tries, because each attempt costs a rollback.
   */
  const flush = (isRetry = false): boolean => {
    if (error !== null && !isRetry) return held.length === 0;
    // Called by a reader that publishes while it is notified: the flush under way takes the event up after every reader was
    // notified.
    if (flushing) return false;
    flushing = true;
    try {
      return write();
    } finally {
      flushing = false;
    }
  };
  const write = (): boolean => {
    const until = performance.now() + TURN_MS;
    while (held.length > 0) {
      const group = held.length <= GROUP_ROWS ? held : held.slice(0, GROUP_ROWS);
      let rows: readonly JournalRow[];
      try {
        rows = journal.append(group);
      } catch (cause) {
        refused(cause);
        return false;
      }
      accepted();
      held = group === held ? [] : held.slice(group.length);
      model.committed(group);
      sinceCheckpoint += group.length;
      notify(rows, group);
      if (held.length > 0) heldSince = performance.now();
      if (performance.now() > until) break;
    }
    if (sinceCheckpoint >= checkpointAfter) saveCheckpoint();
    return held.length === 0;
  };
  /** Writes the rest in later turns of the event loop, where no batch of facts waits. */
  const drain = (): void => {
    if (!flush() && error === null) setImmediate(drain);
  };
  const notify = (rows: readonly JournalRow[], events: readonly DomainEvent[]): void => {
    try {
      start?.onCommitted?.(rows, events);
    } catch (cause) {
      log.error({ err: cause }, 'a reader of committed events failed');
    }
  };
  const refused = (cause: unknown): void => {
    const message = messageOf(cause);
    if (error !== message) log.error({ err: cause, held: held.length }, 'the journal takes no events');
    error = message;
    retryTimer ??= setTimeout(() => {
      retryTimer = undefined;
      if (overflowed) recover();
      if (!flush(true)) drain();
    }, backoff.next());
  };
  const accepted = (): void => {
    if (error !== null) log.info({ held: held.length }, 'the journal takes events again');
    error = null;
    backoff.reset();
    clearTimeout(retryTimer);
    retryTimer = undefined;
  };
  /** After an overflow: as soon as the journal accepts a write, restore the committed state and request a snapshot. */
  const recover = (): void => {
    try {
      journal.saveCheckpoint(model.checkpoint());
    } catch (cause) {
      refused(cause);
      return;
    }
    accepted();
    overflowed = false;
    restore();
    engine.resync();
  };
  const saveCheckpoint = (): void => {
    sinceCheckpoint = 0;
    try {
      const text = model.checkpoint();
      checkpointAfter = Math.max(CHECKPOINT_EVERY, text.length / CHECKPOINT_CHARACTERS);
      journal.saveCheckpoint(text);
    } catch (cause) {
      log.warn({ err: cause }, 'the checkpoint of the journal was not saved');
    }
  };

  const run = async ({ signal, onStepped }: LoopStart): Promise<void> => {
    for await (const batch of engine.events(signal)) {
      for (const event of batch) {
        step(event);
        if (held.length > GROUP_ROWS) flush();
      }
      onStepped?.();
      // More events than fit in one turn, and the journal accepts them: other work runs in between.
      while (!flush() && error === null) await turn();
    }
  };
  const finish = (): void => {
    clearTimeout(retryTimer);
    while (!flush(true) && error === null);
    clearTimeout(retryTimer);
    if (held.length > 0) {
      log.error({ held: held.length }, 'stopped with events unwritten; the next start finds the differences');
    } else saveCheckpoint();
  };
  const begun = (): LoopStart => {
    if (start === null) throw new Error('the engine loop has not begun');
    return start;
  };
  return {
    begin(wanted) {
      start = wanted;
      site = wanted.site;
      restore();
      closed = run(wanted)
        .catch((cause: unknown) => {
          if (!wanted.signal.aborted) throw cause;
        })
        .finally(finish);
    },
    get closed() {
      return closed;
    },
    lag: () => ({
      held: held.length,
      oldest_ms: held.length === 0 ? 0 : Math.round(performance.now() - heldSince),
      error: overflowed && error === null ? 'recovering' : error,
      dropped,
      failed,
    }),
    tell(input) {
      const { onStepped } = begun();
      if (input.type === 'site.changed') site = input;
      step(input);
      onStepped?.();
      drain();
    },
    publish(events) {
      begun();
      hold(events);
      drain();
    },
    settled: () => held.length === 0 && !overflowed,
  };
}

function* eventsAfter(journal: Journal, seq: number): Generator<DomainEvent> {
  for (let at = seq; ;) {
    const rows = journal.read(at, GROUP_ROWS);
    for (const row of rows) yield eventOf(row);
    const last = rows.at(-1);
    if (last === undefined) return;
    at = last.seq;
  }
}
