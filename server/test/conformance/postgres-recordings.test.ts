/** Tests of recordings, exports and erasures over PostgreSQL. */
import { usePostgresStores } from '../support/postgres-stores.ts';

await usePostgresStores();

await import('../../src/features/recordings/keeper.test.ts');
await import('../../src/features/recordings/disposal.test.ts');
await import('../../src/features/recordings/homes.test.ts');
await import('../../src/features/recordings/routes.test.ts');
await import('../own-recordings.test.ts');
await import('../../src/features/exports/exports.test.ts');
await import('../../src/features/history/erasure/erasure.test.ts');
await import('../../src/features/privacy/privacy.test.ts');
