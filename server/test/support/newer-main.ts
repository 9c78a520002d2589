/** The service; with the setting `TEST_NEWER` that of a later version, whose agents have another column and another table. */
import type { Migration } from '../../src/ports/store.ts';
import { migrations } from '../../src/features/agents/store.ts';

if (process.env['TEST_NEWER'] !== undefined)
  (migrations as Migration[]).push({
    id: '9999-newer',
    async up(db) {
      await db.schema.alterTable('agent_intents').addColumn('newer', 'text').execute();
      await db.schema.createTable('newer').addColumn('id', 'integer').execute();
    },
  });
await import('../../src/programs/main.ts');
