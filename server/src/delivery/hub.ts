import { messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { EVERYONE, isStateType, namesIn } from '../rights/topics.ts';
import type { Journal } from '../journal/journal.ts';
import type { JournalRow } from '../ports/journal-store.ts';
import { createBatch } from './batch.ts';
import type { Batch, Framing } from './batch.ts';
import { isFromBefore } from '../rights/former-holder.ts';
import type { Reader } from './reader.ts';
import { createShelf } from './shelf.ts';
import type { Bounds } from '../rights/hearing.ts';

/** Readers of one transport with the same names and time bounds. */
export interface Audience {
  readonly key: string;
  readonly framing: Framing;
  readonly names: ReadonlySet<string>;
  /** Equal to those of its readers. */
  readonly bounds: Bounds;
  readonly live: Set<Reader>;
  readonly behind: Set<Reader>;
  /** Bytes of essential events since the audience was created. */
  essential: number;
}
export interface HubCounters {
  readonly audiences: number;
  readonly events: number;
  readonly bytes: number;
  /** Committed rows not yet distributed to all readers. */
  readonly lag: number;
  readonly tooSlow: number;
}
export interface Hub {
  /** The journal has new rows. They are sent in a later turn of the event loop, so that commits of one turn share a write. */
  committed(): void;
  /**
   * Subscribes the reader to `names` from after seq `at`. True when it is live at once; false when it reads the journal first,
   * after which `caughtUp` is called. `last` is the `prev` of its next event.
   */
  attach(reader: Reader, names: readonly string[], at: number, last: number): boolean;
  /** Seq up to which everything for the reader was examined, its backlog aside. */
  positionOf(reader: Reader): number;
  /** A cursor from which the reader misses nothing. */
  safeCursorOf(reader: Reader): number;
  /** A live reader that is not at the head catches up by itself; true when it is there, false when `caughtUp` follows. */
  bringUp(reader: Reader): boolean;
  /** The reader can take more again. */
  takes(reader: Reader): void;
  leave(reader: Reader): void;
  counters(): HubCounters;
  close(): void;
}
/** Rows examined at once, and about how many bytes of them: as much as one reader may have unsent. */
const PAGE = 500;
const PAGE_BYTES = 192 * 1024;
/** Milliseconds of work before the event loop runs other work. */
const TURN_MS = 8;
const PULL_MS = 6;
/** Limit of essential events that wait for one reader, in bytes. */
export const MAX_BEHIND = 1024 * 1024;
const MAX_PAGES = 32;
const MAX_STATES = 200_000;
const LOOK_AHEAD = 5_000;
const RETRY_MS = 500;
/** How long unused pages are kept. */
const SHELF_MS = 2_000;

const namesOfRow = (row: JournalRow): readonly string[] => namesIn(row.topics);
const stateOf = (row: JournalRow): string => `${row.type} ${row.subject}`;

interface Round {
  readonly to: number;
  readonly audiences: readonly (readonly [Audience, Batch])[];
  next: number;
  readers: Iterator<Reader> | null;
}

/**
 * Distributes committed rows to readers: an index of names to audiences, and one framing for all readers of an audience. Nothing is
 * queued for a reader: a full one keeps its position and reads the journal from there.
 */
export function createHub(options: {
  journal: Journal;
  log: Log;
  maxBehind?: number;
  /** Milliseconds of one turn; 0 yields after every reader. */
  turnMs?: number;
}): Hub {
  const { journal, log, maxBehind = MAX_BEHIND, turnMs = TURN_MS } = options;
  const audiences = new Map<string, Audience>();
  const index = new Map<string, Set<Audience>>();
  const pulling = new Set<Reader>();
  /** Pages shared by readers at the same position. */
  const pages = new Map<string, Batch>();
  /** Newest seq of each subject whose events are states, read up to `learnt`, for slow readers. */
  const states = new Map<string, number>();
  let learnt = 0;
  let done = journal.head;
  let round: Round | null = null;
  let scheduled = false;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;
  let tidying: NodeJS.Timeout | undefined;
  let [events, bytes, tooSlow] = [0, 0, 0];

  const shelf = createShelf(journal, namesOfRow);
  const had = (since: ReadonlyMap<string, number>, row: JournalRow): boolean =>
    namesOfRow(row).some((name) => (since.get(name) ?? Infinity) < row.seq);
  const essentialOf = (row: JournalRow): number => (isStateType(row.type) ? 0 : row.json.length);
  const bytesOnce = (): ((row: JournalRow) => Buffer) => {
    const made = new Map<number, Buffer>();
    return (row) => {
      let json = made.get(row.seq);
      if (json === undefined) made.set(row.seq, (json = Buffer.from(row.json)));
      return json;
    };
  };

  /** As many rows as fit in one piece: nearly always all. */
  const firstOf = (rows: readonly JournalRow[]): readonly JournalRow[] => {
    let size = 0;
    const end = rows.findIndex((row) => (size += row.json.length) > PAGE_BYTES);
    return end < 0 ? rows : rows.slice(0, Math.max(1, end));
  };
  /** Rows committed and not yet examined, by audience; null when there are none. */
  function nextRound(): Round | null {
    const { head } = journal;
    if (head === done) return null;
    if (audiences.size === 0) {
      done = head;
      return null;
    }
    if (journal.tail > done + 1) {
      // The rows were trimmed before they were distributed: each live reader finds the gap itself.
      for (const audience of audiences.values())
        for (const reader of audience.live) fallBehind(reader, done, false);
      done = journal.tail - 1;
    }
    const rows = firstOf(journal.read(done, PAGE));
    const found = new Map<Audience, JournalRow[]>();
    const hear = (audience: Audience, row: JournalRow): void => {
      if (isFromBefore(row, namesOfRow(row), audience.names, audience.bounds)) return;
      const list = found.get(audience);
      if (list === undefined) found.set(audience, [row]);
      else if (list.at(-1) !== row) list.push(row);
    };
    for (const row of rows) {
      for (const name of namesOfRow(row)) {
        if (name === EVERYONE) for (const audience of audiences.values()) hear(audience, row);
        else for (const audience of index.get(name) ?? []) hear(audience, row);
      }
    }
    const [from, to] = [done, rows.at(-1)?.seq ?? head];
    const jsonOf = bytesOnce();
    const batches: [Audience, Batch][] = [];
    for (const [audience, heard] of found) {
      let essential = 0;
      for (const row of heard) essential += essentialOf(row);
      audience.essential += essential;
      for (const reader of audience.behind) {
        if (reader.slow && audience.essential - reader.essentialRead > maxBehind) giveUp(reader);
      }
      if (audience.live.size === 0) continue;
      batches.push([audience, createBatch(audience.framing, jsonOf, { from, to, rows: heard, essential })]);
    }
    return { to, audiences: batches, next: 0, readers: null };
  }
  const giveUp = (reader: Reader): void => {
    tooSlow += 1;
    leave(reader);
    reader.tooSlow();
  };
  /** True when every reader of the round was visited. */
  function goOn(current: Round, until: number): boolean {
    for (let n = 1; ; n += 1) {
      if (current.readers === null) {
        const audience = current.audiences[current.next]?.[0];
        if (audience === undefined) return true;
        current.readers = audience.live.values();
      }
      const reader = current.readers.next();
      const [, batch] = current.audiences[current.next]!;
      if (reader.done === true) {
        current.readers = null;
        current.next += 1;
      } else visit(reader.value, batch);
      if (turnMs === 0 || (n % 32 === 0 && performance.now() > until)) return false;
    }
  }
  function visit(reader: Reader, batch: Batch): void {
    if (reader.scanned >= batch.to) return;
    const from = Math.max(reader.scanned, batch.from);
    if (reader.full) fallBehind(reader, from, true);
    else if (from === batch.from) hand(reader, batch);
    else {
      const rows = batch.rows.filter((row) => row.seq > from);
      hand(reader, createBatch(reader.framing, bytesOnce(), { from, to: batch.to, rows, essential: 0 }));
    }
  }
  function hand(reader: Reader, batch: Batch): void {
    reader.scanned = batch.to;
    reader.essentialRead += batch.essential;
    if (batch.rows.length === 0) return;
    const piece = batch.bytes(reader.last);
    reader.last = batch.last;
    events += batch.rows.length;
    bytes += piece.length;
    reader.send(piece);
  }
  function fallBehind(reader: Reader, at: number, slow: boolean): void {
    const { audience } = reader;
    if (audience === null) return;
    audience.live.delete(reader);
    audience.behind.add(reader);
    reader.mode = 'behind';
    reader.scanned = at;
    if (slow) {
      reader.slow = true;
      // A batch under way is counted in the audience's essential bytes and was not read by this reader.
      const underWay = round?.audiences.find(([other]) => other === audience)?.[1];
      reader.essentialRead =
        audience.essential - (underWay !== undefined && at < underWay.to ? underWay.essential : 0);
    }
    if (!reader.full) {
      pulling.add(reader);
      schedule();
    }
  }

  /** Sends the next rows to a reader that is behind. True when it needs another turn. */
  function pull(reader: Reader): boolean {
    const { audience, backlog } = reader;
    if (audience === null || reader.mode !== 'behind' || reader.full) return false;
    const at = backlog?.at ?? reader.scanned;
    const to = backlog?.to ?? journal.head;
    if (at >= to) {
      if (backlog !== null) {
        reader.backlog = null;
        return true;
      }
      goLive(reader, audience);
      reader.caughtUp();
      return false;
    }
    if (at + 1 < journal.tail) {
      const { head } = journal;
      reader.backlog = null;
      if (backlog === null) reader.scanned = head;
      reader.missed(at, backlog === null ? head : to);
      return true;
    }
    const batch = pageOf(reader, audience, at, to);
    if (backlog === null) {
      hand(reader, batch);
      return reader.mode === 'behind';
    }
    backlog.at = batch.to;
    const { scanned, essentialRead } = reader;
    hand(reader, batch);
    Object.assign(reader, { scanned, essentialRead });
    return true;
  }
  function goLive(reader: Reader, audience: Audience): void {
    audience.behind.delete(reader);
    audience.live.add(reader);
    reader.mode = 'live';
    reader.slow = false;
  }
  /** Reads ahead of a slow reader at `at`, within a bound. */
  function learn(at: number): void {
    learnt = Math.max(learnt, at);
    const end = Math.min(journal.head, at + LOOK_AHEAD);
    while (learnt < end) {
      const rows = journal.read(learnt, PAGE);
      for (const row of rows) {
        if (!isStateType(row.type)) continue;
        if (states.size >= MAX_STATES) states.clear();
        states.set(stateOf(row), row.seq);
      }
      learnt = rows.at(-1)?.seq ?? end;
    }
  }
  function pageOf(reader: Reader, audience: Audience, at: number, to: number): Batch {
    const { backlog, slow } = reader;
    const shared = backlog === null && !slow && audience.behind.size > 1 ? `${audience.key} ${at}` : null;
    const known = shared === null ? undefined : pages.get(shared);
    if (known !== undefined) return known;
    const names = backlog === null ? audience.names : backlog.only;
    const found = shelf.heard(names, at, to);
    const own =
      audience.bounds.size === 0
        ? found.rows
        : found.rows.filter((row) => !isFromBefore(row, namesOfRow(row), names, audience.bounds));
    const wanted = backlog === null ? own : own.filter((row) => !had(backlog.had, row));
    const heard = firstOf(wanted);
    const end = heard === wanted ? found.to : heard.at(-1)!.seq;
    let essential = 0;
    for (const row of heard) essential += essentialOf(row);
    if (slow) learn(at);
    const sent = slow
      ? heard.filter((row) => !isStateType(row.type) || (states.get(stateOf(row)) ?? 0) <= row.seq)
      : heard;
    const batch = createBatch(audience.framing, bytesOnce(), { from: at, to: end, rows: sent, essential });
    if (shared !== null) {
      const [oldest] = pages.size >= MAX_PAGES ? pages.keys() : [];
      if (oldest !== undefined) pages.delete(oldest);
      pages.set(shared, batch);
    }
    return batch;
  }

  function pullAgain(reader: Reader): void {
    let again = true;
    try {
      again = pull(reader);
    } finally {
      if (again && reader.mode === 'behind' && !reader.full) pulling.add(reader);
    }
  }
  function turn(): void {
    scheduled = false;
    if (closed) return;
    try {
      round ??= nextRound();
      if (round !== null && goOn(round, performance.now() + turnMs)) {
        done = round.to;
        round = null;
      }
      const until = performance.now() + PULL_MS;
      for (const reader of pulling) {
        pulling.delete(reader);
        pullAgain(reader);
        if (performance.now() > until) break;
      }
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the journal cannot be read for the stream; trying again');
      retry ??= setTimeout(() => {
        retry = undefined;
        schedule();
      }, RETRY_MS);
      return;
    }
    if (pulling.size === 0) {
      pages.clear();
      // In a reconnect storm the next reader comes soon, so the pages are kept a moment.
      tidying ??= setTimeout(tidy, SHELF_MS).unref();
    }
    if (round !== null || pulling.size > 0 || journal.head > done) schedule();
  }
  function tidy(): void {
    tidying = undefined;
    if (pulling.size === 0) shelf.clear();
  }
  function schedule(): void {
    if (scheduled || closed || retry !== undefined) return;
    scheduled = true;
    setImmediate(turn);
  }
  function audienceOf({ framing, bounds }: Reader, names: readonly string[]): Audience {
    const from = [...bounds].map(([name, since]) => `${name}@${since}`).sort();
    const key = [framing.name, ...names, ...from].join(' ');
    let audience = audiences.get(key);
    if (audience !== undefined) return audience;
    audience = {
      key,
      framing,
      names: new Set(names),
      bounds,
      live: new Set(),
      behind: new Set(),
      essential: 0,
    };
    audiences.set(key, audience);
    for (const name of names) {
      const set = index.get(name);
      if (set === undefined) index.set(name, new Set([audience]));
      else set.add(audience);
    }
    return audience;
  }
  function leave(reader: Reader): void {
    const { audience } = reader;
    pulling.delete(reader);
    reader.audience = null;
    reader.mode = 'idle';
    reader.backlog = null;
    reader.slow = false;
    if (audience === null) return;
    audience.live.delete(reader);
    audience.behind.delete(reader);
    if (audience.live.size > 0 || audience.behind.size > 0) return;
    audiences.delete(audience.key);
    for (const name of audience.names) {
      const set = index.get(name);
      set?.delete(audience);
      if (set?.size === 0) index.delete(name);
    }
  }
  const positionOf = (reader: Reader): number =>
    reader.mode === 'live' ? Math.max(reader.scanned, done) : reader.scanned;

  return {
    committed: schedule,
    attach(reader, names, at, last) {
      if (audiences.size === 0 && round === null) done = journal.head;
      const { backlog } = reader;
      leave(reader);
      const audience = audienceOf(reader, names);
      Object.assign(reader, { audience, backlog, scanned: at, last, essentialRead: audience.essential });
      if (at >= journal.head && backlog === null) {
        goLive(reader, audience);
        return true;
      }
      fallBehind(reader, at, false);
      return false;
    },
    positionOf,
    safeCursorOf: (reader) => Math.min(positionOf(reader), reader.backlog?.at ?? Infinity),
    bringUp(reader) {
      if (reader.mode !== 'live') return false;
      const at = positionOf(reader);
      if (at >= journal.head) return true;
      fallBehind(reader, at, false);
      return false;
    },
    takes(reader) {
      if (reader.mode !== 'behind') return;
      pulling.add(reader);
      schedule();
    },
    leave,
    counters: () => ({ audiences: audiences.size, events, bytes, lag: journal.head - done, tooSlow }),
    close() {
      closed = true;
      clearTimeout(retry);
      clearTimeout(tidying);
    },
  };
}
