import {
  ApplyId,
  ApplyReply,
  NewApply,
  RestoreVersion,
  VersionNumber,
} from '@offhook/contract/config-applies.ts';
import { NoFields } from '@offhook/contract/session.ts';
import { z } from 'zod';
import type { AnyOperation, DefineOperation } from '../../../ports/operations.ts';
import { checkWholeSite } from '../draft.ts';
import type { ConfigApplies } from './service.ts';

/** Bringing the draft, or an earlier version, to the engine. */
export function applyOperations(define: DefineOperation, applies: ConfigApplies): AnyOperation[] {
  const shared = { level: 'admin', tag: 'config', method: 'POST' } as const;
  const refusals = [
    'invalid_request',
    'apply_running',
    'config_drift',
    'engine_unavailable',
    'store_unavailable',
  ] as const;
  return [
    define({
      ...shared,
      action: 'config.apply',
      scope: 'config:write',
      path: '/api/v1/config/applies',
      errors: [...refusals, 'precondition_failed'],
      summary:
        'Apply the draft: tried on another engine, written, read by the live one and checked, or rolled back',
      params: z.strictObject({}),
      body: NewApply,
      reply: ApplyReply,
      status: 202,
      run: async (actor, { body }) => {
        checkWholeSite(actor.caller);
        return { success: true as const, apply: await applies.apply(actor, body) };
      },
    }),
    define({
      ...shared,
      action: 'config.cancel_apply',
      scope: 'config:write',
      path: '/api/v1/config/applies/:id/cancel',
      errors: ['invalid_request', 'not_found', 'apply_over', 'store_unavailable'],
      summary: 'Cancel an apply before it writes files',
      params: ApplyId,
      body: NoFields,
      reply: ApplyReply,
      run: async (actor, { params }) => {
        checkWholeSite(actor.caller);
        return { success: true as const, apply: await applies.cancel(actor, Number(params.id)) };
      },
    }),
    define({
      ...shared,
      action: 'config.restore',
      confirm: true,
      path: '/api/v1/config/versions/:version/restore',
      errors: [...refusals, 'not_found', 'draft_not_empty'],
      summary: 'Make an earlier version the draft and apply it',
      params: VersionNumber,
      body: RestoreVersion,
      reply: ApplyReply,
      status: 202,
      run: async (actor, { params, body }) => ({
        success: true as const,
        apply: await applies.restore(actor, Number(params.version), body),
      }),
    }),
  ];
}
