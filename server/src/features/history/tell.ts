import type { Kysely } from 'kysely';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Directory } from '../../ports/directory.ts';
import { BUILT_BY, buildConversation } from './conversation.ts';
import { writeConversations } from './conversation-rows.ts';
import type { Told } from './conversation-rows.ts';
import { putConversation } from './links.ts';
import { BUILT, recordsOf } from './packs.ts';
import { buildRecord } from './record/build.ts';
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
  end(row: ConversationRow, over: boolean): Promise<boolean>;
  /** Tells a conversation that goes on; returns how many records that took. */
  soFar(row: ConversationRow): Promise<number>;
  /** Writes what was told; ids in `merged` went into other conversations. Last in the transaction. */
  write(merged?: readonly string[]): Promise<void>;
}

/** Tells conversations from their records, in one transaction. */
export function beginTelling(db: Kysely<Tables>, { directory, log, e164 }: TellDeps): Telling {
  const totals = createTotals();
  const told: Told[] = [];
  /** A conversation that cannot be told must not keep all later ones from being told. */
  function attempt<R>(records: readonly KnownRecord[], build: () => R): R | null {
    try {
      return build();
    } catch (error) {
      log.error({ call: records[0]?.call, error: messageOf(error) }, 'a conversation could not be built');
      return null;
    }
  }
  const tell = (root: string, records: readonly KnownRecord[], over: boolean): void => {
    // What is over though its records lack an end was cut off: by a lost engine, or a lost file.
    const lost = over && !isComplete(records);
    const record = attempt(records, () => buildRecord(records, { e164, lost }));
    if (record) told.push({ root, record, over });
  };
  return {
    totals,
    async end(row, over) {
      const records = await recordsOf(db, row.root);
      if (!over && !isComplete(records)) return false;
      const conversation = attempt(records, () => buildConversation(records));
      if (conversation) await writeRows(db, conversation, row.root, directory, totals);
      tell(row.root, records, true);
      await putConversation(db, { ...row, built: BUILT.yes, built_by: conversation ? BUILT_BY : 0 });
      return true;
    },
    async soFar(row) {
      const records = await recordsOf(db, row.root);
      tell(row.root, records, false);
      return records.length;
    },
    async write(merged = []) {
      await totals.write(db);
      if (told.length > 0 || merged.length > 0) await writeConversations(db, told, merged);
    },
  };
}
