import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { Backoff } from '../core/backoff.ts';
import { rfc3339, rfc3339OrNull } from '../core/clock.ts';
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
/**
 * Limit of events held while the journal rejects writes. Beyond it those of the model are dropped, and a snapshot of the
 * engine replaces them; those of features are lost beyond the same limit.
 */
const MAX_HELD = 100_000;
/** Longest wait of a stop for a journal that rejects writes or does not answer. */
const STOP_MS = 3_000;
const STOP_RETRY_MS = 100;
const RETRY = { first_ms: 50, most_ms: 2_000 } as const;
/**
 * Committed events after which a checkpoint is saved, which bounds the rows that the next start reads. The text grows
 * with the number of persons, so a large checkpoint is saved only after one event for each 400 characters.
 */
const CHECKPOINT_EVERY = 5_000;
const CHECKPOINT_CHARACTERS = 400;
const NOT_SAVED = 'the checkpoint of the journal was not saved';
/** Shortest interval between two snapshots that are requested after a failed step of the model. */
const RESYNC_EVERY_MS = 10_000;

/** How far the journal is behind the engine, for readiness and metrics. */
export interface JournalLag {
  /** Events that are not committed yet. */
  readonly held: number;
  /** Age of the oldest of them in milliseconds; 0 when there is none. */
  readonly oldest_ms: number;
  /** Error with which the journal rejects them; null while it accepts writes. */
  readonly error: string | null;
  /** Events of the model dropped because too many were held; a snapshot replaced them. */
  readonly dropped: number;
  /** Events of features that were lost for the same reason; nothing replaces them. */
  readonly lost: number;
  /** Time of the first of both since the start; null for none. */
  readonly since: string | null;
  /** Facts and decisions that the model could not apply. */
  readonly failed: number;
}
/** Events of features that the journal never got; ms since 1970. */
export interface LostEvents {
  readonly events: number;
  readonly from: number;
  readonly to: number;
}
export interface EngineLoopOptions {
  readonly engine: Pick<Engine, 'events' | 'resync'>;
  readonly model: LiveModel;
  readonly journal: Journal;
  readonly log: Log;
  /** Limit of held events while the journal rejects writes. */
  readonly maxHeld?: number;
  /** Longest wait of a stop for the journal, in ms. */
  readonly stopMs?: number;
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
 * The one serial loop of an engine: facts → model → journal. While the journal rejects writes (disk full, lock), facts
 * still enter the model, and the loop holds and retries their events in order; up to `MAX_HELD` no event is lost or
 * doubled. Beyond it the events of features stay, the model returns to the committed state, and a snapshot of the engine
 * yields the differences. If the journal commits by a promise, one group is under way at a time; its events are held
 * until it is committed, and a retry begins with them.
 */
export class EngineLoop {
  readonly #options: EngineLoopOptions;
  readonly #backoff = new Backoff(RETRY);
  #recording: { readonly seq: number; readonly over: () => void }[] = [];
  /** True for a journal that commits by promises. */
  #remote = false;
  #start: LoopStart | null = null;
  #site!: SiteEvent;
  #closed: Promise<LostEvents | null> = Promise.resolve(null);
  #held: DomainEvent[] = [];
  /** Those of the held events that features published. */
  readonly #ofFeatures = new WeakSet<DomainEvent>();
  /** Lost events that the journal does not name yet. */
  #unnamed: LostEvents | null = null;
  #lost = 0;
  /** Time of the first event that was dropped or lost. */
  #since: number | null = null;
  #heldSince = 0;
  /** Error with which the journal rejects writes; null while it accepts them. */
  #error: string | null = null;
  #retryTimer: NodeJS.Timeout | undefined;
  #overflowed = false;
  #flushing = false;
  /** Seq of the newest row committed by this loop, or of the journal at its start. */
  #at = 0;
  #restored = 0;
  /** Seq at which a group ends. */
  #meetAt = 0;
  /** The group under way; null for none. */
  #underWay: Promise<void> | null = null;
  /** True once the stop was over: what the journal answers later changes nothing. */
  #stopped = false;
  /** Number of the first held events that the journal may have: it is open whether their group was committed. */
  #offered = 0;
  #dropped = 0;
  #failed = 0;
  #lastResync = -Infinity;
  #sinceCheckpoint = 0;
  #checkpointAfter = CHECKPOINT_EVERY;
  /** The checkpoint that is being saved; null for none. */
  #saving: { readonly steps: Generator<number, void>; characters: number } | null = null;
  constructor(options: EngineLoopOptions) {
    this.#options = options;
  }

  /** Restores the model from the journal and follows the engine. `tell` and `publish` must not be called earlier. */
  begin(start: LoopStart): void {
    this.#start = start;
    this.#site = start.site;
    this.#restore();
    this.#closed = this.#live(start);
  }
  /**
   * Resolves when the engine's events end or the signal is aborted, with the events of features that could not be written
   * within three seconds; null for none.
   */
  get closed(): Promise<LostEvents | null> {
    return this.#closed;
  }
  lag(): JournalLag {
    const held = this.#held.length;
    return {
      held,
      oldest_ms: held === 0 ? 0 : Math.round(performance.now() - this.#heldSince),
      error: this.#overflowed && this.#error === null ? 'recovering' : this.#error,
      dropped: this.#dropped,
      lost: this.#lost,
      since: rfc3339OrNull(this.#since),
      failed: this.#failed,
    };
  }
  /**
   * Passes a decision of the service to the model, in order with the engine's facts. The newest
   * `site.changed` is kept. O(1) beside the step.
   */
  readonly tell = (input: ModelInput): void => {
    const { onStepped } = this.#begun();
    if (input.type === 'site.changed') this.#site = input;
    this.#step(input);
    onStepped?.();
    this.#drain();
  };
  /**
   * Commits events of features, in order with the model's own. Where too many are held, the newest are lost; then
   * `store.events_lost` follows them, which makes readers of the stream take snapshots.
   */
  readonly publish = (events: readonly DomainEvent[]): void => {
    this.#begun();
    for (const event of events) this.#ofFeatures.add(event);
    this.#hold(events);
    this.#drain();
  };
  /** True when every event is committed: the model then shows the state at the journal's head. */
  readonly settled = (): boolean => this.#held.length === 0 && !this.#overflowed;
  /**
   * Seq of the newest event that the model's state contains, committed or not, and how often the model was restored to
   * the journal's state; null while events of the model were dropped and its state has no position in the journal.
   */
  readonly position = (): { readonly seq: number; readonly restored: number } | null =>
    this.#overflowed ? null : { seq: this.#at + this.#held.length, restored: this.#restored };

  /**
   * Resolves once every event so far is committed, or once the journal rejects them after this call; null if no wait is
   * needed: all events are committed, they were dropped, or the journal is on the disk.
   */
  readonly recorded = (): Promise<void> | null => {
    const { length } = this.#held;
    if (length === 0 || this.#overflowed || !this.#remote) return null;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#recording.push({ seq: this.#at + length, over: resolve });
    // The retry timer may wait for seconds after the record is back.
    if (this.#error !== null && this.#underWay === null) this.#flush(true);
    return promise;
  };
  /** Ends a group at the present position, so that the journal's head is there when `onCommitted` is called. */
  readonly meet = (): void => {
    this.#meetAt = this.#at + this.#held.length;
  };

  #begun(): LoopStart {
    if (this.#start === null) throw new Error('the engine loop has not begun');
    return this.#start;
  }
  async #live(start: LoopStart): Promise<LostEvents | null> {
    let lost: LostEvents | null = null;
    try {
      await this.#run(start);
    } catch (cause) {
      if (!start.signal.aborted) throw cause;
    } finally {
      lost = await this.#finish();
    }
    return lost;
  }
  async #run({ signal, onStepped }: LoopStart): Promise<void> {
    for await (const batch of this.#options.engine.events(signal)) {
      for (const event of batch) {
        this.#step(event);
        if (this.#held.length > GROUP_ROWS) this.#flush();
      }
      onStepped?.();
      // The journal accepts writes, but the events exceed one turn: other work runs between the turns.
      while (!this.#flush() && this.#error === null && this.#underWay === null) await turn();
    }
  }
  async #finish(): Promise<LostEvents | null> {
    const { stopMs = STOP_MS, log } = this.#options;
    const done = new AbortController();
    const over = wait(stopMs, 'over' as const, { signal: done.signal }).catch(() => 'over' as const);
    for (let written = false, late = false; !written && !late;) {
      clearTimeout(this.#retryTimer);
      this.#retryTimer = undefined;
      late = (await Promise.race([over, this.#underWay])) === 'over';
      if (late) break;
      written = this.#flush(true);
      if (this.#error !== null) late = (await Promise.race([over, wait(STOP_RETRY_MS)])) === 'over';
    }
    done.abort();
    clearTimeout(this.#retryTimer);
    this.#stopped = true;
    this.#saving = null;
    const held = this.#held.length;
    if (held === 0) {
      this.#saveCheckpoint();
      while (this.#savePiece());
      return null;
    }
    this.#release(Infinity);
    const unwritten = this.#held.filter((event) => this.#ofFeatures.has(event));
    this.#lose(unwritten);
    log.error(
      { unwritten: held, lost: this.#unnamed?.events ?? 0 },
      'stopped with events unwritten: those of features are lost, the next start finds the differences of the engine',
    );
    return this.#unnamed;
  }

  #restore(): void {
    const { model, journal, log } = this.#options;
    this.#at = journal.head;
    this.#restored += 1;
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
    this.#step(this.#site);
  }
  #step(event: ModelInput): void {
    let events: readonly DomainEvent[];
    try {
      events = this.#options.model.step(event);
    } catch (cause) {
      this.#stepFailed(event, cause);
      return;
    }
    this.#hold(events);
  }
  #stepFailed(event: ModelInput, cause: unknown): void {
    this.#failed += 1;
    this.#options.log.error({ err: cause, event: event.type }, 'the model could not apply an engine event');
    if (performance.now() - this.#lastResync <= RESYNC_EVERY_MS) return;
    this.#lastResync = performance.now();
    // The step may be applied in part: restore the committed state, unless held events still wait to be written.
    if (this.#held.length === 0 && event.type !== 'site.changed') this.#restore();
    this.#options.engine.resync();
  }

  #hold(events: readonly DomainEvent[]): void {
    const [first] = events;
    if (first === undefined) return;
    if (this.#overflowed && !this.#ofFeatures.has(first)) return this.#drop(events);
    if (this.#held.length === 0) this.#heldSince = performance.now();
    for (const made of events) this.#held.push(made);
    const { maxHeld = MAX_HELD, log } = this.#options;
    if ((this.#error === null && this.#underWay === null) || this.#held.length <= maxHeld) return;
    // The journal may have the offered events: they stay until the result of their group is known.
    const isKept = (event: DomainEvent, at: number): boolean =>
      at < this.#offered || this.#ofFeatures.has(event);
    if (!this.#overflowed) {
      this.#drop(this.#held.filter((event, at) => !isKept(event, at)));
      this.#held = this.#held.filter(isKept);
      this.#overflowed = true;
      log.error(
        { dropped: this.#dropped, kept: this.#held.length },
        'the journal rejected writes for too long; held events of the engine were dropped, a snapshot will replace them',
      );
    }
    const newest = this.#held.splice(Math.max(maxHeld, this.#offered));
    if (newest.length > 0 && this.#unnamed === null)
      log.error({ held: this.#held.length }, 'too many events are held; events of features are lost');
    this.#lose(newest);
  }
  /** Counts events of the model, which a snapshot replaces. */
  #drop(events: readonly DomainEvent[]): void {
    this.#dropped += events.length;
    this.#since ??= events[0]?.at ?? null;
  }
  /** Counts events of features, which nothing replaces. */
  #lose(events: readonly DomainEvent[]): void {
    const [first, last] = [events[0], events.at(-1)];
    if (first === undefined || last === undefined) return;
    const { events: before, from } = this.#unnamed ?? { events: 0, from: first.at };
    this.#unnamed = { events: before + events.length, from, to: last.at };
    this.#lost += events.length;
    this.#since ??= first.at;
  }
  /** Names the lost events in the journal, where they are missing. */
  #nameLost(): void {
    const lost = this.#unnamed;
    if (lost === null) return;
    this.#unnamed = null;
    this.#options.log.error({ ...lost }, 'the journal accepts events again; it lacks events of features');
    const event = lostEvent(lost);
    this.#ofFeatures.add(event);
    this.#held.push(event);
  }
  /**
   * Writes held events until all are written, the journal rejects them, or this turn is used up; true when
   * all are written. While the journal rejects writes only the retry timer tries again, because each attempt
   * costs a rollback.
   */
  #flush(isRetry = false): boolean {
    if (this.#underWay !== null) return false;
    if (this.#error !== null && !isRetry) return this.#held.length === 0;
    // A reader publishes while it is notified: the flush under way writes the event after all readers were notified.
    if (this.#flushing) return false;
    this.#flushing = true;
    try {
      return this.#write();
    } finally {
      this.#flushing = false;
    }
  }
  #write(): boolean {
    const { journal } = this.#options;
    const until = performance.now() + TURN_MS;
    while (this.#held.length > 0) {
      const most = this.#meetAt > this.#at ? Math.min(GROUP_ROWS, this.#meetAt - this.#at) : GROUP_ROWS;
      const group = this.#held.length <= most ? this.#held : this.#held.slice(0, most);
      let rows: ReturnType<Journal['append']>;
      try {
        rows = journal.append(group);
      } catch (cause) {
        this.#rejected(cause);
        return false;
      }
      if (rows instanceof Promise) {
        this.#remote = true;
        this.#follow(rows, group);
        return false;
      }
      this.#committed(rows, group);
      if (performance.now() > until) break;
    }
    this.#saveWhenDue();
    return this.#held.length === 0;
  }
  #committed(rows: readonly JournalRow[], group: readonly DomainEvent[]): void {
    this.#accepted();
    this.#held = group.length === this.#held.length ? [] : this.#held.slice(group.length);
    this.#nameLost();
    this.#at = rows.at(-1)?.seq ?? this.#at;
    this.#options.model.committed(group);
    this.#sinceCheckpoint += group.length;
    this.#notify(rows, group);
    this.#release(this.#at);
    if (this.#held.length > 0) this.#heldSince = performance.now();
  }
  /** Awaits the commit of a group; the events that are held meanwhile form the next group. */
  #follow(rows: Promise<readonly JournalRow[]>, events: readonly DomainEvent[]): void {
    const group = events.slice();
    this.#offered = group.length;
    this.#underWay = rows.then(
      (committed) => {
        if (this.#stopped) return;
        this.#underWay = null;
        this.#offered = 0;
        // Events that a reader publishes during its notification belong to the next group.
        this.#flushing = true;
        try {
          this.#committed(committed, group);
        } finally {
          this.#flushing = false;
        }
        if (this.#overflowed) this.#recover();
        this.#saveWhenDue();
        this.#drain();
      },
      (cause: unknown) => {
        this.#underWay = null;
        this.#rejected(cause);
      },
    );
  }
  /** Writes the held events now, and the rest in later turns of the event loop, unless the journal rejects them. */
  #drain(): void {
    if (!this.#flush() && this.#error === null && this.#underWay === null) setImmediate(() => this.#drain());
  }
  /** Ends the waits for events up to this seq. */
  #release(seq: number): void {
    const over = this.#recording.filter((one) => one.seq <= seq);
    if (over.length === 0) return;
    this.#recording = this.#recording.filter((one) => one.seq > seq);
    for (const one of over) one.over();
  }
  #notify(rows: readonly JournalRow[], events: readonly DomainEvent[]): void {
    try {
      this.#start?.onCommitted?.(rows, events);
    } catch (cause) {
      this.#options.log.error({ err: cause }, 'a reader of committed events failed');
    }
  }

  #rejected(cause: unknown): void {
    this.#release(Infinity);
    if (this.#stopped) return;
    const message = messageOf(cause);
    if (this.#error !== message)
      this.#options.log.error({ err: cause, held: this.#held.length }, 'the journal rejects events');
    this.#error = message;
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined;
      if (this.#overflowed && this.#offered === 0) this.#recover();
      if (!this.#flush(true)) this.#drain();
    }, this.#backoff.next());
  }
  #accepted(): void {
    if (this.#error !== null)
      this.#options.log.info({ held: this.#held.length }, 'the journal accepts events again');
    this.#error = null;
    this.#backoff.reset();
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
  }
  /** After an overflow: as soon as the journal accepts a write, restore the committed state and request a snapshot. */
  #recover(): void {
    const { journal, model, engine } = this.#options;
    try {
      this.#saving = null;
      const steps = journal.saveCheckpoint(model.checkpoint());
      while (steps.next().done !== true);
    } catch (cause) {
      this.#rejected(cause);
      return;
    }
    this.#accepted();
    this.#overflowed = false;
    this.#restore();
    engine.resync();
  }
  #saveWhenDue(): void {
    if (this.#sinceCheckpoint >= this.#checkpointAfter && this.#saving === null) this.#saveCheckpoint();
  }
  #saveCheckpoint(): void {
    const { journal, model, log } = this.#options;
    this.#sinceCheckpoint = 0;
    try {
      this.#saving = { steps: journal.saveCheckpoint(model.checkpoint()), characters: 0 };
    } catch (cause) {
      log.warn({ err: cause }, NOT_SAVED);
      return;
    }
    this.#saveNext();
  }
  /** Stores the next piece of the checkpoint, and the others in later turns of the event loop. */
  readonly #saveNext = (): void => {
    if (this.#savePiece()) setImmediate(this.#saveNext);
  };
  /** True where another piece follows. */
  #savePiece(): boolean {
    const saving = this.#saving;
    if (saving === null) return false;
    try {
      const { done, value } = saving.steps.next();
      if (done !== true) {
        saving.characters += value;
        return true;
      }
      this.#checkpointAfter = Math.max(CHECKPOINT_EVERY, saving.characters / CHECKPOINT_CHARACTERS);
    } catch (cause) {
      this.#options.log.warn({ err: cause }, NOT_SAVED);
    }
    this.#saving = null;
    return false;
  }
}

/** The event that names lost events in the journal. */
export const lostEvent = ({ events, from, to }: LostEvents): DomainEvent => ({
  type: 'store.events_lost',
  subject: 'store',
  at: to,
  observed: 'live',
  data: { from: rfc3339(from), to: rfc3339(to), events },
});

function* eventsAfter(journal: Journal, seq: number): Generator<DomainEvent> {
  for (let at = seq; ;) {
    const rows = journal.read(at, GROUP_ROWS);
    for (const row of rows) yield eventOf(row);
    const last = rows.at(-1);
    if (last === undefined) return;
    at = last.seq;
  }
}
