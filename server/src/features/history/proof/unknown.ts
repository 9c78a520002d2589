/** Conversations of the call records that no journal event names, although the journal received events at that time. */
import { setImmediate as turn } from 'node:timers/promises';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { rfc3339 } from '../../../core/clock.ts';
import type { JournalReader } from '../../../ports/journal-store.ts';
import type { Common } from '../../../ports/common.ts';
import type { Tables } from '../store/tables.ts';
import { createAbsences, overlapsWith } from './gaps.ts';
import type { Absence, Absences } from './gaps.ts';
import { keepFinding } from './findings.ts';

interface Finalised {
  readonly id: string;
  readonly calls: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly at: number;
}
const PAGE = 500;
/** Shortest interval between scans of the whole journal. */
const SCAN_EVERY_MS = 60_000;

export interface UnknownDeps extends Common<'clock' | 'log' | 'store'> {
  readonly journal: JournalReader;
  /** True if an event of the call was read. */
  readonly isSeen: (call: string) => boolean;
  /** True if an engine with one of these ids was away during a part of the interval. */
  readonly overlaps: Absences['overlaps'];
  /** Nodes of the site's other engines. */
  readonly others: readonly string[];
}
export function createUnknown({ store, clock, log, journal, isSeen, overlaps, others }: UnknownDeps) {
  let waiting: Finalised[] = [];
  let coveredFrom = Infinity;
  let scannedAt = -Infinity;
  const isUnknown = ({ calls }: Finalised): boolean => !calls.some(isSeen);
  return {
    /** True while conversations wait for the comparison with the journal. */
    isWaiting: (): boolean => waiting.length > 0,
    /** Call it with the time of every journal row read. */
    cover: (at: number): void => void (coveredFrom = Math.min(coveredFrom, at)),
    take(event: DomainEvent): void {
      const { conversation: c } = event.data as EventData<'conversation.finalised'>;
      if (c.revision !== 1 || c.parties.length === 0 || c.observed === 'journal') return;
      const to = Date.parse(c.ended_at ?? c.started_at);
      const calls = [c.id, ...c.merged_from];
      const one = { id: c.id, calls, from: Date.parse(c.started_at), to, at: event.at };
      // Keep only conversations that may be missing from the journal: each one delays the prover's stored position.
      if (isUnknown(one)) waiting.push(one);
    },
    /** Stores a difference for each waiting conversation published up to `until`. Throws `store_unavailable`. */
    async prove(until: number): Promise<void> {
      const due = waiting.filter((c) => c.at <= until);
      if (due.length === 0) return;
      const unknown = due.filter((c) => isUnknown(c) && !overlaps(c, c.calls));
      const late = unknown.filter((c) => c.from < coveredFrom);
      if (late.length > 0) {
        if (clock.now() - scannedAt < SCAN_EVERY_MS && clock.now() >= scannedAt) return;
        scannedAt = clock.now();
      }
      const elsewhere = late.length > 0 ? await scan(journal, late, others) : new Set<string>();
      for (const c of unknown) {
        if (elsewhere.has(c.id)) continue;
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
        log.warn({ conversation: c.id }, 'a conversation of the call records is in no event of the journal');
      }
      waiting = waiting.filter((c) => !due.includes(c));
    },
  };
}

/** Conversations among `late` that the journal names, that began before it, or that overlap with an absence. */
async function scan(
  journal: JournalReader,
  late: readonly Finalised[],
  others: readonly string[],
): Promise<ReadonlySet<string>> {
  const wanted = new Map<string, string>(
    late.flatMap((c) => c.calls.map((call) => [`calls/${call}`, c.id] as const)),
  );
  const found = new Set<string>();
  const away = createAbsences({ others });
  let first: number | null = null;
  const spans: Absence[] = [];
  for (let seq = journal.tail - 1; seq < journal.head;) {
    const rows = journal.read(seq, PAGE);
    const last = rows.at(-1);
    if (last === undefined) break;
    for (const row of rows) {
      first ??= row.at;
      const ended = away.take(row);
      if (ended !== null) spans.push(ended);
      const id = row.type.startsWith('call.') ? wanted.get(row.subject) : undefined;
      if (id !== undefined) found.add(id);
    }
    seq = last.seq;
    await turn();
  }
  for (const c of late) {
    const blind = c.from < (first ?? Infinity) || spans.some((s) => overlapsWith(s, c, c.calls, others));
    if (blind) found.add(c.id);
  }
  return found;
}
