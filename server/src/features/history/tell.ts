import type { Kysely } from 'kysely';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Directory } from '../../ports/directory.ts';
import { BUILT_BY, buildConversation } from './conversation.ts';
import type { Conversation } from './conversation.ts';
import { writeConversations } from './conversation-rows.ts';
import type { Told } from './conversation-rows.ts';
import { putConversations } from './links.ts';
import { BUILT } from './packs.ts';
import { merged as mergedWithJournal } from './proof/merge.ts';
import { buildRecord } from './record/build.ts';
import { timelineOf } from './record/timeline.ts';
import { isComplete } from './records.ts';
import type { KnownRecord } from './records.ts';
import { writeRows } from './rows.ts';
import type { ConversationRow, Tables } from './tables.ts';
import { createTotals } from './totals.ts';
import type { Totals } from './totals.ts';

export interface TellDeps {
  readonly directory: Directory;
  readonly log: Log;
  /** `+4930…` of a number as received or dialled; null for one that is internal or unreadable. */
  readonly e164: (number: string) => string | null;
}
export interface Telling {
  readonly totals: Totals;
  /** Tells a conversation that is over, or may be: unless `over`, only where its records say that all of it has ended. */
  end(row: ConversationRow, records: readonly KnownRecord[], over: boolean): boolean;
  /** Tells a conversation that goes on. */
  soFar(row: ConversationRow, records: readonly KnownRecord[]): void;
  /** Stores a conversation that is not told now. */
  keep(row: ConversationRow): void;
  /** Writes what was told; ids in `merged` went into other conversations. Last in the transaction. */
  write(merged?: readonly string[]): Promise<void>;
}

/** Tells conversations from their records, in one transaction. */
export function beginTelling(db: Kysely<Tables>, { directory, log, e164 }: TellDeps): Telling {
  const totals = createTotals();
  const told: Told[] = [];
  const rows: ConversationRow[] = [];
  const parties = new Map<string, Conversation>();
  /** A conversation that cannot be told must not keep all later ones from being told. */
  function attempt<R>(records: readonly KnownRecord[], build: () => R): R | null {
    try {
      return build();
    } catch (error) {
      log.error({ call: records[0]?.call, error: messageOf(error) }, 'a conversation could not be built');
      return null;
    }
  }
  return {
    totals,
    end(row, stored, over) {
      const { records, journal } = mergedWithJournal(stored);
      const complete = isComplete(records);
      if (!over && !complete) return false;
      const line = attempt(records, () => timelineOf(records));
      const conversation = line && attempt(records, () => buildConversation(records, line));
      if (conversation) parties.set(row.root, conversation);
      // What is over though its records lack an end was cut off: by a lost engine, or a lost file.
      const record =
        line && attempt(records, () => buildRecord(records, { e164, lost: !complete, line, journal }));
      if (record) told.push({ root: row.root, record, over: true });
      rows.push({ ...row, built: row.built || BUILT.yes, built_by: conversation ? BUILT_BY : 0 });
      return true;
    },
    soFar(row, stored) {
      const { records, journal } = mergedWithJournal(stored);
      const record = attempt(records, () => buildRecord(records, { e164, journal }));
      if (record) told.push({ root: row.root, record, over: false });
      rows.push(row);
    },
    keep: (row) => void rows.push(row),
    async write(merged = []) {
      await writeRows(db, parties, directory, totals);
      await putConversations(db, rows);
      await totals.write(db);
      if (told.length > 0 || merged.length > 0) await writeConversations(db, told, merged);
    },
  };
}
