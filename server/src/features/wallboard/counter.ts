import { setImmediate as turn } from 'node:timers/promises';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JournalReader, JournalRow } from '../../ports/journal-store.ts';
import { emptyBoard, readBoard, writeBoard } from './board.ts';
import type { Board } from './board.ts';
import type { Span, ZoneCalendar } from './days.ts';
import { countedBy } from './handling.ts';
import { counts, reduce, skipGap } from './reduce.ts';
import { SumTable } from './store.ts';
import type { Gap, Position, WallboardStore } from './store.ts';
import { SLOT_MS, fold, noSums, slotOf, take } from './sums.ts';
import type { Count, Sums } from './sums.ts';

export interface CounterOptions {
  readonly store: WallboardStore;
  readonly journal: JournalReader;
  /** The event a row was made of. */
  readonly eventOf: (row: JournalRow) => DomainEvent;
  readonly clock: Clock;
  readonly calendar: ZoneCalendar;
  readonly log: Log;
}
/** Counts the journal, keeps what it counted, and answers with sums; nothing else makes figures. */
export interface Counter {
  readonly board: Board;
  readonly gaps: readonly Gap[];
  /** Grows with everything that can change a figure. */
  readonly version: number;
  readonly position: Position;
  /**
   * Counts rows as they are committed; skips rows that are counted already and reads the ones missing before them.
   * Returns the queues whose sums changed.
   */
  take(rows: readonly JournalRow[], events: readonly DomainEvent[]): ReadonlySet<string>;
  today(): { readonly date: string; readonly span: Span };
  /** Today's sums of a queue or agent up to `now`, from memory. Not to be changed. */
  sumsOfToday(of: Count['of'], name: string, running: Running): Sums;
  /**
   * The sums of each slot of the span that has any, from memory and store, in no order and a slot perhaps in parts; a page
   * at a time.
   */
  slots(
    of: Count['of'],
    name: string,
    span: Span,
    running: Running,
  ): AsyncGenerator<readonly (readonly [number, Partial<Sums>])[], void, void>;
  /** The sums of the whole span by name; of one queue or agent where it is given. */
  totals(of: Count['of'], span: Span, running: Running, name?: string): Promise<ReadonlyMap<string, Sums>>;
  /** What runs at `now` and is counted when it ends; of one queue's agents where it is given. */
  running(now: number, queue?: string): Running;
  /** Extensions with anything counted today, sorted. */
  agentsOfToday(): readonly string[];
  /** Writes what is not written yet. Throws `store_unavailable`. */
  save(): Promise<void>;
  /** True where `save` would write. */
  readonly unsaved: boolean;
}
/** Counts by `<of>/<name>`. */
export type Running = ReadonlyMap<string, readonly Count[]>;

const SETTLED = 'history.settled';
const PAGE = 500;
/** Rows without anything to count after which the position is written all the same: the journal forgets what is old. */
const SAVE_POSITION_ROWS = 5_000;
/** Rows after which a long replay is saved, so that a service that is killed meanwhile does not begin again. */
const SAVE_EVERY_ROWS = 20_000;

/** Goes on where the stored sums end: reads the journal up to its head before it returns. */
export async function createCounter(options: CounterOptions): Promise<Counter> {
  const { store, journal, eventOf, clock, calendar, log } = options;
  let board = emptyBoard();
  let position: Position = { epoch: journal.epoch, seq: journal.tail - 1, as_of: 0 };
  let gaps: readonly Gap[] = await store.gaps();
  let unsaved = new SumTable();
  let unsavedGaps: readonly Gap[] = [];
  /** Since when nobody hears the engine; null while it is heard. */
  let unheardSince: number | null = null;
  let changed = false;
  let version = 0;
  let savedSeq = position.seq;
  let saving: Promise<void> | null = null;
  let countedQueues = new Set<string>();

  let date = '';
  let span: Span = { from: 0, to: 0 };
  /** Memory holds every slot from here on; what is older is in the store only. */
  let recentFrom = 0;
  let recent = new SumTable();
  /** Today's, kept up with `recent`. */
  const totals = { queue: new Map<string, Sums>(), agent: new Map<string, Sums>() };
  const isToday = (slot: number): boolean => slot * SLOT_MS >= span.from && slot * SLOT_MS < span.to;

  const beginDay = (now: number): void => {
    date = calendar.dayOf(now);
    span = calendar.day(date);
    totals.queue.clear();
    totals.agent.clear();
    version += 1;
  };
  const keepTime = (): void => {
    const now = clock.now();
    if (now >= span.from && now < span.to) return;
    beginDay(now);
    if (slotOf(span.from) <= recentFrom) return;
    recentFrom = slotOf(span.from);
    recent.dropBefore(recentFrom);
  };
  const count = (one: Count): void => {
    const { of, name, slot } = one;
    if (of === 'queue') countedQueues.add(name);
    take(unsaved.at(of, name, slot), one);
    if (slot >= recentFrom) take(recent.at(of, name, slot), one);
    const total = isToday(slot) ? totals[of].get(name) : undefined;
    if (total !== undefined) take(total, one);
  };
  /** Visits of which no event ever came are in no figure: where the engine went on unheard, a gap says so. */
  const hear = (event: DomainEvent): void => {
    if (event.type === 'engine.link_down') unheardSince ??= event.at;
    else if (event.type === 'engine.link_up') {
      if (board.engine !== event.data.boot_id) unheardSince = null;
      board.engine = event.data.boot_id;
      changed = true;
    } else if (event.type === 'engine.resynced') {
      const from = unheardSince;
      unheardSince = null;
      if (from === null || event.data.restarted || event.at <= from) return;
      const before = gaps.at(-1);
      const near = before?.reason === 'unheard' && before.to <= from && from - before.to < SLOT_MS;
      const gap: Gap = { from: near ? before.from : from, to: event.at, reason: 'unheard' };
      gaps = [...(near ? gaps.slice(0, -1) : gaps), gap];
      unsavedGaps = [...unsavedGaps.filter((one) => one.from !== gap.from), gap];
      changed = true;
      version += 1;
    }
  };
  /** All waits of an absence are told; the gaps up to its end are those of agents only. */
  const settleGaps = (to: number): void => {
    const settled = gaps.filter((gap) => gap.reason === 'unheard' && gap.settled !== true && gap.to <= to);
    if (settled.length === 0) return;
    const marked = settled.map((gap) => ({ ...gap, settled: true }));
    gaps = gaps.map((gap) => marked[settled.indexOf(gap)] ?? gap);
    unsavedGaps = [...unsavedGaps.filter((gap) => !settled.some(({ from }) => from === gap.from)), ...marked];
    changed = true;
    version += 1;
  };
  const takeRow = (row: JournalRow, given?: DomainEvent): void => {
    position = { epoch: position.epoch, seq: row.seq, as_of: Math.max(position.as_of, row.at) };
    if (row.type.startsWith('engine.')) hear(given ?? eventOf(row));
    if (row.type === SETTLED) {
      settleGaps(Date.parse(((given ?? eventOf(row)).data as EventData<typeof SETTLED>).to));
    }
    if (!counts(row.type)) return;
    changed = true;
    version += 1;
    try {
      for (const one of reduce(board, given ?? eventOf(row))) count(one);
    } catch (error) {
      log.error({ seq: row.seq, type: row.type, error: messageOf(error) }, 'an event could not be counted');
    }
  };

  const isUnsaved = (): boolean => changed || position.seq - savedSeq >= SAVE_POSITION_ROWS;
  const save = async (): Promise<void> => {
    // One at a time; who waits wants what came meanwhile written too.
    while (saving !== null) await saving.catch(() => {});
    if (!isUnsaved()) return;
    const { seq } = position;
    const added = unsaved;
    const addedGaps = unsavedGaps;
    unsaved = new SumTable();
    unsavedGaps = [];
    changed = false;
    const work = store.save(added, position, writeBoard(board), addedGaps);
    saving = work;
    try {
      await work;
      savedSeq = seq;
    } catch (error) {
      added.addAll(unsaved);
      unsaved = added;
      unsavedGaps = [...addedGaps, ...unsavedGaps];
      changed = true;
      throw error;
    } finally {
      saving = null;
    }
  };

  const noteGap = async (gap: Gap): Promise<void> => {
    log.warn({ ...gap }, 'events are missing in the journal; the figures of this time are too small');
    skipGap(board, gap.to);
    await store.save(unsaved, position, writeBoard(board), [gap]);
    unsaved = new SumTable();
    gaps = [...gaps, gap];
  };
  const begin = async (): Promise<void> => {
    beginDay(clock.now());
    recentFrom = slotOf(span.from);
    recent = await store.since(recentFrom);
    const kept = await store.position();
    if (kept === null) return;
    const { epoch, seq, as_of } = kept;
    const before = readBoard(kept.board);
    if (before === null)
      log.error({}, 'what was open in the figures cannot be read; it counts as never ended');
    else board = before;
    position = { epoch, seq, as_of };
    if (as_of === 0) position = { epoch: journal.epoch, seq: journal.tail - 1, as_of };
    else if (epoch !== journal.epoch || seq > journal.head) {
      // What the new journal holds may have been counted from the old one: it is not counted again.
      position = { epoch: journal.epoch, seq: journal.head, as_of: clock.now() };
      await noteGap({ from: as_of, to: clock.now(), reason: 'new_journal' });
    } else if (seq + 1 < journal.tail) {
      const first = journal.read(journal.tail - 1, 1)[0]?.at ?? clock.now();
      position = { epoch, seq: journal.tail - 1, as_of };
      await noteGap({ from: Math.min(as_of, first), to: first, reason: 'retention' });
    }
  };
  const catchUp = async (): Promise<void> => {
    for (let read = 0; ;) {
      const rows = journal.read(position.seq, PAGE);
      if (rows.length === 0) return;
      for (const row of rows) takeRow(row);
      read += rows.length;
      if (read % SAVE_EVERY_ROWS === 0) await save();
      await turn();
    }
  };
  await begin();
  savedSeq = position.seq;
  await catchUp();
  // Whoever starts has heard nothing since the newest event.
  if (position.as_of > 0) unheardSince ??= position.as_of;

  const runningOf = (running: Running, of: Count['of'], name: string): readonly Count[] =>
    running.get(`${of}/${name}`) ?? [];
  return {
    get board() {
      return board;
    },
    get gaps() {
      return gaps;
    },
    get version() {
      keepTime();
      return version;
    },
    get position() {
      return position;
    },
    take(rows, events) {
      countedQueues = new Set();
      for (const [i, row] of rows.entries()) {
        while (row.seq > position.seq + 1) {
          const missing = journal.read(position.seq, Math.min(PAGE, row.seq - position.seq - 1));
          if (missing.length === 0) break;
          for (const one of missing) takeRow(one);
        }
        if (row.seq > position.seq) takeRow(row, events[i]);
      }
      return countedQueues;
    },
    today() {
      keepTime();
      return { date, span };
    },
    sumsOfToday(of, name, running) {
      keepTime();
      let total = totals[of].get(name);
      if (total === undefined) {
        total = noSums();
        for (const [slot, sums] of recent.slots(of, name) ?? []) if (isToday(slot)) fold(total, sums);
        totals[of].set(name, total);
      }
      const now = runningOf(running, of, name).filter((one) => isToday(one.slot));
      if (now.length === 0) return total;
      // Nothing that runs touches the waits.
      const sums = { ...total };
      for (const one of now) take(sums, one);
      return sums;
    },
    async *slots(of, name, { from, to }, running) {
      const [first, end] = [Math.ceil(from / SLOT_MS), Math.ceil(to / SLOT_MS)];
      const inMemory = recentFrom;
      // Given first: while the store is read, midnight may pass.
      const rest: (readonly [number, Partial<Sums>])[] = [];
      for (const [slot, sums] of recent.slots(of, name) ?? []) {
        if (slot >= Math.max(first, inMemory) && slot < end) rest.push([slot, sums]);
      }
      const now = new SumTable();
      for (const one of runningOf(running, of, name)) {
        if (one.slot >= first && one.slot < end) take(now.at(of, name, one.slot), one);
      }
      rest.push(...(now.slots(of, name) ?? []));
      if (rest.length > 0) yield rest;
      if (first >= inMemory) return;
      if (saving !== null || unsaved.before(inMemory)) await save();
      for await (const page of store.slots(of, name, first, Math.min(end, inMemory))) {
        yield page.map(({ slot, sums }) => [slot, sums] as const);
        await turn();
      }
    },
    async totals(of, { from, to }, running, name) {
      const [first, end] = [Math.ceil(from / SLOT_MS), Math.ceil(to / SLOT_MS)];
      const inMemory = recentFrom;
      const all = new Map<string, Sums>();
      const sumsOf = (of: string): Sums => {
        let sums = all.get(of);
        if (sums === undefined) {
          sums = noSums();
          all.set(of, sums);
        }
        return sums;
      };
      for (const known of name === undefined ? recent.names(of) : [name]) {
        for (const [slot, sums] of recent.slots(of, known) ?? []) {
          if (slot >= Math.max(first, inMemory) && slot < end) fold(sumsOf(known), sums);
        }
      }
      for (const counted of running.values()) {
        for (const one of counted) {
          const asked = one.of === of && (name === undefined || one.name === name);
          if (asked && one.slot >= first && one.slot < end) take(sumsOf(one.name), one);
        }
      }
      if (first >= inMemory) return all;
      if (saving !== null || unsaved.before(inMemory)) await save();
      for await (const rows of store.parts(of, first, Math.min(end, inMemory), name)) {
        for (const row of rows) fold(sumsOf(row.name), row.sums);
        await turn();
      }
      return all;
    },
    running(now, queue) {
      const byName = new Map<string, Count[]>();
      for (const one of countedBy(board, now, queue)) {
        const key = `${one.of}/${one.name}`;
        const known = byName.get(key);
        if (known === undefined) byName.set(key, [one]);
        else known.push(one);
      }
      return byName;
    },
    agentsOfToday: () => [...new Set([...board.agents.keys(), ...recent.names('agent')])].sort(),
    save,
    get unsaved() {
      return isUnsaved();
    },
  };
}
