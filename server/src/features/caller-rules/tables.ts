import { sql } from 'kysely';
import type { CallerRule } from '@offhook/contract/caller-rules.ts';
import { createTable } from '../../core/schema.ts';
import type { Migration } from '../../ports/store.ts';

export interface RuleRow {
  readonly id: number;
  readonly action: CallerRule['action'];
  readonly match: CallerRule['match'];
  /** `anonymous` for the rule about callers without a number. */
  readonly number: string;
  readonly note: string | null;
  readonly created_by: string;
  readonly created_at: number;
}
export interface RuleTables {
  caller_rules: RuleRow;
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-caller-rules',
    async up(db) {
      await createTable(db.schema)`caller_rules (
        id integer primary key, action text not null, match text not null, number text not null, note text,
        created_by text not null, created_at integer not null, constraint caller_rules_number unique (match, number))`;
    },
  },
  {
    // SQLite would give the id of the newest rule to the next one after its deletion, and a repeated DELETE would delete that.
    id: '0110-caller-rule-ids',
    async up(db) {
      await db.schema.alterTable('caller_rules').renameTo('caller_rules_before').execute();
      await createTable(db.schema)`caller_rules (
        id integer primary key autoincrement, action text not null, match text not null, number text not null,
        note text, created_by text not null, created_at integer not null,
        constraint caller_rules_match unique (match, number))`;
      await sql`insert into caller_rules (id, action, "match", number, note, created_by, created_at)
        select id, action, "match", number, note, created_by, created_at from caller_rules_before`.execute(
        db,
      );
      await db.schema.dropTable('caller_rules_before').execute();
    },
  },
];
