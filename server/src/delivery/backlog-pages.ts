import type { Journal } from '../journal/journal.ts';
import type { JournalRow } from '../ports/journal-store.ts';
import { isFromBefore } from '../rights/former-holder.ts';
import { isStateType, namesIn } from '../rights/topics.ts';
import type { Audience } from './audiences.ts';
import { ROWS_PER_PAGE, bytesOnce, createBatch, essentialBytes, firstPiece } from './batch.ts';
import type { Batch } from './batch.ts';
import type { Backlog, Reader } from './reader.ts';
import { createShelf } from './shelf.ts';
import type { Shelf } from './shelf.ts';

const MAX_SHARED = 32;
const MAX_STATES = 200_000;
const LOOK_AHEAD = 5_000;

const namesOf = (row: JournalRow): readonly string[] => namesIn(row.topics);
const wasSent = ({ had }: Backlog, row: JournalRow): boolean =>
  namesOf(row).some((name) => (had.get(name) ?? Infinity) < row.seq);

/** Newest seq of each subject whose events are states, so that a slow reader is sent only the newest. */
class NewestStates {
  readonly #journal: Journal;
  readonly #newest = new Map<string, number>();
  /** Seq up to which the journal was examined. */
  #examined = 0;

  constructor(journal: Journal) {
    this.#journal = journal;
  }
  /** Examines the rows ahead of a reader at `at`, within a bound. */
  lookAhead(at: number): void {
    this.#examined = Math.max(this.#examined, at);
    const end = Math.min(this.#journal.head, at + LOOK_AHEAD);
    while (this.#examined < end) {
      const rows = this.#journal.read(this.#examined, ROWS_PER_PAGE);
      for (const row of rows) {
        if (!isStateType(row.type)) continue;
        if (this.#newest.size >= MAX_STATES) this.#newest.clear();
        this.#newest.set(`${row.type} ${row.subject}`, row.seq);
      }
      this.#examined = rows.at(-1)?.seq ?? end;
    }
  }
  /** True for a state that a newer one replaced. */
  replaced(row: JournalRow): boolean {
    return isStateType(row.type) && (this.#newest.get(`${row.type} ${row.subject}`) ?? 0) > row.seq;
  }
}

/** Reads the journal for readers that are behind, one page at a time; readers at the same position share pages. */
export class BacklogPages {
  readonly #shared = new Map<string, Batch>();
  readonly #shelf: Shelf;
  readonly #states: NewestStates;

  constructor(journal: Journal) {
    this.#shelf = createShelf(journal, namesOf);
    this.#states = new NewestStates(journal);
  }
  /** Events for the reader from the rows after `at`, up to `to` at most. */
  page(reader: Reader, audience: Audience, at: number, to: number): Batch {
    const shareable = reader.backlog === null && !reader.slow && audience.behind.size > 1;
    if (!shareable) return this.#read(reader, audience, at, to);
    const key = `${audience.key} ${at}`;
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const batch = this.#read(reader, audience, at, to);
    const [oldest] = this.#shared.size >= MAX_SHARED ? this.#shared.keys() : [];
    if (oldest !== undefined) this.#shared.delete(oldest);
    this.#shared.set(key, batch);
    return batch;
  }
  #read({ backlog, slow }: Reader, audience: Audience, at: number, to: number): Batch {
    const names = backlog === null ? audience.names : backlog.only;
    const found = this.#shelf.heard(names, at, to);
    const allowed =
      audience.bounds.size === 0
        ? found.rows
        : found.rows.filter((row) => !isFromBefore(row, namesOf(row), names, audience.bounds));
    const wanted = backlog === null ? allowed : allowed.filter((row) => !wasSent(backlog, row));
    const piece = firstPiece(wanted);
    const end = piece === wanted ? found.to : piece.at(-1)!.seq;
    const essential = essentialBytes(piece);
    if (slow) this.#states.lookAhead(at);
    const rows = slow ? piece.filter((row) => !this.#states.replaced(row)) : piece;
    return createBatch(audience.framing, bytesOnce(), { from: at, to: end, rows, essential });
  }
  /** Drops the framed pages. */
  clearShared(): void {
    this.#shared.clear();
  }
  /** Drops the rows read from the journal. */
  clearShelf(): void {
    this.#shelf.clear();
  }
}
