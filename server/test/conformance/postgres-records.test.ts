/** Tests of the call history over PostgreSQL. */
import { usePostgresStores } from '../support/postgres-stores.ts';

await usePostgresStores();

await import('../../src/features/history/ingest/ingest.test.ts');
await import('../../src/features/history/query/routes.test.ts');
await import('../../src/features/history/query/party-search.test.ts');
await import('../../src/features/history/ingest/conversations.test.ts');
await import('../../src/features/history/query/export-rows.test.ts');
await import('../../src/features/history/query/attacks.test.ts');
await import('../../src/features/history/query/changes.test.ts');
await import('../../src/features/history/query/list.test.ts');
await import('../../src/features/history/query/notes.test.ts');
await import('../../src/features/history/query/quality.test.ts');
await import('../../src/features/history/query/terms.test.ts');
