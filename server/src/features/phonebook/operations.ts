import { phonebook as operations } from '@offhook/contract/operations/phonebook.ts';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { versionsOf } from '../../core/entity-tags.ts';
import type { Served } from '../../ports/operations.ts';
import type { Phonebook } from './service.ts';

const tagOf = ({ version }: Customer): string => `"${version}"`;

/** Customers of the site, and those of one person. */
export const phonebookOperations = (phonebook: Phonebook): Served<typeof operations> => ({
  operations,
  handlers: {
    list: async ({ caller }, { query }) => ({ success: true, ...(await phonebook.page(caller, query)) }),
    lookup: async ({ caller }, { query }) => ({
      success: true,
      ...(await phonebook.lookup(caller, query.number)),
    }),
    async get({ caller, reply }, { params }) {
      const customer = await phonebook.one(caller, Number(params.id));
      reply.header('etag', tagOf(customer));
      return { success: true, customer };
    },
    async create(exchange, { body }) {
      return { success: true, customer: await phonebook.create(exchange, body) };
    },
    async replace(exchange, { params, body }) {
      const versions = versionsOf(exchange.request.headers['if-match']);
      const customer = await phonebook.replace(exchange, Number(params.id), body, versions);
      exchange.reply.header('etag', tagOf(customer));
      return { success: true, customer };
    },
    async remove(exchange, { params }) {
      const versions = versionsOf(exchange.request.headers['if-match']);
      await phonebook.remove(exchange, Number(params.id), versions);
      return { success: true };
    },
  },
});
