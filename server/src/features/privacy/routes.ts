import {
  ErasureProof,
  ErasuresReply,
  PrivacyExportReply,
  PrivacyId,
  PrivacyQuery,
} from '@offhook/contract/privacy.ts';
import { z } from 'zod';
import type { App } from '../../ports/http.ts';
import type { Privacy } from './service.ts';

/** How far exports and erasures are, their proofs and files; for administrators. */
export function privacyRoutes(app: App, privacy: Privacy): void {
  const tags = ['privacy'];
  const one = { level: 'admin', errors: ['invalid_request', 'not_found', 'store_unavailable'] } as const;
  app.get(
    '/api/v1/privacy/erasures',
    {
      config: { level: 'admin', errors: ['invalid_request', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'The erasures, newest first',
        querystring: PrivacyQuery,
        response: { 200: ErasuresReply },
      },
    },
    async (request) => ({ success: true as const, ...(await privacy.erasures(request.query)) }),
  );
  app.get(
    '/api/v1/privacy/erasures/:id',
    {
      config: one,
      schema: {
        tags,
        summary: 'An erasure, its proof, and whether the ledger is whole',
        params: PrivacyId,
        response: { 200: ErasureProof },
      },
    },
    async (request) => ({
      success: true as const,
      ...(await privacy.erasure(Number(request.params.id))),
    }),
  );
  app.get(
    '/api/v1/privacy/exports/:id',
    {
      config: one,
      schema: {
        tags,
        summary: 'How far the file about somebody is',
        params: PrivacyId,
        response: { 200: PrivacyExportReply },
      },
    },
    async (request) => ({
      success: true as const,
      export: await privacy.exported(Number(request.params.id)),
    }),
  );
  app.get(
    '/api/v1/privacy/exports/:id/file',
    {
      config: { ...one, errors: [...one.errors, 'file_not_ready', 'file_gone'] },
      schema: {
        tags,
        summary: 'The file about somebody; each download is in the audit trail',
        params: PrivacyId,
        response: { 200: z.any().describe('JSON: `about`, `made_at`, and `items` with their `kind`.') },
      },
    },
    async (request, reply) => {
      const actor = { caller: request.person(), ip: request.ip };
      const file = await privacy.file(actor, Number(request.params.id));
      return reply
        .type('application/json; charset=utf-8')
        .header('content-length', file.bytes)
        .header('content-disposition', `attachment; filename="${file.name}"`)
        .header('cache-control', 'private, no-store')
        .send(file.stream);
    },
  );
}
