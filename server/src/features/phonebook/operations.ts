import { Readable } from 'node:stream';
import { phonebook as operations } from '@offhook/contract/operations/phonebook.ts';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { versionsOf } from '../../core/entity-tags.ts';
import { ServiceError } from '../../core/errors.ts';
import { endedWithService } from '../../core/open-answers.ts';
import { say } from '../../core/said.ts';
import type { App, Authenticator } from '../../ports/http.ts';
import type { Served } from '../../ports/operations.ts';
import { limitedKey } from '../../rights/rights.ts';
import { readsAtPhones } from './access.ts';
import type { Phonebook } from './service.ts';

const tagOf = ({ version }: Customer): string => `"${version}"`;

/** Customers of the site, and those of one person. */
export const phonebookOperations = (
  phonebook: Phonebook,
  app: Pick<App, 'addHook'>,
  keys: Pick<Authenticator, 'authenticate'>,
): Served<typeof operations> => {
  const sending = endedWithService(app);
  return {
    operations,
    handlers: {
      list: ({ caller }, { query }) => phonebook.page(caller, query),
      lookup: ({ caller }, { query }) => phonebook.lookup(caller, query.number),
      async get({ caller, reply }, { params }) {
        const customer = await phonebook.one(caller, Number(params.id));
        reply.header('etag', tagOf(customer));
        return { customer };
      },
      async create(exchange, { body }) {
        return { customer: await phonebook.create(exchange, body) };
      },
      async replace(exchange, { params, body }) {
        const versions = versionsOf(exchange.request.headers['if-match']);
        const customer = await phonebook.replace(exchange, Number(params.id), body, versions);
        exchange.reply.header('etag', tagOf(customer));
        return { customer };
      },
      async remove(exchange, { params }) {
        const versions = versionsOf(exchange.request.headers['if-match']);
        await phonebook.remove(exchange, Number(params.id), versions);
      },
      async import(exchange, { query }) {
        const { body, headers } = exchange.request;
        const kind = headers['content-type']!.startsWith('text/csv') ? 'csv' : 'vcard';
        const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
        return await phonebook.files.import(exchange, bytes, kind, query);
      },
      async directory({ reply }, { params: { token, file }, query: { q } }) {
        const caller = await keys.authenticate(token);
        if (caller?.key == null) throw new ServiceError('not_authenticated', 'the API key is not valid');
        if (!caller.key.scopes.includes('phonebook:phones'))
          throw new ServiceError('forbidden', say`this API key lacks the scope ${'phonebook:phones'}`);
        if (!readsAtPhones(caller)) throw limitedKey();
        return reply
          .type('text/xml; charset=utf-8')
          .header('cache-control', 'private, no-store')
          .send(await phonebook.directory(file, q));
      },
      async export(exchange, { query }) {
        const file = await phonebook.files.export(exchange, query);
        const type = query.format === 'csv' ? 'csv' : 'vcard';
        // A client that disconnected meanwhile emits no second `close`.
        if (exchange.reply.raw.destroyed) file.end();
        else {
          sending(exchange.reply.raw);
          exchange.reply.raw.once('close', () => file.end());
        }
        return exchange.reply
          .type(`text/${type}; charset=utf-8`)
          .header('content-disposition', `attachment; filename="customers.${type === 'csv' ? 'csv' : 'vcf'}"`)
          .header('cache-control', 'private, no-store')
          .send(Readable.from(file.pieces, { objectMode: false }));
      },
    },
  };
};
