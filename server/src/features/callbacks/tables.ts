import type { Generated } from 'kysely';
import type { CloseReason } from '@offhook/contract/callbacks.ts';
import type { z } from 'zod';
import { createIndex, createTable } from '../../core/schema.ts';
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
      await createTable(db.schema)`callback_calls (
        conversation text not null, number text not null, scope text not null, contact integer not null,
        at integer not null, by text, round integer not null,
        constraint callback_calls_key primary key (conversation, scope, contact))`;
      await createIndex(db.schema)`callback_calls_number on callback_calls (number, at)`;
      await createIndex(db.schema)`callback_calls_at on callback_calls (at)`;
      await createTable(db.schema)`callbacks (
        id integer primary key autoincrement, scope text not null, number text not null, tries integer not null,
        first_at integer not null, last_at integer not null, conversation text not null, open integer not null,
        taken_by text, taken_at integer, contact_at integer, contact_by text, contact_conversation text,
        closed_at integer, closed_by text, closed_reason text, closed_note text)`;
      await createIndex(db.schema)`unique callbacks_number on callbacks (number, scope)`;
      await createIndex(db.schema)`callbacks_scope on callbacks (scope, open, last_at)`;
      await createTable(db.schema)`callback_reader (
        id integer primary key, cursor text, round integer not null, behind integer not null)`;
    },
  },
];
