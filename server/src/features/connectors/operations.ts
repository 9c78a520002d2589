import { connectors as operations } from '@offhook/contract/operations/connectors.ts';
import type { Served } from '../../ports/operations.ts';
import type { ConnectorService } from './service.ts';

/** Connectors to other systems, and the ledger of their entries. */
export function connectorOperations(connectors: ConnectorService): Served<typeof operations> {
  return {
    operations,
    handlers: {
      files: async () => ({ files: await connectors.files() }),
      lookup: (_exchange, { query }) => connectors.lookup(query.number),
      list: async () => ({ connectors: await connectors.list() }),
      get: async (_exchange, { params }) => ({ connector: await connectors.one(Number(params.id)) }),
      create: async (actor, { body }) => ({ connector: await connectors.create(actor, body) }),
      change: async (actor, { params, body }) => ({
        connector: await connectors.change(actor, Number(params.id), body),
      }),
      async remove(actor, { params }) {
        await connectors.remove(actor, Number(params.id));
      },
      test: (_exchange, { params }) => connectors.test(Number(params.id)),
      sync: async (actor, { params, body }) => ({
        connector: await connectors.sync(actor, Number(params.id), body),
      }),
      createCustomer: (actor, { params, body }) => connectors.createCustomer(actor, Number(params.id), body),
      inbox: ({ request, ip }, { params }) =>
        connectors.receive(
          Number(params.id),
          // The route takes bytes only; a request without a body has none.
          { headers: request.headers, bytes: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0) },
          ip,
        ),
      entries: ({ caller }, { params, query }) => connectors.entries(caller, Number(params.id), query),
      retryEntry: async (actor, { params, body }) => ({
        entry: await connectors.retry(actor, Number(params.id), Number(params.entry), body.entry_id ?? null),
      }),
    },
  };
}
