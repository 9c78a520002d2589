/**
 * Compares journal and call records, once a call is over in the journal and the call records of that time are read:
 *
 *   not in the history, or still open in it ──> completed from the journal
 *   other talk time                         ──> a difference; what the call records lack is completed
 *   in the history, not in the journal      ──> a difference, unless the service was away
 *   an absence with channels in neither one ──> a gap
 *   a visit that ended in an absence        ──> its outcome, from the call records
 *
 * Every step is idempotent: records from the journal and findings have keys, and the position in the journal is stored
 * after the results.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeOf } from '@offhook/contract/ids.ts';
import { rfc3339 } from '../../../core/clock.ts';
import type { JournalReader, JournalRow } from '../../../ports/journal-store.ts';
import type { Common } from '../../../ports/common.ts';
import { readFact, writeFact } from '../store/store.ts';
import type { Ingest } from '../ingest/ingest.ts';
import type { Tables } from '../store/tables.ts';
import { createAbsences, isHeard, gapsOf, testChannels } from './gaps.ts';
import type { Absence, Absences, Lasting, Linked } from './gaps.ts';
import { differenceOf, lackOf, recordsFor, storedOf } from './compare.ts';
import type { Lack, Stored } from './compare.ts';
import {
  DAY_MS,
  figuresOf,
  findingOf,
  forgetFindings,
  foundInJournal,
  keepFinding,
  tellsFinding,
  unpublished,
} from './findings.ts';
import type { FindingFigures } from './findings.ts';
import { createSettler } from './settle.ts';
import type { Heard, Unsettled } from './settle.ts';
import { Stories, isStoryType } from './stories.ts';
import type { Story } from './stories.ts';
import { createUnknown } from './unknown.ts';

export interface ProverDeps extends Common<'clock' | 'log' | 'publish' | 'store'> {
  readonly journal: JournalReader;
  readonly eventOf: (row: JournalRow) => DomainEvent;
  readonly ingest: Pick<Ingest, 'complete'>;
  /**
   * Time when the call records of the leading engine, or of the engine of this other node, were last read to their end, in
   * ms; null before the first time.
   */
  readonly caughtUpAt: (node?: string) => number | null;
  /** Nodes of the site's other engines. */
  readonly others?: readonly string[];
}

/** Delay after the end of a call within which its records may still arrive. */
export const GRACE_MS = 10_000;
/**
 * Longest wait of a call for the records of another engine, which bounds the calls in memory while they cannot be read. An
 * absence waits longer, because its lost channels and its visits are only in these records.
 */
export const OTHERS_MS = 10 * 60_000;
const PAGE = 500;
/** Pages read before the calls that are due are compared. */
const MOST_PAGES = 10;
const SAVE_EVERY_MS = 30_000;
/** Compared calls are remembered for this long, because their conversation may arrive later. */
const SEEN_MS = 30 * 60_000;
/** A finding that is not in the journal after this time is published again. */
const AGAIN_MS = 30_000;
const TIDY_EVERY_MS = 3_600_000;

interface Place {
  readonly epoch: string;
  readonly seq: number;
  /** Known times in which the journal received no engine events. */
  readonly absences: readonly Absence[];
  /** Absences whose lost channels are not determined yet. */
  readonly open: readonly Absence[];
  /** Absences whose visits do not all have an outcome yet. */
  readonly unsettled?: readonly Unsettled[];
  /** Absences that last. Missing in texts of earlier versions, as are `linked` and `heard`. */
  readonly away?: readonly Lasting[];
  readonly linked?: readonly Linked[];
  readonly heard?: readonly Heard[];
  /** Newest row whose link is part of the absences; rows after `seq` are read again. Missing in texts of earlier versions. */
  readonly links_to?: number;
}
/** One `catchUp` runs at a time. */
export class Prover {
  readonly #deps: ProverDeps;
  readonly #db: Kysely<Tables>;
  readonly #settler: ReturnType<typeof createSettler>;
  readonly #unknown: ReturnType<typeof createUnknown>;
  #stories = new Stories();
  readonly #others: readonly string[];
  /** Newest row of the journal from before this process. */
  readonly #head: number;
  #absences: Absences = createAbsences();
  #open: readonly Absence[] = [];
  /** Calls and legs of events that were read, with the time of the newest. */
  readonly #seen = new Map<string, number>();
  readonly #legs = new Map<string, number>();
  /** Newest row of the journal that was read. */
  #at = -1;
  /** Newest row that the stored absences include. */
  #linksTo = -1;
  /** Findings whose event was read and that are not marked as published yet. */
  #found: number[] = [];
  /** The stored position, the newest row that was read then, and the time. */
  #saved: { readonly seq: number; readonly read: number; readonly at: number } | null = null;
  #completions = 0;
  #publishedAt = -Infinity;
  #tidiedAt = -Infinity;
  constructor(deps: ProverDeps) {
    this.#deps = deps;
    this.#db = deps.store.db<Tables>();
    this.#others = deps.others ?? [];
    this.#head = deps.journal.head;
    this.#settler = createSettler({ ...deps, others: this.#others });
    this.#unknown = createUnknown({
      ...deps,
      others: this.#others,
      isSeen: (call) => this.#seen.has(call),
      overlaps: (span, ids) => this.#absences.overlaps(span, ids),
    });
  }
  /** Reads new journal rows and compares the calls that are due. Call it every second. Throws `store_unavailable`. */
  async catchUp(): Promise<void> {
    const caughtUp = this.#deps.caughtUpAt();
    if (caughtUp === null) return;
    if (this.#saved === null) await this.#begin();
    const until = caughtUp - GRACE_MS;
    // While the reader is far behind the call records, comparing would only fill memory.
    if (this.#deps.clock.now() - caughtUp > GRACE_MS) return;
    let completed = false;
    for (let all = false; !all;) {
      all = await this.#read();
      completed = (await this.#proveStories((node) => this.#untilOfCalls(until, node))) || completed;
    }
    await this.#unknown.prove(until);
    const untilOf = (node?: string): number => this.#untilOf(until, node);
    const named = await this.#proveAbsences(untilOf);
    const settled = await this.#settler.catchUp(untilOf);
    await this.#publishFindings();
    this.#forget();
    // No row of the journal shows the next start that this process began here.
    const begun = this.#saved!.read <= this.#head && this.#at > this.#head;
    await this.#save(completed || named || settled || begun);
    await this.#tidy();
  }
  /** Time until which the call records of an engine are complete, in ms. */
  #untilOf(until: number, node: string | undefined): number {
    if (node === undefined || !this.#others.includes(node)) return until;
    return Math.min(until, (this.#deps.caughtUpAt(node) ?? -Infinity) - GRACE_MS);
  }
  /** As `#untilOf`, for calls: another engine that is away holds up none of them. */
  #untilOfCalls(until: number, node: string): number {
    if (this.#absences.lasting.some(([away]) => away === node)) return until;
    return Math.max(this.#untilOf(until, node), until - OTHERS_MS);
  }
  /** Findings of the last day. Throws `store_unavailable`. */
  figures(): Promise<FindingFigures> {
    return figuresOf(this.#deps.store, this.#deps.clock.now());
  }
  /** Calls completed since the start of the service. */
  completed(): number {
    return this.#completions;
  }
  async #begin(): Promise<void> {
    const text = await readFact(this.#db, 'proof');
    const place = text === null ? null : (JSON.parse(text) as Place);
    const isSame = place?.epoch === this.#deps.journal.epoch;
    this.#at = isSame ? place.seq : this.#deps.journal.tail - 1;
    this.#linksTo = Math.max(this.#at, Math.min(this.#head, (isSame ? place.links_to : null) ?? -1));
    this.#open = [...(place?.open ?? [])];
    this.#settler.begin(place?.unsettled ?? [], place?.heard ?? []);
    const before = this.#deps.journal.read(Math.max(this.#deps.journal.tail - 1, this.#linksTo - PAGE), PAGE);
    this.#absences = createAbsences({
      known: place?.absences ?? [],
      lasting: place?.away ?? [],
      linked: place === null ? [] : place.linked,
      heard: before.findLast((r) => isHeard(r) && r.seq <= this.#linksTo)?.at ?? null,
      head: this.#head,
      others: this.#others,
    });
    this.#saved = { seq: this.#at, read: this.#at, at: this.#deps.clock.now() };
  }
  async #save(force: boolean): Promise<void> {
    const needed = this.#stories.oldest();
    const waits = this.#unknown.isWaiting() ? this.#saved!.seq : this.#at;
    const seq = Math.min(this.#at, needed === null ? this.#at : needed - 1, waits);
    if (seq === this.#saved!.seq && !force) return;
    if (
      !force &&
      this.#deps.clock.now() - this.#saved!.at < SAVE_EVERY_MS &&
      this.#deps.clock.now() >= this.#saved!.at
    )
      return;
    const { unsettled, heard } = this.#settler;
    const read = this.#at;
    const place: Place = {
      epoch: this.#deps.journal.epoch,
      seq,
      absences: this.#absences.found.slice(-20),
      open: this.#open,
      unsettled,
      away: this.#absences.lasting,
      linked: this.#absences.linked,
      heard,
      links_to: read,
    };
    await this.#deps.store.transaction<Tables, void>((trx) => writeFact(trx, 'proof', JSON.stringify(place)));
    this.#saved = { seq, read, at: this.#deps.clock.now() };
  }
  /** Processes one row; returns the id of a finding that the row publishes. */
  #take(row: JournalRow): number | null {
    this.#unknown.cover(row.at);
    // A link that is read again would begin a lasting absence anew.
    const ended = row.seq > this.#linksTo ? this.#absences.take(row) : null;
    if (ended !== null) {
      this.#settler.add(ended);
      this.#open = [...this.#open, ended].slice(-20);
    }
    if (isStoryType(row.type)) {
      const event = this.#deps.eventOf(row);
      this.#stories.take(event, row.seq);
      this.#settler.take(event);
      this.#note(event);
    } else if (row.type === 'conversation.finalised') this.#unknown.take(this.#deps.eventOf(row));
    else if (tellsFinding(row.type)) return findingOf(this.#deps.eventOf(row));
    return null;
  }
  #note(event: DomainEvent): void {
    const { call_id, leg } = event.data as { call_id: string; leg?: { leg_id: string } };
    this.#seen.set(call_id, event.at);
    if (leg !== undefined) this.#legs.set(leg.leg_id, event.at);
  }
  /** Reads up to `MOST_PAGES` pages; true at the head of the journal. */
  async #read(): Promise<boolean> {
    if (this.#at < this.#deps.journal.tail - 1) {
      this.#deps.log.warn(
        { from: this.#at + 1, to: this.#deps.journal.tail - 1 },
        'events were given up before they were compared with the call records',
      );
      this.#stories = new Stories();
      this.#at = this.#deps.journal.tail - 1;
    }
    let all = false;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const rows = this.#deps.journal.read(this.#at, PAGE);
      const last = rows.at(-1);
      all = last === undefined;
      if (last === undefined) break;
      for (const row of rows) {
        const id = this.#take(row);
        if (id !== null) this.#found.push(id);
      }
      this.#at = last.seq;
      await turn();
    }
    await foundInJournal(this.#deps.store, this.#found);
    // Pending findings beyond the first page can be published now.
    if (this.#found.length > 0) this.#publishedAt = -Infinity;
    this.#found = [];
    return all;
  }

  async #proveStories(untilOf: (node: string) => number): Promise<boolean> {
    const due = this.#stories
      .ended()
      .filter((story) =>
        [story.call, ...story.legs.keys()].every((id) => story.end!.at <= untilOf(nodeOf(id))),
      );
    if (due.length === 0) return false;
    const stored = await storedOf(this.#db, due);
    let news = false;
    for (const story of due) {
      const lack =
        story.legs.size === 0
          ? null
          : lackOf(story, stored, {
              isOpen: (call) => this.#stories.isOpen(call),
              overlaps: (span, ids) => this.#absences.overlaps(span, ids),
            });
      if (lack === 'waits') continue;
      if (lack !== null) await this.#complete(story, stored, lack);
      news ||= lack?.completes ?? false;
      this.#stories.drop(story);
    }
    return news;
  }
  async #complete(story: Story, stored: Stored, lack: Lack): Promise<void> {
    const records = lack.completes ? recordsFor(story, stored) : [];
    await this.#deps.ingest.complete(records, differenceOf(story, lack, this.#deps.clock.now()));
    if (lack.completes) this.#completions += 1;
    this.#deps.log.warn(
      { call: story.call, why: lack.kind, completed: lack.completes },
      'call records and journal differ about a call',
    );
  }

  async #proveAbsences(untilOf: (node?: string) => number): Promise<boolean> {
    let news = false;
    // Read once, and only where numbers are missing.
    let read: Promise<readonly string[]> | undefined;
    const tests = (): Promise<readonly string[]> => (read ??= testChannels(this.#db));
    for (const absence of this.#open.filter((a) => a.to <= untilOf(a.node))) {
      const until = untilOf(absence.node);
      const gaps = await gapsOf(this.#db, absence, this.#legs.keys(), tests, this.#others, until);
      if (gaps === null) continue;
      for (const { node, from, to, channels } of gaps) {
        const data = { node, from: rfc3339(from), to: rfc3339(to), channels };
        this.#deps.log.error(
          data,
          'calls of this time are in no record: neither the call records nor the journal have them',
        );
        await this.#deps.store.transaction<Tables, void>((trx) =>
          keepFinding(trx, { kind: 'gap', at: this.#deps.clock.now(), data }),
        );
      }
      this.#open = this.#open.filter((a) => a !== absence);
      news = true;
    }
    return news;
  }
  async #publishFindings(): Promise<void> {
    const now = this.#deps.clock.now();
    if (now - this.#publishedAt < AGAIN_MS && now >= this.#publishedAt) return;
    const events = await unpublished(this.#deps.store);
    if (events.length === 0) return;
    this.#publishedAt = now;
    this.#deps.publish(events);
  }
  /** Deletes findings older than a day that a restart can no longer produce from journal rows or pending absences. */
  async #tidy(): Promise<void> {
    const now = this.#deps.clock.now();
    if (now - this.#tidiedAt < TIDY_EVERY_MS && now >= this.#tidiedAt) return;
    this.#tidiedAt = now;
    const oldest = this.#deps.journal.read(this.#deps.journal.tail - 1, 1)[0]?.at ?? Infinity;
    const absent = [...this.#open, ...this.#settler.unsettled].map((absence) => absence.to);
    await forgetFindings(this.#deps.store, Math.min(oldest, now - DAY_MS, ...absent));
  }
  #forget(): void {
    const before = this.#deps.clock.now() - SEEN_MS;
    for (const map of [this.#seen, this.#legs])
      for (const [key, when] of map) if (when < before && !this.#stories.isOpen(key)) map.delete(key);
  }
}
