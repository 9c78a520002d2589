import type { DomainEvent } from '@offhook/contract/events.ts';
import type { NodeId } from '@offhook/contract/ids.ts';
import { rfc3339 } from '../core/clock.ts';
import { checkOf, withCheck } from '../core/row-check.ts';
import { topicsOf } from '../rights/topics.ts';
import type { JournalRow, JournalStore } from '../ports/journal-store.ts';

/** Rows kept in memory, so that readers near the head never read the disk. */
const RECENT = 4096;
/** Rows per page for a reader. */
const PAGE = 500;

/**
 * The journal no longer holds the requested rows, or does not hold them yet: the reader must take a snapshot and
 * continue from `head`.
 */
export class JournalGapError extends Error {
  readonly from: number;
  readonly to: number;
  constructor(from: number, to: number) {
    super(`the journal holds ${from + 1} to ${to} no longer`);
    this.name = 'JournalGapError';
    this.from = from;
    this.to = to;
  }
}

/** The durable, ordered log of domain events. An event is not visible before its row is committed. */
export interface Journal {
  readonly epoch: string;
  /** First seq of the epoch; older rows belong to an earlier epoch. */
  readonly began: number;
  /** Newest committed seq; 0 while the log is empty. */
  readonly head: number;
  /** Oldest seq still kept. */
  readonly tail: number;
  /**
   * Oldest seq from which no event is missing: `tail`, or the seq after the newest `store.events_lost` of this run. Clients
   * of the stream with an older cursor need a snapshot.
   */
  readonly whole: number;
  /**
   * Commits all events or none and returns their rows: at once if the record is on the disk, as a promise if it is on
   * a server. Throws or rejects with `ServiceError('store_unavailable')` if the record refuses the write. After a
   * rejected promise it is open whether the events were written: the next call must begin with the same events, so
   * that none is lost or doubled. One call at a time.
   */
  append(events: readonly DomainEvent[]): readonly JournalRow[] | Promise<readonly JournalRow[]>;
  /** Up to `limit` rows with seq > `after`, in order. */
  read(after: number, limit: number): readonly JournalRow[];
  /** Deletes every row with seq < `below`; readers behind it get a gap. */
  trim(below: number): void;
  /** Approximate bytes of the kept rows. */
  readonly bytes: number;
  /**
   * Resolves once `seq` is committed, or a later row if a new epoch left `seq` out; rejects with the signal's reason.
   */
  waitFor(seq: number, signal?: AbortSignal): Promise<void>;
  /**
   * Every row after `cursor` in pages of at most 500: first the existing rows, then each commit. No row is missing or
   * doubled, and nothing is stored for a slow reader. Ends when the signal is aborted. Throws `JournalGapError`.
   */
  follow(cursor: number, signal: AbortSignal): AsyncGenerator<readonly JournalRow[], void, void>;
  /** The newest checkpoint and its seq. */
  checkpoint(): { readonly seq: number; readonly text: string } | null;
  /** Stores the pieces as the checkpoint of the current head, one piece with each step (`JournalStore`). */
  saveCheckpoint(pieces: Iterable<string>): Generator<number, void>;
  close(): void;
}

/** A journal whose record is its own store. */
export interface LocalJournal extends Journal {
  append(events: readonly DomainEvent[]): readonly JournalRow[];
  /** Appends rows of the site's log, which must follow the head. */
  take(rows: readonly JournalRow[]): void;
}
/** The record of a site's rows, which gets them before the copy of this node does. */
export interface RowRecord {
  /** Rejects as `Journal.append`. */
  append(rows: readonly JournalRow[]): Promise<void>;
  /** Begins to delete every row with seq < `below`; errors are only logged. */
  trim(below: number): void;
}

/** The journal on `store`. With a `record`, `store` is its copy: it gets each row once the record has it. */
export function openJournal(options: { store: JournalStore; node: NodeId }): LocalJournal;
export function openJournal(options: {
  store: JournalStore;
  node: NodeId;
  record: RowRecord | null;
}): Journal;
export function openJournal(options: {
  store: JournalStore;
  node: NodeId;
  record?: RowRecord | null;
}): Journal & Pick<LocalJournal, 'take'> {
  const { store, node, record = null } = options;
  let recent: JournalRow[] = [];
  let whole = 0;
  const waiting = new Set<() => void>();

  const read = (after: number, limit: number): readonly JournalRow[] => {
    const first = recent[0]?.seq;
    if (first === undefined || after + 1 < first) return store.read(after, limit);
    return recent.slice(after + 1 - first, after + 1 - first + limit);
  };
  // The head of an epoch without a row is a seq that the epoch left out.
  const lacks = (seq: number): boolean =>
    store.head() < seq || (store.head() < store.began && read(seq - 1, 1).length === 0);
  const committed = async (seq: number, signal?: AbortSignal): Promise<void> => {
    while (lacks(seq)) {
      signal?.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const stop = (): void => reject(signal?.reason);
      waiting.add(resolve);
      signal?.addEventListener('abort', stop, { once: true });
      try {
        await promise;
      } finally {
        waiting.delete(resolve);
        signal?.removeEventListener('abort', stop);
      }
    }
  };
  const keep = (rows: readonly JournalRow[]): readonly JournalRow[] => {
    store.append(rows);
    recent.push(...rows);
    for (const { type, seq } of rows) if (type === 'store.events_lost') whole = seq + 1;
    // Trimmed only at twice the size, so that many appends share its cost.
    if (recent.length > 2 * RECENT) recent = recent.slice(-RECENT);
    const wake = [...waiting];
    waiting.clear();
    for (const resolve of wake) resolve();
    return rows;
  };
  return {
    epoch: store.epoch,
    began: store.began,
    get head() {
      return store.head();
    },
    get tail() {
      return store.tail();
    },
    get whole() {
      return Math.max(whole, store.tail());
    },
    append(events) {
      if (events.length === 0) return [];
      const head = store.head();
      let check = store.check();
      const rows = events.map((event, i) => {
        const row = rowOf(event, head + 1 + i, store.epoch, node, check);
        check = checkOf(row.json);
        return row;
      });
      return record === null ? keep(rows) : record.append(rows).then(() => keep(rows));
    },
    take: (rows) => void keep(rows),
    read,
    trim(below) {
      store.trim(below);
      record?.trim(below);
      if ((recent[0]?.seq ?? below) < below) recent = recent.filter((row) => row.seq >= below);
    },
    get bytes() {
      return store.bytes();
    },
    waitFor: committed,
    async *follow(cursor, signal) {
      let at = cursor;
      while (!signal.aborted) {
        if (at > store.head() || at + 1 < store.tail()) throw new JournalGapError(at, store.tail() - 1);
        const rows = read(at, PAGE);
        const last = rows.at(-1);
        if (last !== undefined) {
          at = last.seq;
          yield rows;
          continue;
        }
        try {
          await committed(at + 1, signal);
        } catch (error) {
          if (signal.aborted) return;
          throw error;
        }
      }
    },
    checkpoint: () => store.checkpoint(),
    saveCheckpoint: (pieces) => store.saveCheckpoint(store.head(), pieces),
    close: () => store.close(),
  };
}

/** The CloudEvents envelope, serialised once for every reader; `before` is the check of the previous row. */
function rowOf(event: DomainEvent, seq: number, epoch: string, node: NodeId, before: string): JournalRow {
  const { type, subject, at } = event;
  const caused = event.caused_by === undefined ? '' : `"caused_by":${JSON.stringify(event.caused_by)},`;
  const json =
    `{"specversion":"1.0","id":"${epoch}:${seq}","source":"/offhook/${node}","type":"${type}",` +
    `"subject":${JSON.stringify(subject)},"time":"${rfc3339(at)}","seq":${seq},"observed":"${event.observed}",` +
    `${caused}"data":${JSON.stringify(event.data)}}`;
  const row = { seq, type, subject, at, topics: topicsOf(event).join(' '), json };
  return { ...row, json: withCheck(row, before) };
}
export function eventOf(row: JournalRow): DomainEvent {
  const { observed, data, caused_by } = JSON.parse(row.json) as DomainEvent;
  const event = { type: row.type, subject: row.subject, at: row.at, observed, data };
  return (caused_by === undefined ? event : { ...event, caused_by }) as DomainEvent;
}
