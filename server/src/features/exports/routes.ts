import { ExportId, ExportReply, ExportsQuery, ExportsReply } from '@offhook/contract/exports.ts';
import { z } from 'zod';
import type { App } from '../../ports/http.ts';
import type { Exports } from './service.ts';

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** Reading exports and their files. */
export function exportRoutes(app: App, exports: Exports): void {
  const tags = ['exports'];
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    exports.endWaiting();
    done();
  });
  const access = { level: 'user', scope: 'history:read' } as const;
  app.get(
    '/api/v1/exports',
    {
      config: { ...access, errors: ['invalid_request', 'store_unavailable'] },
      schema: {
        tags,
        summary: "One's own exports, newest first; an administrator's view is all",
        description:
          'With `seen` it answers when the version of the list is another one, at the latest after `wait` seconds: how far exports are needs no polling.',
        querystring: ExportsQuery,
        response: { 200: ExportsReply },
      },
    },
    async (request, reply) => {
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      const page = await exports.page(request.person(), request.query, gone.signal);
      // A connection that stays would hold up the stop for as long as it may be idle.
      if (closing) reply.raw.shouldKeepAlive = false;
      return { success: true as const, ...page };
    },
  );
  app.get(
    '/api/v1/exports/:id',
    {
      config: { ...access, errors: ['invalid_request', 'not_found', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'One export and how far it is',
        params: ExportId,
        response: { 200: ExportReply },
      },
    },
    async (request) => ({
      success: true as const,
      export: await exports.one(request.person(), Number(request.params.id)),
    }),
  );
  app.get(
    '/api/v1/exports/:id/file',
    {
      config: {
        ...access,
        errors: [
          'invalid_request',
          'not_found',
          'forbidden',
          'file_not_ready',
          'file_gone',
          'store_unavailable',
        ],
      },
      schema: {
        tags,
        summary: 'The file; each download is in the audit trail',
        params: ExportId,
        response: { 200: z.any().describe('CSV (RFC 4180, UTF-8) or XLSX.') },
      },
    },
    async (request, reply) => {
      const actor = { caller: request.person(), ip: request.ip };
      const file = await exports.file(actor, Number(request.params.id));
      return reply
        .type(TYPES[file.format]!)
        .header('content-length', file.bytes)
        .header('content-disposition', `attachment; filename="${file.name}"`)
        .header('repr-digest', `sha-256=:${Buffer.from(file.sha256, 'hex').toString('base64')}:`)
        .header('cache-control', 'private, no-store')
        .send(file.stream);
    },
  );
}
