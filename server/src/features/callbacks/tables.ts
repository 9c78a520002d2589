import type { Generated } from 'kysely';
import type { CloseReason } from '@offhook/contract/callbacks.ts';
import type { z } from 'zod';
import type { Migration } from '../../ports/store.ts';

/** A missed call or a contact of one number, derived from one conversation, so that reading again gives the same rows. */
export interface CallsTable {
  conversation: string;
  number: string;
  /** `person:<extension>` or `queue:<name>`; of a contact, whose callbacks it closes. */
  scope: string;
  contact: number;
  /** End of the try, or of the talk; ms since 1970. */
  at: number;
  /** Extension that talked; null for a try. */
  by: string | null;
  /** Number of the reading that stored it. */
  round: number;
}
/** One for each number and scope with a try. Tries, times and state follow from `callback_calls` and the close by hand. */
export interface CallbacksTable {
  id: Generated<number>;
  scope: string;
  number: string;
  tries: number;
  first_at: number;
  last_at: number;
  conversation: string;
  open: number;
  taken_by: string | null;
  taken_at: number | null;
  /** The contact that closed it. */
  contact_at: number | null;
  contact_by: string | null;
  contact_conversation: string | null;
  /** The last close by hand; it covers the tries before. */
  closed_at: number | null;
  closed_by: string | null;
  closed_reason: z.infer<typeof CloseReason> | null;
  closed_note: string | null;
}
export interface Tables {
  callback_calls: CallsTable;
  callbacks: CallbacksTable;
  /** One row: where reading the feed of changes stopped. `behind` 1: rows of earlier rounds wait to be removed. */
  callback_reader: { id: number; cursor: string | null; round: number; behind: number };
}
export const migrations: readonly Migration[] = [
  {
    id: '0140-callbacks',
    async up(db) {
      await db.schema
        .createTable('callback_calls')
        .addColumn('conversation', 'text', (c) => c.notNull())
        .addColumn('number', 'text', (c) => c.notNull())
        .addColumn('scope', 'text', (c) => c.notNull())
        .addColumn('contact', 'integer', (c) => c.notNull())
        .addColumn('at', 'integer', (c) => c.notNull())
        .addColumn('by', 'text')
        .addColumn('round', 'integer', (c) => c.notNull())
        .addPrimaryKeyConstraint('callback_calls_key', ['conversation', 'scope', 'contact'])
        .execute();
      await db.schema
        .createIndex('callback_calls_number')
        .on('callback_calls')
        .columns(['number', 'at'])
        .execute();
      await db.schema.createIndex('callback_calls_at').on('callback_calls').column('at').execute();
      await db.schema
        .createTable('callbacks')
        .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
        .addColumn('scope', 'text', (c) => c.notNull())
        .addColumn('number', 'text', (c) => c.notNull())
        .addColumn('tries', 'integer', (c) => c.notNull())
        .addColumn('first_at', 'integer', (c) => c.notNull())
        .addColumn('last_at', 'integer', (c) => c.notNull())
        .addColumn('conversation', 'text', (c) => c.notNull())
        .addColumn('open', 'integer', (c) => c.notNull())
        .addColumn('taken_by', 'text')
        .addColumn('taken_at', 'integer')
        .addColumn('contact_at', 'integer')
        .addColumn('contact_by', 'text')
        .addColumn('contact_conversation', 'text')
        .addColumn('closed_at', 'integer')
        .addColumn('closed_by', 'text')
        .addColumn('closed_reason', 'text')
        .addColumn('closed_note', 'text')
        .execute();
      await db.schema
        .createIndex('callbacks_number')
        .unique()
        .on('callbacks')
        .columns(['number', 'scope'])
        .execute();
      await db.schema
        .createIndex('callbacks_scope')
        .on('callbacks')
        .columns(['scope', 'open', 'last_at'])
        .execute();
      await db.schema
        .createTable('callback_reader')
        .addColumn('id', 'integer', (c) => c.primaryKey())
        .addColumn('cursor', 'text')
        .addColumn('round', 'integer', (c) => c.notNull())
        .addColumn('behind', 'integer', (c) => c.notNull())
        .execute();
    },
  },
];
