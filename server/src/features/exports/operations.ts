import { ExportId, ExportReply, NewExport } from '@offhook/contract/exports.ts';
import { NoFields } from '@offhook/contract/session.ts';
import { z } from 'zod';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { Exports } from './service.ts';

/** Who may see a history may have it as a file. */
export function exportOperations(define: DefineOperation, exports: Exports): AnyOperation[] {
  const shared = { level: 'user', scope: 'history:read', tag: 'exports' } as const;
  return [
    define({
      ...shared,
      action: 'exports.create',
      method: 'POST',
      path: '/api/v1/exports',
      errors: ['invalid_request', 'forbidden', 'limit_reached', 'overloaded', 'store_unavailable'],
      summary: 'Make a file of conversations in the background; what it holds is what the caller may see',
      params: z.strictObject({}),
      body: NewExport,
      reply: ExportReply,
      status: 202,
      run: async (actor, { body }) => ({ success: true as const, export: await exports.create(actor, body) }),
    }),
    define({
      ...shared,
      action: 'exports.remove',
      method: 'DELETE',
      path: '/api/v1/exports/:id',
      errors: ['invalid_request', 'not_found', 'store_unavailable'],
      summary: 'Cancel an export, or delete its file',
      params: ExportId,
      body: NoFields,
      reply: ExportReply,
      run: async (actor, { params }) => ({
        success: true as const,
        export: await exports.remove(actor, Number(params.id)),
      }),
    }),
  ];
}
