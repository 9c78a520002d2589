import { ErasureReply, NewErasure, NewPrivacyExport, PrivacyExportReply } from '@offhook/contract/privacy.ts';
import { z } from 'zod';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { Privacy } from './service.ts';

/** For administrators in person: no API key tells or erases everything about somebody. */
export function privacyOperations(define: DefineOperation, privacy: Privacy): AnyOperation[] {
  const shared = {
    method: 'POST',
    level: 'admin',
    tag: 'privacy',
    errors: ['invalid_request', 'overloaded', 'store_unavailable'],
    params: z.strictObject({}),
    status: 202,
  } as const;
  return [
    define({
      ...shared,
      action: 'privacy.export',
      path: '/api/v1/privacy/exports',
      summary: 'Make a file of everything that is known about a number or a person',
      body: NewPrivacyExport,
      reply: PrivacyExportReply,
      run: async (actor, { body }) => ({ success: true as const, export: await privacy.export(actor, body) }),
    }),
    define({
      ...shared,
      action: 'privacy.erase',
      confirm: true,
      path: '/api/v1/privacy/erasures',
      summary: 'Erase a number or a person everywhere; sums and times stay. It cannot be taken back',
      body: NewErasure,
      reply: ErasureReply,
      run: async (actor, { body }) => ({ success: true as const, erasure: await privacy.erase(actor, body) }),
    }),
  ];
}
