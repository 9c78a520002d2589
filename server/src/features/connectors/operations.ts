import { connectors as operations } from '@offhook/contract/operations/connectors.ts';
import type { Served } from '../../ports/operations.ts';
import type { ConnectorService } from './service.ts';

/** Connectors to other systems, and the ledger of their entries. */
export function connectorOperations(connectors: ConnectorService): Served<typeof operations> {
  const success = true as const;
  return {
    operations,
    handlers: {
      files: async () => ({ success, files: await connectors.files() }),
      lookup: async (_exchange, { query }) => ({ success, ...(await connectors.lookup(query.number)) }),
      list: async () => ({ success, connectors: await connectors.list() }),
      get: async (_exchange, { params }) => ({ success, connector: await connectors.one(Number(params.id)) }),
      create: async (actor, { body }) => ({ success, connector: await connectors.create(actor, body) }),
      change: async (actor, { params, body }) => ({
        success,
        connector: await connectors.change(actor, Number(params.id), body),
      }),
      async remove(actor, { params }) {
        await connectors.remove(actor, Number(params.id));
        return { success };
      },
      test: (_exchange, { params }) => connectors.test(Number(params.id)),
      sync: async (actor, { params, body }) => ({
        success,
        connector: await connectors.sync(actor, Number(params.id), body),
      }),
      createCustomer: async (actor, { params, body }) => ({
        success,
        ...(await connectors.createCustomer(actor, Number(params.id), body)),
      }),
      inbox: async ({ request, ip }, { params }) => ({
        success,
        ...(await connectors.receive(
          Number(params.id),
          // The route takes bytes only; a request without a body has none.
          { headers: request.headers, bytes: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0) },
          ip,
        )),
      }),
      entries: async ({ caller }, { params, query }) => ({
        success,
        ...(await connectors.entries(caller, Number(params.id), query)),
      }),
      retryEntry: async (actor, { params, body }) => ({
        success,
        entry: await connectors.retry(actor, Number(params.id), Number(params.entry), body.entry_id ?? null),
      }),
    },
  };
}
