import { setImmediate as turn } from 'node:timers/promises';
import { RETRY_SECONDS } from '@offhook/contract/webhooks.ts';
import type { DisabledReason } from '@offhook/contract/webhooks.ts';
import { messageOf } from '../../core/errors.ts';
import { namesIn } from '../../rights/topics.ts';
import type { FollowableJournal, JournalRow } from '../../ports/journal-store.ts';
import type { Common } from '../../ports/common.ts';
import { isFromBefore } from '../../rights/former-holder.ts';
import { DeliveryLoop } from '../../outbound/delivery-loop.ts';
import { retryDelay } from '../../outbound/schedule.ts';
import { post } from './post.ts';
import type { DeliveryRow, Line, Progress, Settings } from './store.ts';
import type { Hearing } from './subscription.ts';
import type { Transport } from '../../outbound/transport.ts';

/** Journal rows read at once; the rest of the backlog stays out of memory. */
const PAGE = 100;
/** Attempts for one event of a replay; then the replay ends, because live events wait for it. */
const REPLAY_ATTEMPTS = 3;
/** Longest wait between two attempts. */
const LONGEST_WAIT_MS = 27 * 3_600_000;
/** Time without a success after which a webhook is disabled; by then one delivery is parked and the next one fails. */
const FAILING_MS = 5 * 86_400_000;

/** State of one webhook in memory; `progress` is changed in place. */
export interface Hook {
  readonly id: number;
  settings: Settings;
  readonly progress: Progress;
  /** Number of the newest row of the delivery log. */
  last_number: number;
}
export interface LaneDeps extends Common<'clock' | 'log'> {
  readonly journal: FollowableJournal;
  readonly transport: Transport;
  readonly agent: string;
  readonly chance: () => number;
  /** Topics this webhook may receive now; null if its owner no longer exists. */
  heard(settings: Settings): Hearing | null;
  parked(id: number, epoch: string, after: number, to: number): Promise<JournalRow | null>;
  /** Reports changed progress. `line`: new or changed row of the delivery log; without it, the write may be delayed. */
  changed(hook: Hook, line?: DeliveryRow): void;
  disable(hook: Hook, reason: DisabledReason): void;
}
function isHeard(row: JournalRow, { names, bounds }: Hearing, types: readonly string[] | null): boolean {
  if (types !== null && !types.includes(row.type)) return false;
  const topics = namesIn(row.topics);
  return topics.some((topic) => names.has(topic)) && !isFromBefore(row, topics, names, bounds);
}

/** The event's own id `<epoch>:<seq>`, the same on every attempt and in every epoch; neither part holds a full stop. */
const idOf = (row: JournalRow): string => (JSON.parse(row.json) as { id: string }).id;

/**
 * Milliseconds until the next attempt. A wait that is longer than planned began before the clock was set back; it begins
 * anew.
 */
function waitOf(head: NonNullable<Line['head']>, now: number): number {
  head.next_at = Math.min(head.next_at, now + (head.wait_ms ?? LONGEST_WAIT_MS));
  return head.next_at - now;
}

const releasedLine = <L extends Line>(line: L, now: number): L =>
  line.head === null ? line : { ...line, head: { ...line.head, attempts: 0, next_at: now, wait_ms: 0 } };
/** The progress after a manual retry at `now`: failed deliveries are due at once and their retry schedule restarts. */
export const releasedOf = (progress: Progress, now: number): Progress => ({
  ...progress,
  live: releasedLine(progress.live, now),
  replay: progress.replay === null ? null : releasedLine(progress.replay, now),
});

/** Delivers the events of one webhook in order, one at a time, from construction until `close`. */
export class Lane {
  readonly #hook: Hook;
  readonly #progress: Progress;
  readonly #deps: LaneDeps;
  /** Number of manual retries. */
  #releases = 0;
  readonly #loop: DeliveryLoop;

  constructor(hook: Hook, deps: LaneDeps) {
    this.#hook = hook;
    this.#progress = hook.progress;
    this.#deps = deps;
    const { clock, log } = deps;
    this.#loop = new DeliveryLoop({
      step: () => this.#step(),
      trouble: (error) =>
        log.warn({ webhook: hook.id, error: messageOf(error) }, 'a webhook could not continue; retrying'),
      clock,
    });
  }

  /** Retries a failed delivery now and restarts its retry schedule, also if an attempt in progress fails. */
  release(): void {
    const progress = this.#progress;
    const { live, replay } = releasedOf(progress, this.#deps.clock.now());
    progress.live.head = live.head;
    if (progress.replay !== null && replay !== null) progress.replay.head = replay.head;
    this.#releases += 1;
    this.wake();
  }
  /** Starts no new attempt; one in progress may finish until `grace` is aborted. */
  close(grace: AbortSignal): Promise<void> {
    return this.#loop.close(grace);
  }
  /** Ends the present wait, after a change of settings or the start of a replay. */
  wake(): void {
    this.#loop.wake();
  }

  /** Marks all events up to `seq` as done. */
  #advance(line: Line, seq: number): void {
    line.at = seq;
    if (line.head !== null && line.head.seq <= seq) line.head = null;
    if (line === this.#progress.replay && seq >= this.#progress.replay.to) this.#progress.replay = null;
  }
  #gap(line: Line, from: number, to: number, error: string): void {
    const now = this.#deps.clock.now();
    this.#hook.last_number += 1;
    const seen: DeliveryRow = {
      number: this.#hook.last_number,
      state: 'gap',
      seq: from,
      to_seq: to,
      event_id: null,
      type: null,
      replay: Number(line === this.#progress.replay),
      attempts: 0,
      status: null,
      error,
      latency_ms: null,
      excerpt: '',
      first_at: now,
      last_at: now,
      next_at: null,
      row: null,
    };
    this.#advance(line, to);
    this.#deps.log.warn({ webhook: this.#hook.id, from, to, error }, 'events could not be delivered');
    this.#deps.changed(this.#hook, seen);
  }

  /**
   * Last seq of the delivered epoch; null if the journal holds no more of it. After a restore, rows of the
   * former epoch are delivered first: whether they were before the backup is unknown, and their ids are
   * unchanged.
   */
  #lastOfEpoch(): number | null {
    const { epoch, live } = this.#progress;
    if (epoch === this.#deps.journal.epoch) return live.at > this.#deps.journal.head ? null : Infinity;
    const [next] = this.#deps.journal.read(live.at, 1);
    const last = this.#deps.journal.began - 1;
    return next !== undefined && next.seq <= last && idOf(next).startsWith(`${epoch}:`) ? last : null;
  }
  async #step(): Promise<void> {
    if (!this.#hook.settings.enabled) return this.#loop.rest();
    const heard = this.#deps.heard(this.#hook.settings);
    if (heard === null) return this.#deps.disable(this.#hook, 'no_owner');
    if (heard.names.size === 0) return this.#deps.disable(this.#hook, 'not_allowed');
    const last = this.#lastOfEpoch();
    if (last === null) {
      const { live } = this.#progress;
      const before = Math.min(this.#deps.journal.began - 1, this.#deps.journal.head);
      Object.assign(this.#progress, { epoch: this.#deps.journal.epoch, replay: null });
      return this.#gap(live, Math.min(live.at + 1, before), before, 'the journal was lost or restored');
    }
    const line = this.#progress.replay ?? this.#progress.live;
    const until = Math.min(this.#progress.replay?.to ?? Infinity, last);
    const lost = Math.min(this.#deps.journal.tail - 1, until);
    if (line.at < lost) {
      const kept =
        line === this.#progress.live
          ? null
          : await this.#deps.parked(this.#hook.id, this.#progress.epoch, line.at, lost);
      const upTo = kept === null ? lost : kept.seq - 1;
      if (upTo > line.at) this.#gap(line, line.at + 1, upTo, 'the journal has them no longer');
      if (kept !== null) await this.#handle(kept, line);
      return;
    }
    return this.#sendNext(line, until);
  }
  /** Sends the next page of the line, up to `until`. */
  async #sendNext(line: Line, until: number): Promise<void> {
    const { journal } = this.#deps;
    const { replay } = this.#progress;
    const rows = journal.read(line.at, PAGE);
    if (replay !== null && (rows[0]?.seq ?? Infinity) > replay.to) {
      // The replay ends with seqs that a new epoch left out.
      this.#advance(replay, replay.to);
      return this.#deps.changed(this.#hook);
    }
    if (rows.length === 0) return this.#loop.rest((signal) => journal.waitFor(line.at + 1, signal));
    for (const row of rows) {
      if (row.seq > until || !(await this.#handle(row, line))) return;
    }
    // Skipped rows wait for nothing, so other work would not run until the lane has reached the head.
    if (rows.length === PAGE) await turn();
  }
  /** Sends the row if it is due; false if the line must be read again. */
  async #handle(row: JournalRow, line: Line): Promise<boolean> {
    if (this.#loop.closed || !this.#hook.settings.enabled) return false;
    if (line !== (this.#progress.replay ?? this.#progress.live)) return false;
    const heard = this.#deps.heard(this.#hook.settings);
    if (heard === null || heard.names.size === 0) return false;
    if (!isHeard(row, heard, this.#hook.settings.types)) {
      this.#advance(line, row.seq);
      this.#deps.changed(this.#hook);
      return true;
    }
    const { head } = line;
    const early = head?.seq === row.seq ? waitOf(head, this.#deps.clock.now()) : 0;
    if (early <= 0) return this.#attempt(row, line, heard);
    await this.#loop.rest((signal) => this.#deps.clock.sleep(early, signal));
    return false;
  }
  async #attempt(row: JournalRow, line: Line, { shown }: Hearing): Promise<boolean> {
    const head = line.head?.seq === row.seq ? line.head : null;
    const { settings } = this.#hook;
    const before = this.#releases;
    const id = idOf(row);
    const at = this.#deps.clock.now();
    const { transport, agent } = this.#deps;
    const message = { id, body: shown(row.json), at, agent };
    const { ok, ...result } = await post(transport, settings, message, this.#loop.broken);
    // An aborted attempt, or one at a replaced address, has no result.
    if (!ok && (this.#loop.broken.aborted || this.#hook.settings.url !== settings.url)) return false;
    const attempts = (head?.attempts ?? 0) + 1;
    const first_at = head?.first_at ?? at;
    const number = head?.number ?? (this.#hook.last_number += 1);
    const replayed = line !== this.#progress.live;
    const seen: DeliveryRow = {
      number,
      state: 'delivered',
      seq: row.seq,
      to_seq: row.seq,
      event_id: id,
      type: row.type,
      replay: Number(replayed),
      attempts,
      status: result.status,
      error: result.error,
      latency_ms: result.latency_ms,
      excerpt: result.excerpt,
      first_at,
      last_at: at,
      next_at: null,
      row: null,
    };
    if (ok) {
      this.#progress.failing_since = null;
      this.#advance(line, row.seq);
      this.#deps.changed(this.#hook, seen);
      return true;
    }
    // The failure is older than a retry requested during the attempt.
    return this.#failed(
      { ...seen, state: 'retrying' },
      row,
      line,
      result.retry_after_seconds,
      this.#releases !== before,
    );
  }
  #failed(
    seen: DeliveryRow,
    row: JournalRow,
    line: Line,
    retryAfter: number | null,
    released: boolean,
  ): boolean {
    const now = this.#deps.clock.now();
    const { number, attempts, first_at } = seen;
    const replayed = line !== this.#progress.live;
    if (!replayed) this.#progress.failing_since ??= seen.last_at;
    const last = replayed && attempts >= REPLAY_ATTEMPTS;
    const planned = last ? null : retryDelay(RETRY_SECONDS, attempts, retryAfter, this.#deps.chance());
    const delay = released ? 0 : planned;
    const gone = seen.status === 410;
    const park = delay === null && !gone;
    if (park) {
      if (replayed) this.#progress.replay = null;
      else this.#advance(line, row.seq);
    } else {
      const counted = released ? 0 : attempts;
      const wait_ms = delay ?? 0;
      line.head = { seq: row.seq, number, attempts: counted, first_at, next_at: now + wait_ms, wait_ms };
    }
    const dead = this.#progress.failing_since !== null && now - this.#progress.failing_since >= FAILING_MS;
    this.#deps.changed(this.#hook, {
      ...seen,
      state: park ? 'parked' : 'retrying',
      next_at: park || gone || dead ? null : now + (delay ?? 0),
      row: park ? JSON.stringify(row) : null,
    });
    if (gone) this.#deps.disable(this.#hook, 'gone');
    else if (dead) this.#deps.disable(this.#hook, 'failing');
    return park;
  }
}
