import { privacy as operations } from '@offhook/contract/operations/privacy.ts';
import type { Served } from '../../ports/operations.ts';
import type { Privacy } from './service.ts';

/** Exports and erasures of personal data, for administrators with a session only: API keys have no access. */
export function privacyOperations(privacy: Privacy): Served<typeof operations> {
  const success = true as const;
  return {
    operations,
    handlers: {
      export: async (actor, { body }) => ({ success, export: await privacy.export(actor, body) }),
      exported: async (_, { params }) => ({ success, export: await privacy.exported(Number(params.id)) }),
      async file({ caller, ip, reply }, { params }) {
        const file = await privacy.file({ caller, ip }, Number(params.id));
        return reply
          .type('application/json; charset=utf-8')
          .header('content-length', file.bytes)
          .header('content-disposition', `attachment; filename="${file.name}"`)
          .header('cache-control', 'private, no-store')
          .send(file.stream);
      },
      erase: async (actor, { body }) => ({ success, erasure: await privacy.erase(actor, body) }),
      erasures: async (_, { query }) => ({ success, ...(await privacy.erasures(query)) }),
      erasure: async (_, { params }) => ({ success, ...(await privacy.erasure(Number(params.id))) }),
    },
  };
}
