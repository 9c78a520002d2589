import { phones as operations } from '@offhook/contract/operations/phones.ts';
import type { Served } from '../../ports/operations.ts';
import type { Phones } from './service.ts';

export const phoneOperations = (phones: Phones): Served<typeof operations> => ({
  operations,
  handlers: {
    list(_actor, { query }) {
      return { ...phones.page(query) };
    },
    handOver: async (exchange, { params }) => ({
      address: await phones.handOver(exchange, params.name, exchange.request.ownOrigin()),
    }),
    assign: async (actor, { params, body }) => ({ phone: await phones.assign(actor, params.name, body) }),
    signOut: async (actor, { params }) => ({ phone: await phones.signOut(actor, params.name) }),
    notify: async (actor, { params, body }) => ({
      phone: await phones.notify(actor, params.name, body.event),
    }),
  },
});
