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
];
