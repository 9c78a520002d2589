import { setImmediate as turn } from 'node:timers/promises';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { messageOf } from '../../core/errors.ts';
import type { JournalReader, JournalRow } from '../../ports/journal-store.ts';
import type { Common } from '../../ports/common.ts';
import { emptyBoard, readBoard, writeBoard } from './board.ts';
import type { Board } from './board.ts';
import type { Span, ZoneCalendar } from './days.ts';
import { Gaps } from './gaps.ts';
import type { Gap } from './gaps.ts';
import { countedBy } from './handling.ts';
import { RecentSums } from './recent.ts';
import { counts, reduce, skipGap } from './reduce.ts';
import { SumTable } from './sum-table.ts';
import type { Position, WallboardStore } from './store.ts';
import { SLOT_MS, fold, noSums, take } from './sums.ts';
import type { Count, Sums } from './sums.ts';

export interface CounterOptions extends Common<'clock' | 'log'> {
  readonly store: WallboardStore;
  readonly journal: JournalReader;
  readonly eventOf: (row: JournalRow) => DomainEvent;
  readonly calendar: ZoneCalendar;
}
/** A save whose answer was an error: it is open whether the database has it. */
interface OpenSave {
  readonly added: SumTable;
  readonly position: Position;
}
/** Counts by `<of>/<name>`. */
export type Running = ReadonlyMap<string, readonly Count[]>;

const SETTLED = 'history.settled';
const PAGE = 500;
/** Rows without counts after which the position is stored anyway, because the journal drops old rows. */
const SAVE_POSITION_ROWS = 5_000;
/** Rows after which a long replay is saved, so that a killed service does not repeat all of it. */
const SAVE_EVERY_ROWS = 20_000;

/** Counts the journal, stores the sums and reads them; all figures come from here. */
export class Counter {
  readonly #deps: CounterOptions;
  readonly #gaps: Gaps;
  readonly #recent: RecentSums;
  #board = emptyBoard();
  #position: Position;
  #unsaved = new SumTable();
  #changed = false;
  #version = 0;
  #savedSeq = 0;
  #saving: Promise<void> | null = null;
  #openSave: OpenSave | null = null;
  #countedQueues = new Set<string>();

  private constructor(options: CounterOptions, gaps: readonly Gap[]) {
    const { journal, clock, calendar } = options;
    this.#deps = options;
    this.#gaps = new Gaps(gaps, this.#board);
    this.#recent = new RecentSums(clock, calendar);
    this.#position = { epoch: journal.epoch, seq: journal.tail - 1, as_of: 0 };
  }
  /** Continues where the stored sums end: reads the journal up to its head. */
  static async open(options: CounterOptions): Promise<Counter> {
    const counter = new Counter(options, await options.store.gaps());
    await counter.#begin();
    counter.#savedSeq = counter.#position.seq;
    await counter.#catchUp();
    // No event was received between the newest one and this start.
    counter.#gaps.onStart(counter.#position.as_of);
    // No row of the journal shows the next start when these absences began.
    counter.#changed ||= counter.#board.unheard.size > 0;
    return counter;
  }

  get board(): Board {
    return this.#board;
  }

  get gaps(): readonly Gap[] {
    return this.#gaps.all;
  }

  /** Increases with everything that can change a figure. */
  get version(): number {
    return this.#version + this.#recent.days;
  }

  get position(): Position {
    return this.#position;
  }

  /**
   * Counts committed rows; skips rows already counted and reads missing rows before them.
   * Returns the queues whose sums changed.
   */
  take(rows: readonly JournalRow[], events: readonly DomainEvent[]): ReadonlySet<string> {
    this.#countedQueues = new Set();
    for (const [i, row] of rows.entries()) {
      while (row.seq > this.#position.seq + 1) {
        const missing = this.#deps.journal.read(
          this.#position.seq,
          Math.min(PAGE, row.seq - this.#position.seq - 1),
        );
        if (missing.length === 0) break;
        for (const one of missing) this.#takeRow(one);
      }
      if (row.seq > this.#position.seq) this.#takeRow(row, events[i]);
    }
    return this.#countedQueues;
  }

  today(): { readonly date: string; readonly span: Span } {
    return this.#recent.today;
  }

  /** Today's sums of a queue or agent up to `now`, from memory. Not to be changed. */
  sumsOfToday(of: Count['of'], name: string, running: Running): Sums {
    return this.#recent.sumsOfToday(of, name, running.get(`${of}/${name}`) ?? []);
  }

  /**
   * Pages of the sums of each slot in the span up to `at`, from memory and store. Slots are unordered, and a slot may
   * come in several parts. Running counts are taken together with the memory, which an event may change at any time.
   */
  async *slots(
    of: Count['of'],
    name: string,
    { from, to }: Span,
    at: number,
  ): AsyncGenerator<readonly (readonly [number, Partial<Sums>])[], void, void> {
    const [first, end] = [Math.ceil(from / SLOT_MS), Math.ceil(to / SLOT_MS)];
    // A new slot drops an older one, so the table comes before its first slot, and memory before the store.
    const { table } = this.#recent;
    const inMemory = this.#recent.from(of);
    const rest: (readonly [number, Partial<Sums>])[] = [];
    for (const [slot, sums] of table.slots(of, name) ?? []) {
      if (slot >= Math.max(first, inMemory) && slot < end) rest.push([slot, sums]);
    }
    const running = new SumTable();
    for (const one of this.running(at, of === 'queue' ? name : undefined).get(`${of}/${name}`) ?? []) {
      if (one.slot >= first && one.slot < end) take(running.at(of, name, one.slot), one);
    }
    rest.push(...(running.slots(of, name) ?? []));
    if (rest.length > 0) yield rest;
    if (first >= inMemory) return;
    await this.#storeBefore(inMemory);
    for await (const page of this.#deps.store.slots(of, name, first, Math.min(end, inMemory))) {
      yield page.map(({ slot, sums }) => [slot, sums] as const);
      await turn();
    }
  }

  /** Sums of the whole span up to `at` by name; only of `name` if given. */
  async totals(
    of: Count['of'],
    { from, to }: Span,
    at: number,
    name?: string,
  ): Promise<ReadonlyMap<string, Sums>> {
    const [first, end] = [Math.ceil(from / SLOT_MS), Math.ceil(to / SLOT_MS)];
    // As in `slots`.
    const { table } = this.#recent;
    const inMemory = this.#recent.from(of);
    const all = new Map<string, Sums>();
    const sumsOf = (of: string): Sums => {
      let sums = all.get(of);
      if (sums === undefined) {
        sums = noSums();
        all.set(of, sums);
      }
      return sums;
    };
    for (const known of name === undefined ? table.names(of) : [name]) {
      for (const [slot, sums] of table.slots(of, known) ?? []) {
        if (slot >= Math.max(first, inMemory) && slot < end) fold(sumsOf(known), sums);
      }
    }
    for (const counted of this.running(at, of === 'queue' ? name : undefined).values()) {
      for (const one of counted) {
        const asked = one.of === of && (name === undefined || one.name === name);
        if (asked && one.slot >= first && one.slot < end) take(sumsOf(one.name), one);
      }
    }
    if (first >= inMemory) return all;
    await this.#storeBefore(inMemory);
    for await (const rows of this.#deps.store.parts(of, first, Math.min(end, inMemory), name)) {
      for (const row of rows) fold(sumsOf(row.name), row.sums);
      await turn();
    }
    return all;
  }

  /** Counts still running at `now`; only those of one queue itself if given. */
  running(now: number, queue?: string): Running {
    const byName = new Map<string, Count[]>();
    for (const one of countedBy(this.#board, now, queue)) {
      const key = `${one.of}/${one.name}`;
      const known = byName.get(key);
      if (known === undefined) byName.set(key, [one]);
      else known.push(one);
    }
    return byName;
  }

  /** Extensions with anything counted today, sorted. */
  agentsOfToday(): readonly string[] {
    return [...new Set([...this.#board.agents.keys(), ...this.#recent.namesOfToday('agent')])].sort();
  }

  /** True if `save` would write. */
  get unsaved(): boolean {
    return this.#changed || this.#position.seq - this.#savedSeq >= SAVE_POSITION_ROWS;
  }

  /** Stores pending counts. Throws `store_unavailable`. */
  async save(): Promise<void> {
    // One save at a time; a caller that waited also stores what was counted meanwhile.
    while (this.#saving !== null) await this.#saving.catch(() => {});
    if (!this.unsaved) return;
    const work = this.#write();
    this.#saving = work;
    try {
      await work;
    } finally {
      this.#saving = null;
    }
  }
  async #write(): Promise<void> {
    await this.#settleOpen();
    const position = this.#position;
    const added = this.#unsaved;
    const addedGaps = this.#gaps.takeUnsaved();
    this.#unsaved = new SumTable();
    this.#changed = false;
    try {
      await this.#deps.store.save(added, position, writeBoard(this.#board), addedGaps);
      this.#savedSeq = position.seq;
    } catch (error) {
      this.#openSave = { added, position };
      this.#gaps.giveBack(addedGaps);
      this.#changed = true;
      throw error;
    }
  }
  /** Takes the counts of a failed save back, unless the database has them: added again, they would count twice. */
  async #settleOpen(): Promise<void> {
    const open = this.#openSave;
    if (open === null) return;
    if (!(await this.#deps.store.has(open.position))) {
      open.added.addAll(this.#unsaved);
      this.#unsaved = open.added;
    }
    this.#openSave = null;
  }

  /** Stores what was counted before this slot. */
  async #storeBefore(slot: number): Promise<void> {
    await this.#saving?.catch(() => {});
    if (this.#openSave?.added.before(slot) === true || this.#unsaved.before(slot)) await this.save();
  }
  #count(one: Count): void {
    const { of, name, slot } = one;
    if (of === 'queue') this.#countedQueues.add(name);
    take(this.#unsaved.at(of, name, slot), one);
    this.#recent.count(one);
  }

  #onEngineEvent(event: DomainEvent): void {
    if (event.type === 'engine.link_down') {
      this.#gaps.onLinkDown(event.data.node, event.at);
      this.#changed = true;
    }
    // The link is reported when the engine's state was read; it may be followed by no `engine.resynced` of its own.
    if (event.type !== 'engine.link_up') return;
    const { node, boot_id } = event.data;
    const { engine, engines } = this.#board;
    const known = engines.get(node);
    // This is the one engine of the earlier version; an engine that is added to the site later is new.
    if (engine === boot_id) this.#board.engine = null;
    // After an update from a version without `engines`, a restart is unknown, and its time counts as a gap.
    const restarted = known === undefined ? engine === null : known !== boot_id;
    engines.set(node, boot_id);
    this.#changed = true;
    if (this.#gaps.onLinkUp(node, event.at, restarted)) this.#figuresChanged();
  }

  #figuresChanged(): void {
    this.#changed = true;
    this.#version += 1;
  }

  #takeRow(row: JournalRow, given?: DomainEvent): void {
    const { eventOf, log } = this.#deps;
    this.#position = {
      epoch: this.#position.epoch,
      seq: row.seq,
      as_of: Math.max(this.#position.as_of, row.at),
    };
    if (row.type.startsWith('engine.')) this.#onEngineEvent(given ?? eventOf(row));
    if (row.type === SETTLED) {
      const { node, to } = (given ?? eventOf(row)).data as EventData<typeof SETTLED>;
      if (this.#gaps.settle(node, Date.parse(to))) this.#figuresChanged();
    }
    if (!counts(row.type)) return;
    this.#figuresChanged();
    try {
      for (const one of reduce(this.#board, given ?? eventOf(row))) this.#count(one);
    } catch (error) {
      log.error({ seq: row.seq, type: row.type, error: messageOf(error) }, 'an event could not be counted');
    }
  }

  async #noteGap(gap: Gap): Promise<void> {
    const { log, store } = this.#deps;
    log.warn({ ...gap }, 'events are missing in the journal; the figures of this time are too small');
    skipGap(this.#board, gap.to);
    await store.save(this.#unsaved, this.#position, writeBoard(this.#board), [gap]);
    this.#unsaved = new SumTable();
    this.#gaps.addStored(gap);
  }

  async #begin(): Promise<void> {
    const { clock, log, store } = this.#deps;
    for await (const rows of store.since(this.#recent.loaded)) this.#recent.load(rows);
    const kept = await store.position();
    if (kept === null) return;
    const { epoch, seq, as_of } = kept;
    const before = readBoard(kept.board);
    if (before === null)
      log.error({}, 'open intervals of the figures cannot be read; they count as never ended');
    else {
      this.#board = before;
      this.#gaps.resume(before);
    }
    this.#position = { epoch, seq, as_of };
    if (as_of === 0)
      this.#position = { epoch: this.#deps.journal.epoch, seq: this.#deps.journal.tail - 1, as_of };
    else if (epoch !== this.#deps.journal.epoch || seq > this.#deps.journal.head) {
      // Events of the new journal may have been counted from the old one, so they are not counted again.
      this.#position = { epoch: this.#deps.journal.epoch, seq: this.#deps.journal.head, as_of: clock.now() };
      await this.#noteGap({ from: as_of, to: clock.now(), reason: 'new_journal' });
    } else if (seq + 1 < this.#deps.journal.tail) {
      const first = this.#deps.journal.read(this.#deps.journal.tail - 1, 1)[0]?.at ?? clock.now();
      this.#position = { epoch, seq: this.#deps.journal.tail - 1, as_of };
      await this.#noteGap({ from: Math.min(as_of, first), to: first, reason: 'retention' });
    }
  }

  async #catchUp(): Promise<void> {
    for (let read = 0; ;) {
      const rows = this.#deps.journal.read(this.#position.seq, PAGE);
      if (rows.length === 0) return;
      for (const row of rows) this.#takeRow(row);
      read += rows.length;
      if (read % SAVE_EVERY_ROWS === 0) await this.save();
      await turn();
    }
  }
}
