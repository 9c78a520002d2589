import { privacy as operations } from '@offhook/contract/operations/privacy.ts';
import type { Served } from '../../ports/operations.ts';
import type { Privacy } from './service.ts';

/** Exports and erasures of personal data, for administrators with a session only: API keys have no access. */
export function privacyOperations(privacy: Privacy): Served<typeof operations> {
  return {
    operations,
    handlers: {
      export: async (actor, { body }) => ({ export: await privacy.export(actor, body) }),
      exported: async (_, { params }) => ({ export: await privacy.exported(Number(params.id)) }),
      async file({ caller, ip, reply }, { params }) {
        const file = await privacy.file({ caller, ip }, Number(params.id));
        return reply
          .type('application/json; charset=utf-8')
          .header('content-length', file.bytes)
          .header('content-disposition', `attachment; filename="${file.name}"`)
          .header('cache-control', 'private, no-store')
          .send(file.stream);
      },
      erase: async (actor, { body }) => ({ erasure: await privacy.erase(actor, body) }),
      erasures: (_, { query }) => privacy.erasures(query),
      erasure: (_, { params }) => privacy.erasure(Number(params.id)),
    },
  };
}
