/** Tests of the features whose tables are in PostgreSQL only with the whole site, over PostgreSQL. */
import { usePostgresStores } from '../support/postgres-stores.ts';

await usePostgresStores();

// First: the programs of its provider take a while to load, in which earlier tests could already end.
await import('../../src/features/sessions/company/logout.test.ts');
await import('../../src/features/sessions/sessions.test.ts');
await import('../../src/features/sessions/people.test.ts');
await import('../../src/features/sessions/personal-data.test.ts');
await import('../../src/features/audit/audit.test.ts');
await import('../../src/features/boards/boards.test.ts');
await import('../../src/features/presence/presence.test.ts');
await import('../../src/features/self-service/self-service.test.ts');
await import('../../src/features/wallboard/counter.test.ts');
