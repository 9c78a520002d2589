import { exports as operations } from '@offhook/contract/operations/exports.ts';
import type { App } from '../../ports/http.ts';
import type { Served } from '../../ports/operations.ts';
import type { Exports } from './service.ts';

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** Exports and their files. A person may export every conversation whose history that person may see. */
export function exportOperations(exports: Exports, app: Pick<App, 'addHook'>): Served<typeof operations> {
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    exports.endWaiting();
    done();
  });
  return {
    operations,
    handlers: {
      async list({ caller, reply }, { query }) {
        const gone = new AbortController();
        reply.raw.once('close', () => gone.abort());
        await exports.next(caller, query, gone.signal);
        // The session may have ended and the level may have changed during the wait.
        const reader = query.seen === undefined ? caller : await reply.request.personNow();
        const page = await exports.page(reader, query);
        // An idle keep-alive connection would delay the stop.
        if (closing) reply.raw.shouldKeepAlive = false;
        return page;
      },
      get: async ({ caller }, { params }) => ({ export: await exports.one(caller, Number(params.id)) }),
      create: async (actor, { body }) => ({ export: await exports.create(actor, body) }),
      remove: async (actor, { params }) => ({ export: await exports.remove(actor, Number(params.id)) }),
      async file({ caller, ip, reply }, { params }) {
        const file = await exports.file({ caller, ip }, Number(params.id));
        return reply
          .type(TYPES[file.format]!)
          .header('content-length', file.bytes)
          .header('content-disposition', `attachment; filename="${file.name}"`)
          .header('repr-digest', `sha-256=:${Buffer.from(file.sha256, 'hex').toString('base64')}:`)
          .header('cache-control', 'private, no-store')
          .send(file.stream);
      },
    },
  };
}
