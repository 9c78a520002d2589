/**
 * Journal and call records prove each other. Once a call is over in the journal and the call records of that time are read:
 *
 *   not in the history, or still open in it ──> completed from the journal
 *   other talk time                         ──> a difference; what the call records lack is completed
 *   in the history, not in the journal      ──> a difference, unless nobody was there to see it
 *   a time that neither saw                 ──> a gap, where channels of it are missing
 *   a wait that ended in such a time        ──> its outcome, as the call records tell it
 *
 * Everything may be repeated: records made of the journal have keys, findings too, and how far the journal was read is stored
 * after what it led to.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { rfc3339 } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import type { CallRecord } from '../../../ports/call-records.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { JournalReader, JournalRow } from '../../../ports/journal-store.ts';
import type { Store } from '../../../ports/store.ts';
import { inChunks, readFact, writeFact } from '../store.ts';
import type { Ingest } from '../ingest/ingest.ts';
import { BUILT, readRecord } from '../ingest/packs.ts';
import type { ConversationRecord } from '../record/record.ts';
import type { Tables } from '../tables.ts';
import { spokenMs } from '../record/times.ts';
import { createAbsences, isHeard, lostIn, unexplainedBy } from './absences.ts';
import type { Absence } from './absences.ts';
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
import type { Finding, FindingFigures } from './findings.ts';
import { createSettler } from './settle.ts';
import type { Unsettled } from './settle.ts';
import { createStories, tellsOfCalls } from './stories.ts';
import type { Story } from './stories.ts';
import { recordsOfStory, talkOfStory } from './story-records.ts';
import { testChannels } from './test-channels.ts';

export interface ProverDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly journal: JournalReader;
  readonly eventOf: (row: JournalRow) => DomainEvent;
  readonly ingest: Pick<Ingest, 'complete'>;
  /** Time when the reader of the call records was last at the end of the file, in ms; null before the first time. */
  readonly caughtUpAt: () => number | null;
  readonly publish: (events: readonly DomainEvent[]) => void;
}
export interface Prover {
  /** Reads new journal rows and compares the calls that are due. Call it every second. Throws `store_unavailable`. */
  catchUp(): Promise<void>;
  /** Findings of the last day. Throws `store_unavailable`. */
  figures(): Promise<FindingFigures>;
  /** Since the start. */
  completed(): number;
}

/** Delay after the end of a call within which its records may still arrive. */
export const GRACE_MS = 10_000;
/** Largest difference of talk time that is no finding; both sources agree to a fraction of a second. */
export const TOLERANCE_MS = 2_000;
const PAGE = 500;
/** Pages read before the calls that are due are compared. */
const MOST_PAGES = 10;
const SAVE_EVERY_MS = 30_000;
/** Compared calls are remembered for this long, because their conversation may arrive later. */
const SEEN_MS = 30 * 60_000;
/** A finding that is not in the journal after this time is published again. */
const AGAIN_MS = 30_000;
/** Shortest interval between scans of the whole journal. */
const SCAN_EVERY_MS = 60_000;
const TIDY_EVERY_MS = 3_600_000;

interface Place {
  readonly epoch: string;
  readonly seq: number;
  /** Known times in which the journal received no engine events. */
  readonly absences: readonly Absence[];
  /** Absences whose lost channels are not determined yet. */
  readonly open: readonly Absence[];
  /** Those whose waits are not all told yet. */
  readonly unsettled?: readonly Unsettled[];
}
interface Finalised {
  readonly id: string;
  readonly calls: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly at: number;
}

export function createProver(deps: ProverDeps): Prover {
  const { store, clock, log, journal, eventOf } = deps;
  const db = store.db<Tables>();
  let stories = createStories();
  let absences = createAbsences([]);
  let known: Absence[] = [];
  let open: Absence[] = [];
  const settler = createSettler(deps);
  let finalised: Finalised[] = [];
  const seen = new Map<string, number>();
  const legs = new Map<string, number>();
  let at = -1;
  let coveredFrom = Infinity;
  let saved: { seq: number; at: number } | null = null;
  let completions = 0;
  let publishedAt = -Infinity;
  let scannedAt = -Infinity;
  let tidiedAt = -Infinity;

  async function begin(): Promise<void> {
    const text = await readFact(db, 'proof');
    const place = text === null ? null : (JSON.parse(text) as Place);
    at = place?.epoch === journal.epoch ? place.seq : journal.tail - 1;
    known = [...(place?.absences ?? [])];
    open = [...(place?.open ?? [])];
    settler.begin(place?.unsettled ?? []);
    absences = createAbsences(
      known,
      journal.read(Math.max(journal.tail - 1, at - PAGE), PAGE).findLast((r) => isHeard(r) && r.seq <= at)
        ?.at ?? null,
    );
    saved = { seq: at, at: clock.now() };
  }
  async function save(force: boolean): Promise<void> {
    const needed = stories.oldest();
    const waits = finalised.length > 0 ? saved!.seq : at;
    const seq = Math.min(at, needed === null ? at : needed - 1, waits);
    if (seq === saved!.seq && !force) return;
    if (!force && clock.now() - saved!.at < SAVE_EVERY_MS && clock.now() >= saved!.at) return;
    const { unsettled } = settler;
    const place: Place = { epoch: journal.epoch, seq, absences: known.slice(-20), open, unsettled };
    await store.transaction<Tables, void>((trx) => writeFact(trx, 'proof', JSON.stringify(place)));
    saved = { seq, at: clock.now() };
  }
  /** Processes one row; returns the id of a finding that the row publishes. */
  function take(row: JournalRow): number | null {
    coveredFrom = Math.min(coveredFrom, row.at);
    const ended = absences.take(row.type, row.at);
    if (ended !== null) {
      // Before the first link there was nobody to hear of.
      if (known.length > 0) settler.add(ended);
      known = [...known, ended].slice(-200);
      open = [...open, ended].slice(-20);
    }
    if (tellsOfCalls(row.type)) {
      const event = eventOf(row);
      stories.take(event, row.seq);
      settler.take(event);
      note(event);
    } else if (row.type === 'conversation.finalised') noteFinalised(eventOf(row));
    else if (tellsFinding(row.type)) return findingOf(eventOf(row));
    return null;
  }
  function note(event: DomainEvent): void {
    const { call_id, leg } = event.data as { call_id: string; leg?: { leg_id: string } };
    seen.set(call_id, event.at);
    if (leg !== undefined) legs.set(leg.leg_id, event.at);
  }
  function noteFinalised(event: DomainEvent): void {
    const { conversation: c } = event.data as EventData<'conversation.finalised'>;
    if (c.revision !== 1 || c.parties.length === 0 || c.observed === 'journal') return;
    const to = Date.parse(c.ended_at ?? c.started_at);
    const calls = [c.id, ...c.merged_from];
    // Only conversations that may be unknown to the journal wait, because they hold up what `save` may store.
    if (calls.some((call) => seen.has(call))) return;
    finalised.push({ id: c.id, calls, from: Date.parse(c.started_at), to, at: event.at });
  }
  /** Reads up to `MOST_PAGES` pages; true at the head of the journal. */
  async function read(): Promise<boolean> {
    if (at < journal.tail - 1) {
      log.warn(
        { from: at + 1, to: journal.tail - 1 },
        'events were given up before they were compared with the call records',
      );
      stories = createStories();
      at = journal.tail - 1;
    }
    const found: number[] = [];
    let all = false;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const rows = journal.read(at, PAGE);
      const last = rows.at(-1);
      all = last === undefined;
      if (last === undefined) break;
      for (const row of rows) {
        const id = take(row);
        if (id !== null) found.push(id);
      }
      at = last.seq;
      await turn();
    }
    await foundInJournal(store, found);
    // The next of them need not wait.
    if (found.length > 0) publishedAt = -Infinity;
    return all;
  }

  async function proveStories(until: number): Promise<boolean> {
    const due = stories.ended().filter((story) => story.end!.at <= until);
    if (due.length === 0) return false;
    const stored = await storedOf(db, due);
    let news = false;
    for (const story of due) {
      const lack = story.legs.size === 0 ? null : lackOf(story, stored);
      if (lack === 'waits') continue;
      if (lack !== null) await complete(story, stored, lack);
      news ||= lack?.completes ?? false;
      stories.drop(story);
    }
    return news;
  }
  function lackOf(story: Story, stored: Stored): Lack | 'waits' | null {
    const journalMs = talkOfStory(story);
    const lack = (kind: Lack['kind'], records: number | null, completes = true): Lack => ({
      kind,
      records,
      journal: journalMs,
      completes,
    });
    const calls = callsOf(story);
    const known = [...calls, ...[...story.legs.keys()].flatMap((leg) => stored.callOf.get(leg) ?? [])];
    const roots = [...new Set(known.flatMap((call) => stored.rootOf.get(call) ?? []))];
    if (roots.length === 0) return lack('not_in_records', null);
    const all = roots.flatMap((root) => stored.callsOf.get(root) ?? []);
    if (all.some((call) => !calls.includes(call) && stories.isOpen(call))) return 'waits';
    if (roots.some((root) => stored.open.has(root))) return lack('no_end_in_records', null);
    const records = roots.flatMap((root) => stored.records.get(root) ?? []);
    const [record] = records;
    // A call that listens to another one has no conversation.
    if (record === undefined) return null;
    if (story.end!.reason !== 'engine_lost' && records.some((r) => r.ended_by === 'engine_lost'))
      return lack('no_end_in_records', null);
    if (records.length > 1) return lack('not_in_records', null);
    const comparable =
      !story.partial &&
      record.merged_from.length < calls.length &&
      !absences.overlaps({ from: story.from, to: story.end!.at });
    const recordsMs = spokenMs(record);
    if (!comparable || Math.abs(recordsMs - journalMs) <= TOLERANCE_MS) return null;
    return lack('talk_time', recordsMs, journalMs > recordsMs);
  }
  async function complete(story: Story, { rootOf, callOf }: Stored, lack: Lack): Promise<void> {
    // The engine and the journal may use different call ids when the engine used an id twice.
    const records = recordsOfStory(story).map((r): CallRecord => {
      const call = rootOf.has(r.call) ? undefined : callOf.get(r.channel);
      return call === undefined ? r : { ...r, call: call as CallRecord['call'] };
    });
    const finding: Finding = {
      kind: 'difference',
      at: clock.now(),
      data: {
        conversation_id: story.call,
        kind: lack.kind,
        from: rfc3339(story.from),
        to: rfc3339(story.end!.at),
        records_seconds: lack.records === null ? null : lack.records / 1000,
        journal_seconds: lack.journal / 1000,
        completed: lack.completes,
      },
    };
    await deps.ingest.complete(lack.completes ? records : [], finding);
    if (lack.completes) completions += 1;
    log.warn(
      { call: story.call, why: lack.kind, completed: lack.completes },
      'call records and journal differ about a call',
    );
  }

  /** Finds conversations without a call in the journal, although the journal received events then. */
  async function proveFinalised(until: number): Promise<void> {
    const due = finalised.filter((c) => c.at <= until);
    if (due.length === 0) return;
    const unknown = due.filter((c) => !c.calls.some((call) => seen.has(call)) && !absences.overlaps(c));
    const late = unknown.filter((c) => c.from < coveredFrom);
    if (late.length > 0) {
      if (clock.now() - scannedAt < SCAN_EVERY_MS && clock.now() >= scannedAt) return;
      scannedAt = clock.now();
    }
    const elsewhere = late.length > 0 ? await scan(late) : new Set<string>();
    finalised = finalised.filter((c) => !due.includes(c));
    for (const c of unknown) {
      if (elsewhere.has(c.id)) continue;
      log.warn({ conversation: c.id }, 'a conversation of the call records is in no event of the journal');
      await store.transaction<Tables, void>((trx) =>
        keepFinding(trx, {
          kind: 'difference',
          at: clock.now(),
          data: {
            conversation_id: c.id,
            kind: 'not_in_journal',
            from: rfc3339(c.from),
            to: rfc3339(c.to),
            records_seconds: null,
            journal_seconds: null,
            completed: false,
          },
        }),
      );
    }
  }
  /** Conversations among `late` that an older part of the journal contains, or that began before it. */
  async function scan(late: readonly Finalised[]): Promise<ReadonlySet<string>> {
    const wanted = new Map<string, string>(
      late.flatMap((c) => c.calls.map((call) => [`calls/${call}`, c.id] as const)),
    );
    const found = new Set<string>();
    const away = createAbsences([]);
    let first: number | null = null;
    const spans: Absence[] = [];
    for (let seq = journal.tail - 1; seq < journal.head;) {
      const rows = journal.read(seq, PAGE);
      const last = rows.at(-1);
      if (last === undefined) break;
      for (const row of rows) {
        first ??= row.at;
        const ended = away.take(row.type, row.at);
        if (ended !== null) spans.push(ended);
        const id = row.type.startsWith('call.') ? wanted.get(row.subject) : undefined;
        if (id !== undefined) found.add(id);
      }
      seq = last.seq;
      await turn();
    }
    for (const c of late) {
      const blind = c.from < (first ?? Infinity) || spans.some((s) => s.from <= c.to && s.to >= c.from);
      if (blind) found.add(c.id);
    }
    return found;
  }

  async function proveAbsences(until: number): Promise<boolean> {
    const due = open.filter((a) => a.to <= until);
    let news = false;
    let tests: readonly string[] | null = null;
    for (const absence of due) {
      const around = [...(await channelsAround(db, absence)), ...legs.keys()];
      const missing = lostIn(absence, around);
      if (missing === null) continue;
      // Read only where a test call may explain a gap: an idle site has thousands of them.
      if (missing.length > 0) tests ??= await testChannels(db);
      const lost = unexplainedBy(tests ?? [], absence, around, missing);
      for (const { from, to, channels } of lost) {
        log.error(
          { from: rfc3339(from), to: rfc3339(to), channels },
          'calls of this time are in no record: neither the call records nor the journal have them',
        );
        await store.transaction<Tables, void>((trx) =>
          keepFinding(trx, {
            kind: 'gap',
            at: clock.now(),
            data: { from: rfc3339(from), to: rfc3339(to), channels },
          }),
        );
      }
      open = open.filter((a) => a !== absence);
      news = true;
    }
    return news;
  }
  async function publishFindings(): Promise<void> {
    const now = clock.now();
    if (now - publishedAt < AGAIN_MS && now >= publishedAt) return;
    const events = await unpublished(store);
    if (events.length === 0) return;
    publishedAt = now;
    deps.publish(events);
  }
  /** A finding is kept as long as what leads to it again after a restart: rows of the journal, and absences under way. */
  async function tidy(): Promise<void> {
    const now = clock.now();
    if (now - tidiedAt < TIDY_EVERY_MS && now >= tidiedAt) return;
    tidiedAt = now;
    const oldest = journal.read(journal.tail - 1, 1)[0]?.at ?? Infinity;
    const absent = [...open, ...settler.unsettled].map((absence) => absence.to);
    await forgetFindings(store, Math.min(oldest, now - DAY_MS, ...absent));
  }
  function forget(): void {
    const before = clock.now() - SEEN_MS;
    for (const map of [seen, legs])
      for (const [key, when] of map) if (when < before && !stories.isOpen(key)) map.delete(key);
  }
  return {
    async catchUp() {
      const caughtUp = deps.caughtUpAt();
      if (caughtUp === null) return;
      if (saved === null) await begin();
      const until = caughtUp - GRACE_MS;
      // While the call records are far behind, comparing would only fill memory.
      if (clock.now() - caughtUp > GRACE_MS) return;
      let completed = false;
      for (let all = false; !all;) {
        all = await read();
        completed = (await proveStories(until)) || completed;
      }
      await proveFinalised(until);
      const named = await proveAbsences(until);
      const settled = await settler.catchUp(until);
      await publishFindings();
      forget();
      await save(completed || named || settled);
      await tidy();
    },
    figures: () => figuresOf(store, clock.now()),
    completed: () => completions,
  };
}

function callsOf(story: Story): readonly string[] {
  return [story.call, ...story.merged.flatMap(callsOf)];
}
interface Lack {
  readonly kind: EventData<'history.difference'>['kind'];
  readonly records: number | null;
  readonly journal: number;
  readonly completes: boolean;
}
/** Stored data of some calls. */
interface Stored {
  /** Call of each channel in the engine's records. */
  readonly callOf: ReadonlyMap<string, string>;
  readonly rootOf: ReadonlyMap<string, string>;
  readonly callsOf: ReadonlyMap<string, readonly string[]>;
  readonly open: ReadonlySet<string>;
  readonly records: ReadonlyMap<string, ConversationRecord>;
}
async function storedOf(db: Kysely<Tables>, stories: readonly Story[]): Promise<Stored> {
  const channels = stories.flatMap((story) => [...story.legs.keys()]);
  const byChannel = await inChunks(channels, (some) =>
    db.selectFrom('history_channels').selectAll().where('channel', 'in', some).execute(),
  );
  const callOf = new Map(byChannel.map((row) => [row.channel, row.call]));
  const calls = [...new Set([...stories.flatMap(callsOf), ...callOf.values()])];
  const byCall = await inChunks(calls, (some) =>
    db.selectFrom('history_calls').selectAll().where('call', 'in', some).execute(),
  );
  const rootOf = new Map(byCall.map((row) => [row.call, row.root]));
  const roots = [...new Set(rootOf.values())];
  const byRoot = await inChunks(roots, (some) =>
    db.selectFrom('history_calls').selectAll().where('root', 'in', some).execute(),
  );
  const open = await inChunks(roots, (some) =>
    db
      .selectFrom('history_conversations')
      .select('root')
      .where('root', 'in', some)
      .where('built', '=', BUILT.no)
      .execute(),
  );
  const told = await inChunks(roots, (some) =>
    db.selectFrom('conversations').select(['root', 'record']).where('root', 'in', some).execute(),
  );
  return {
    callOf,
    rootOf,
    callsOf: new Map(
      [...Map.groupBy(byRoot, (row) => row.root)].map(([root, rows]) => [root, rows.map((r) => r.call)]),
    ),
    open: new Set(open.map((row) => row.root)),
    records: new Map(told.map((row) => [row.root, readRecord(row.record)])),
  };
}
const AROUND_US = 3_600_000_000;
/** Channels of the conversations in the call records around an absence. */
async function channelsAround(db: Kysely<Tables>, { from, to }: Absence): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('history_channels')
    .innerJoin('history_calls', 'history_calls.call', 'history_channels.call')
    .innerJoin('history_conversations', 'history_conversations.root', 'history_calls.root')
    .select('history_channels.channel')
    .where('history_conversations.last_us', '>=', from * 1000 - AROUND_US)
    .where('history_conversations.last_us', '<=', to * 1000 + AROUND_US)
    .execute();
  return rows.map((row) => row.channel);
}
