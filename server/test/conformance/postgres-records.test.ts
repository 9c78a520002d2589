/** The tests of the features whose records may live in PostgreSQL, over PostgreSQL. */
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
await import('../../src/features/recordings/keeper.test.ts');
await import('../../src/features/recordings/disposal.test.ts');
await import('../../src/features/recordings/routes.test.ts');
await import('../../src/features/exports/exports.test.ts');
await import('../../src/features/history/erasure/erasure.test.ts');
await import('../../src/features/privacy/privacy.test.ts');
