import type { Kysely } from 'kysely';
import { messageOf } from '../../../core/errors.ts';
import { writeConversations } from './conversation-rows.ts';
import type { Built } from './conversation-rows.ts';
import { putConversations } from './links.ts';
import { BUILT } from '../store/packs.ts';
import { merged as mergedWithJournal } from '../proof/merge.ts';
import { BUILT_BY, buildConversation, buildRecord } from '../record/build.ts';
import { peopleIn } from '../record/people.ts';
import type { PersonRow } from '../record/people.ts';
import { isComplete } from '../record/records.ts';
import type { KnownRecord } from '../record/records.ts';
import { writeRows } from './person-rows.ts';
import type { ConversationRow, Tables } from '../store/tables.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Common } from '../../../ports/common.ts';

export interface TellDeps extends Common<'directory' | 'log'> {
  /** `+4930…` of a number as received or dialled; null for one that is internal or unreadable. */
  readonly e164: (number: string) => string | null;
}
export interface Telling {
  /**
   * Builds the final record of a conversation. Returns false, and builds nothing, if `over` is not set and its call
   * records lack an end.
   */
  end(row: ConversationRow, records: readonly KnownRecord[], over: boolean): boolean;
  /** Builds the record of a live conversation. */
  soFar(row: ConversationRow, records: readonly KnownRecord[]): void;
  /** Stores the conversation's row without building its record. */
  keep(row: ConversationRow): void;
  /** Writes the built records; conversations in `merged` became part of others. Call it last in the transaction. */
  write(merged?: readonly string[]): Promise<void>;
}

/** Builds conversations from their call records, in one transaction. */
export function beginTelling(db: Kysely<Tables>, { directory, log, e164 }: TellDeps): Telling {
  const written: Built[] = [];
  const rows: ConversationRow[] = [];
  const people = new Map<string, readonly PersonRow[]>();
  /** One conversation whose record cannot be built must not block the later ones. */
  function attempt<R>(records: readonly KnownRecord[], build: () => R): R | null {
    try {
      return build();
    } catch (error) {
      log.error({ call: records[0]?.call, error: messageOf(error) }, 'a conversation could not be built');
      return null;
    }
  }
  return {
    end(row, stored, over) {
      const { records, journal } = mergedWithJournal(stored);
      const complete = isComplete(records);
      if (!over && !complete) return false;
      // Over without an end in its call records: the engine or the file of call records was lost.
      const built = attempt(records, () => {
        const conversation = buildConversation(records, { e164, lost: !complete, journal });
        return { conversation, people: conversation ? peopleIn(conversation) : [] };
      });
      if (built) people.set(row.root, built.people);
      if (built?.conversation)
        written.push({ root: row.root, record: built.conversation.record, over: true });
      rows.push({ ...row, built: row.built || BUILT.yes, built_by: built ? BUILT_BY : 0 });
      return true;
    },
    soFar(row, stored) {
      const { records, journal } = mergedWithJournal(stored);
      const record = attempt(records, () => buildRecord(records, { e164, journal }));
      if (record) written.push({ root: row.root, record, over: false });
      rows.push(row);
    },
    keep: (row) => void rows.push(row),
    async write(merged = []) {
      await writeRows(db, people, directory);
      await putConversations(db, rows);
      if (written.length > 0 || merged.length > 0) await writeConversations(db, written, merged);
    },
  };
}

/** The record of a live conversation is rebuilt once a second at most, and less often if it has many call records. */
const LEAST_MS = 1_000;
const PER_RECORD_MS = 10;
const MOST_MS = 60_000;

/** When each live conversation may be rebuilt next. Kept in memory only: a new process rebuilds all of them once. */
export type Pace = ReturnType<typeof createPace>;
export function createPace(clock: Clock) {
  const open = new Map<string, { next: number; due: boolean }>();
  const isReady = (next: number): boolean => {
    const wait = next - clock.now();
    // A clock that was set back must not delay the rebuild.
    return wait <= 0 || wait > MOST_MS;
  };
  return {
    /** Whether the conversation may be rebuilt now; if not, marks it as due. */
    isReady(root: string): boolean {
      const known = open.get(root);
      if (known === undefined || isReady(known.next)) return true;
      known.due = true;
      return false;
    },
    /** Marks a conversation with new call records as due. */
    postpone(root: string): void {
      open.set(root, { next: open.get(root)?.next ?? 0, due: true });
    },
    due: (): readonly string[] =>
      [...open].filter(([, { next, due }]) => due && isReady(next)).map(([root]) => root),
    written(root: string, records: number): void {
      const pause = Math.min(MOST_MS, Math.max(LEAST_MS, records * PER_RECORD_MS));
      open.set(root, { next: clock.now() + pause, due: false });
    },
    over: (root: string): void => void open.delete(root),
  };
}
