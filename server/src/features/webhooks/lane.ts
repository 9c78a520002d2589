import type { DisabledReason } from '@offhook/contract/webhooks.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { namesIn } from '../../rights/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { FollowableJournal, JournalRow } from '../../ports/journal-store.ts';
import { isFromBefore } from '../../rights/former-holder.ts';
import { retryDelay } from './schedule.ts';
import { signatures } from './signature.ts';
import type { DeliveryRow, Line, Progress, Settings } from './store.ts';
import type { Hearing } from './subscription.ts';
import type { Outcome, Transport } from './transport.ts';

/** Rows looked at in one go; nothing more is held of a journal that waits. */
const PAGE = 100;
/** A replay ends at the event that fails this often: what is live must not wait for it. */
const REPLAY_ATTEMPTS = 3;
/** Disabled when nothing was delivered for this long: one delivery is parked by then, and the next is failing. */
const FAILING_MS = 5 * 86_400_000;
const AFTER_TROUBLE_MS = 1_000;

/** One webhook as memory knows it; `progress` changes in place. */
export interface Hook {
  readonly id: number;
  settings: Settings;
  readonly progress: Progress;
  /** Number of the newest line of its log. */
  last_number: number;
}
export interface LaneDeps {
  readonly journal: FollowableJournal;
  readonly clock: Clock;
  readonly transport: Transport;
  readonly log: Log;
  readonly agent: string;
  readonly chance: () => number;
  /** What this webhook may hear now; null where its owner is gone. */
  heard(settings: Settings): Hearing | null;
  parked(id: number, epoch: string, after: number, to: number): Promise<JournalRow | null>;
  /** The progress changed. `line` is new or changed in its log; without one it is no hurry. */
  changed(hook: Hook, line?: DeliveryRow): void;
  disable(hook: Hook, reason: DisabledReason): void;
}
export interface Lane {
  /** Looks again: the settings changed, or a replay begins. */
  wake(): void;
  /** Sends what waits for its next attempt now; its schedule begins anew, also where an attempt is under way and fails. */
  release(): void;
  /** Begins nothing new; what is under way may end until `grace` is aborted. */
  close(grace: AbortSignal): Promise<void>;
}

export const isSuccess = ({ status }: Outcome): boolean => status !== null && status >= 200 && status < 300;
/** The headers and the body of one attempt at `at`, in milliseconds since 1970. */
export function headersOf(
  settings: Settings,
  id: string,
  body: string,
  at: number,
  agent: string,
): Record<string, string> {
  const timestamp = Math.floor(at / 1_000);
  const { secret, previous_secret, previous_until } = settings;
  const both = previous_secret !== null && previous_until !== null && at < previous_until;
  return {
    'content-type': 'application/json',
    'user-agent': agent,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures(both ? [secret, previous_secret] : [secret], id, timestamp, body),
  };
}
function isHeard(row: JournalRow, { names, bounds }: Hearing, types: readonly string[] | null): boolean {
  if (types !== null && !types.includes(row.type)) return false;
  const topics = namesIn(row.topics);
  return topics.some((topic) => names.has(topic)) && !isFromBefore(row, topics, names, bounds);
}

/** The event's own id `<epoch>:<seq>`, the same on every attempt and in every epoch; neither part holds a full stop. */
const idOf = (row: JournalRow): string => (JSON.parse(row.json) as { id: string }).id;

const releasedLine = <L extends Line>(line: L, now: number): L =>
  line.head === null ? line : { ...line, head: { ...line.head, attempts: 0, next_at: now } };
/** The progress after a retry at `now`: what waits is due, and its schedule begins anew. */
export const releasedOf = (progress: Progress, now: number): Progress => ({
  ...progress,
  live: releasedLine(progress.live, now),
  replay: progress.replay === null ? null : releasedLine(progress.replay, now),
});

/** Delivers one webhook's events, one at a time and in order, until it is closed. */
export function startLane(hook: Hook, deps: LaneDeps): Lane {
  const { journal, clock, transport } = deps;
  const { progress } = hook;
  let closed = false;
  /** Counts the retries that were asked for. */
  let releases = 0;
  let pause = new AbortController();
  const broken = new AbortController();

  const wake = (): void => {
    const before = pause;
    pause = new AbortController();
    before.abort();
  };
  /** Waits until it is over or `wake` is called. */
  async function rest(wait: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = pause;
    if (closed) return;
    await wait(signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
  const forEver = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

  /** All up to `seq` is done on this line. */
  function advance(line: Line, seq: number): void {
    line.at = seq;
    if (line.head !== null && line.head.seq <= seq) line.head = null;
    if (line === progress.replay && seq >= progress.replay.to) progress.replay = null;
  }
  function gap(line: Line, from: number, to: number, error: string): void {
    const now = clock.now();
    hook.last_number += 1;
    const seen: DeliveryRow = {
      number: hook.last_number,
      state: 'gap',
      seq: from,
      to_seq: to,
      event_id: null,
      type: null,
      replay: Number(line === progress.replay),
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
    advance(line, to);
    deps.log.warn({ webhook: hook.id, from, to, error }, 'events could not be delivered');
    deps.changed(hook, seen);
  }

  /**
   * Up to where the log is in the epoch that was delivered so far; null where it holds nothing more of it. What a restored log
   * still holds of the former epoch goes out first: whether it did after the copy was made is not known, and its ids are as they
   * were.
   */
  function lastOfEpoch(): number | null {
    const { epoch, live } = progress;
    if (epoch === journal.epoch) return live.at > journal.head ? null : Infinity;
    const [next] = journal.read(live.at, 1);
    const last = journal.began - 1;
    return next !== undefined && next.seq <= last && idOf(next).startsWith(`${epoch}:`) ? last : null;
  }
  async function step(): Promise<void> {
    if (!hook.settings.enabled) return rest(forEver);
    const heard = deps.heard(hook.settings);
    if (heard === null) return deps.disable(hook, 'no_owner');
    if (heard.names.size === 0) return deps.disable(hook, 'not_allowed');
    const last = lastOfEpoch();
    if (last === null) {
      const { live } = progress;
      const before = Math.min(journal.began - 1, journal.head);
      Object.assign(progress, { epoch: journal.epoch, replay: null });
      return gap(live, Math.min(live.at + 1, before), before, 'the journal was lost or restored');
    }
    const line = progress.replay ?? progress.live;
    const until = Math.min(progress.replay?.to ?? Infinity, last);
    const lost = Math.min(journal.tail - 1, until);
    if (line.at < lost) {
      const kept = line === progress.live ? null : await deps.parked(hook.id, progress.epoch, line.at, lost);
      const upTo = kept === null ? lost : kept.seq - 1;
      if (upTo > line.at) gap(line, line.at + 1, upTo, 'the journal has them no longer');
      if (kept !== null) await handle(kept, line);
      return;
    }
    const rows = journal.read(line.at, PAGE);
    if (rows.length === 0) return rest((signal) => journal.waitFor(line.at + 1, signal));
    for (const row of rows) {
      if (row.seq > until || !(await handle(row, line))) return;
    }
  }
  /** Sends the row if it is to be sent now; false where the line must be looked at anew. */
  async function handle(row: JournalRow, line: Line): Promise<boolean> {
    if (closed || !hook.settings.enabled) return false;
    if (line !== (progress.replay ?? progress.live)) return false;
    const heard = deps.heard(hook.settings);
    if (heard === null || heard.names.size === 0) return false;
    if (!isHeard(row, heard, hook.settings.types)) {
      advance(line, row.seq);
      deps.changed(hook);
      return true;
    }
    const { head } = line;
    const early = head?.seq === row.seq ? head.next_at - clock.now() : 0;
    if (early <= 0) return attempt(row, line);
    await rest((signal) => clock.sleep(early, signal));
    return false;
  }
  async function attempt(row: JournalRow, line: Line): Promise<boolean> {
    const head = line.head?.seq === row.seq ? line.head : null;
    const { settings } = hook;
    const before = releases;
    const id = idOf(row);
    const at = clock.now();
    const headers = headersOf(settings, id, row.json, at, deps.agent);
    const outcome = await transport.post(settings.url, headers, row.json, broken.signal);
    const ok = isSuccess(outcome);
    // Broken off by us, or asked at an address that is not the target any more: it says nothing.
    if (!ok && (broken.signal.aborted || hook.settings.url !== settings.url)) return false;
    const attempts = (head?.attempts ?? 0) + 1;
    const first_at = head?.first_at ?? at;
    const number = head?.number ?? (hook.last_number += 1);
    const replayed = line !== progress.live;
    const seen: DeliveryRow = {
      number,
      state: 'delivered',
      seq: row.seq,
      to_seq: row.seq,
      event_id: id,
      type: row.type,
      replay: Number(replayed),
      attempts,
      status: outcome.status,
      error: outcome.error,
      latency_ms: outcome.latency_ms,
      excerpt: outcome.excerpt,
      first_at,
      last_at: at,
      next_at: null,
      row: null,
    };
    if (ok) {
      progress.failing_since = null;
      advance(line, row.seq);
      deps.changed(hook, seen);
      return true;
    }
    // The failure is older than a retry asked for during the attempt.
    return failed({ ...seen, state: 'retrying' }, row, line, outcome, releases !== before);
  }
  function failed(
    seen: DeliveryRow,
    row: JournalRow,
    line: Line,
    outcome: Outcome,
    released: boolean,
  ): boolean {
    const now = clock.now();
    const { number, attempts, first_at } = seen;
    const replayed = line !== progress.live;
    if (!replayed) progress.failing_since ??= seen.last_at;
    const last = replayed && attempts >= REPLAY_ATTEMPTS;
    const planned = last ? null : retryDelay(attempts, outcome.retry_after_seconds, deps.chance());
    const delay = released ? 0 : planned;
    const gone = outcome.status === 410;
    const park = delay === null && !gone;
    if (park) {
      if (replayed) progress.replay = null;
      else advance(line, row.seq);
    } else {
      const counted = released ? 0 : attempts;
      line.head = { seq: row.seq, number, attempts: counted, first_at, next_at: now + (delay ?? 0) };
    }
    const dead = progress.failing_since !== null && now - progress.failing_since >= FAILING_MS;
    deps.changed(hook, {
      ...seen,
      state: park ? 'parked' : 'retrying',
      next_at: park || gone || dead ? null : now + (delay ?? 0),
      row: park ? JSON.stringify(row) : null,
    });
    if (gone) deps.disable(hook, 'gone');
    else if (dead) deps.disable(hook, 'failing');
    return park;
  }

  const running = (async () => {
    while (!closed) {
      try {
        await step();
      } catch (error) {
        deps.log.warn({ webhook: hook.id, error: messageOf(error) }, 'a webhook waits');
        await rest((signal) => clock.sleep(AFTER_TROUBLE_MS, signal));
      }
    }
  })();
  return {
    wake,
    release() {
      const { live, replay } = releasedOf(progress, clock.now());
      progress.live.head = live.head;
      if (progress.replay !== null && replay !== null) progress.replay.head = replay.head;
      releases += 1;
      wake();
    },
    async close(grace) {
      closed = true;
      wake();
      const cut = (): void => broken.abort();
      if (grace.aborted) cut();
      else grace.addEventListener('abort', cut, { once: true });
      await running;
      grace.removeEventListener('abort', cut);
    },
  };
}
