import {
  ConfigChanges,
  ConfigChangesReply,
  ConfigValidate,
  ConfigValidateReply,
  CredentialsReply,
  DraftDiscarded,
  DraftObjectPath,
  ExtensionPath,
  MAX_CONFIG_BYTES,
  MAX_NAMED,
  NewCredentials,
} from '@offhook/contract/config.ts';
import { NoFields } from '@offhook/contract/session.ts';
import { z } from 'zod';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { Credentials } from './credentials.ts';
import type { Draft, Written } from './draft.ts';
import { changesSecrets } from './secrets.ts';

/** What any write of the draft can be refused with. */
export const WRITE_ERRORS: readonly ErrorCode[] = [
  'invalid_request',
  'not_found',
  'name_taken',
  'in_use',
  'limit_reached',
  'precondition_failed',
  'invalid_configuration',
  'store_unavailable',
];
export const changesReply = (
  draft: Draft,
  { differs, made }: Written,
): z.output<typeof ConfigChangesReply> => ({
  success: true,
  etag: draft.etag(),
  differs,
  secrets: made.map(({ kind, key, secrets }) => ({ kind, key, secrets })),
});

/**
 * One command says all that the paths of the kinds say one by one: eighty commands of the same four verbs would tell a client
 * of the stream nothing more.
 */
export function configOperations(
  define: DefineOperation,
  { draft, credentials }: { readonly draft: Draft; readonly credentials: Credentials },
): AnyOperation[] {
  const shared = { level: 'admin', tag: 'config' } as const;
  const params = z.strictObject({});
  return [
    define({
      ...shared,
      action: 'config.change',
      confirm: changesSecrets,
      scope: 'config:write',
      method: 'POST',
      path: '/api/v1/config/draft/changes',
      bodyBytes: MAX_CONFIG_BYTES,
      errors: WRITE_ERRORS,
      summary: 'Change many objects of the draft at once, all of them or none',
      params,
      body: ConfigChanges,
      reply: ConfigChangesReply,
      run: async (actor, { body }) =>
        changesReply(draft, await draft.change(actor, body.changes, body.if_match)),
    }),
    define({
      ...shared,
      action: 'config.validate',
      scope: 'config:read',
      method: 'POST',
      path: '/api/v1/config/validate',
      errors: WRITE_ERRORS,
      summary: 'What is wrong with the draft, or would be after some changes; nothing is kept',
      params,
      body: ConfigValidate,
      reply: ConfigValidateReply,
      run: async (actor, { body }) => {
        const findings = await draft.findings(actor, body.changes);
        return {
          success: true,
          valid: findings.length === 0,
          findings: findings.slice(0, MAX_NAMED),
          findings_total: findings.length,
        };
      },
    }),
    define({
      ...shared,
      action: 'config.discard',
      scope: 'config:write',
      method: 'DELETE',
      path: '/api/v1/config/draft',
      errors: ['store_unavailable'],
      summary: 'Discard the draft',
      params,
      body: NoFields,
      reply: DraftDiscarded,
      run: async (actor) => {
        const discarded = await draft.discard(actor);
        return { success: true, etag: draft.etag(), discarded };
      },
    }),
    define({
      ...shared,
      action: 'config.discard_object',
      scope: 'config:write',
      method: 'DELETE',
      path: '/api/v1/config/draft/:kind/:key',
      errors: ['invalid_request', 'not_found', 'in_use', 'invalid_configuration', 'store_unavailable'],
      summary: 'Make one object of the draft what is applied',
      params: DraftObjectPath,
      body: NoFields,
      reply: DraftDiscarded,
      run: async (actor, { params: ref }) => {
        const discarded = await draft.discard(actor, ref);
        return { success: true, etag: draft.etag(), discarded };
      },
    }),
    define({
      ...shared,
      action: 'config.set_credentials',
      confirm: true,
      method: 'POST',
      path: '/api/v1/config/extensions/:extension/credentials',
      errors: ['invalid_request', 'not_found', 'overloaded', 'store_unavailable'],
      summary: 'Give an extension a password to sign in with, at once, and a new SIP password, in the draft',
      params: ExtensionPath,
      body: NewCredentials,
      reply: CredentialsReply,
      run: (actor, { params: { extension }, body }) => credentials.give(actor, extension, body ?? {}),
    }),
  ];
}
