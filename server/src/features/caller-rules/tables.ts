import type { CallerRule } from '@offhook/contract/caller-rules.ts';
import type { Migration } from '../../ports/store.ts';

export interface RuleRow {
  readonly id: number;
  readonly action: CallerRule['action'];
  readonly match: CallerRule['match'];
  /** `anonymous` where the rule has no number. */
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
      await db.schema
        .createTable('caller_rules')
        .addColumn('id', 'integer', (c) => c.primaryKey())
        .addColumn('action', 'text', (c) => c.notNull())
        .addColumn('match', 'text', (c) => c.notNull())
        .addColumn('number', 'text', (c) => c.notNull())
        .addColumn('note', 'text')
        .addColumn('created_by', 'text', (c) => c.notNull())
        .addColumn('created_at', 'integer', (c) => c.notNull())
        .addUniqueConstraint('caller_rules_number', ['match', 'number'])
        .execute();
    },
  },
];
