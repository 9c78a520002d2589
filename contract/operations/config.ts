import type { z } from 'zod';
import { changesSecrets, makesSecrets, setsSecrets } from '../config-secrets.ts';
import { CONFIG_KINDS, CONFIG_SECRETS } from '../config-objects.ts';
import type { ConfigKind } from '../config-objects.ts';
import { Done } from '../session.ts';
import {
  CONFIG_SCHEMAS,
  ConfigChanges,
  ConfigChangesReply,
  ConfigDocument,
  ConfigKeyPath,
  ConfigListQuery,
  ConfigUsesReply,
  ConfigValidate,
  ConfigValidateReply,
  ConfigViewQuery,
  CredentialsReply,
  DraftDiscarded,
  DraftObjectPath,
  DraftQuery,
  DraftReply,
  ExtensionPath,
  ImportQuery,
  MAX_CONFIG_BYTES,
  NewCredentials,
} from '../config.ts';
import type { ErrorCode } from '../errors.ts';
import { area } from '../operation.ts';

const ERRORS = [
  'invalid_request',
  'not_found',
  'name_taken',
  'in_use',
  'limit_reached',
  'precondition_failed',
  'invalid_configuration',
  'store_unavailable',
] as const satisfies readonly ErrorCode[];

export const config = area('config', {
  draft: {
    method: 'GET',
    path: '/api/v1/config/draft',
    level: 'admin',
    scope: 'config:read',
    query: DraftQuery,
    reply: DraftReply,
    etag: 'sent',
    errors: ['invalid_request', 'store_unavailable'],
    summary: 'Differences of the draft from the applied configuration',
  },
  change: {
    method: 'POST',
    path: '/api/v1/config/draft/changes',
    action: 'config.change',
    audit: 'config.changed',
    level: 'admin',
    scope: 'config:write',
    confirm: changesSecrets,
    slow: true,
    body: ConfigChanges,
    bodyBytes: MAX_CONFIG_BYTES,
    reply: ConfigChangesReply,
    errors: ERRORS,
    summary: 'Change many objects of the draft at once, all of them or none',
  },
  validate: {
    method: 'POST',
    path: '/api/v1/config/validate',
    action: 'config.validate',
    level: 'admin',
    scope: 'config:read',
    slow: true,
    body: ConfigValidate,
    reply: ConfigValidateReply,
    errors: ERRORS,
    summary: 'Findings of the draft, or of the draft with some changes; nothing is stored',
  },
  discard: {
    method: 'DELETE',
    path: '/api/v1/config/draft',
    action: 'config.discard',
    audit: 'config.discarded',
    level: 'admin',
    scope: 'config:write',
    slow: true,
    reply: DraftDiscarded,
    errors: ['store_unavailable'],
    summary: 'Discard the draft',
  },
  discardObject: {
    method: 'DELETE',
    path: '/api/v1/config/draft/:kind/:key',
    action: 'config.discard_object',
    audit: 'config.discarded',
    level: 'admin',
    scope: 'config:write',
    params: DraftObjectPath,
    reply: DraftDiscarded,
    errors: ['invalid_request', 'not_found', 'in_use', 'invalid_configuration', 'store_unavailable'],
    summary: 'Reset one object of the draft to the applied one',
  },
  setCredentials: {
    method: 'POST',
    path: '/api/v1/config/extensions/:extension/credentials',
    action: 'config.set_credentials',
    audit: 'config.password_set',
    level: 'admin',
    confirm: true,
    params: ExtensionPath,
    body: NewCredentials,
    reply: CredentialsReply,
    errors: ['invalid_request', 'not_found', 'overloaded', 'store_unavailable'],
    summary: 'Give an extension a password to sign in with, at once, and a new SIP password, in the draft',
  },
  export: {
    method: 'GET',
    path: '/api/v1/config/export',
    level: 'admin',
    scope: 'config:read',
    query: ConfigViewQuery,
    reply: ConfigDocument,
    etag: 'sent',
    errors: ['invalid_request'],
    summary:
      'The whole configuration as one document, without secrets; as YAML for `Accept: application/yaml`',
  },
  import: {
    method: 'POST',
    path: '/api/v1/config/import',
    audit: 'config.imported',
    tool: false,
    level: 'admin',
    scope: 'config:write',
    confirm: true,
    slow: true,
    query: ImportQuery,
    body: ConfigDocument,
    unchecked: true,
    bodyBytes: MAX_CONFIG_BYTES,
    reply: ConfigChangesReply,
    errors: ERRORS,
    summary: 'Replace the draft by a document; secrets it does not contain stay',
  },
});

/** Every kind of object has the same operations, at its own path. */
export function kindOperations(kind: ConfigKind) {
  const { path, schema } = CONFIG_KINDS[kind];
  const schemas = CONFIG_SCHEMAS[kind];
  const hasSecrets = CONFIG_SECRETS[kind].length > 0;
  const many = path.replaceAll('-', ' ');
  const url = `/api/v1/config/${path}` as const;
  const one = `${url}/:key` as const;
  const read = { method: 'GET', level: 'admin', scope: 'config:read' } as const;
  const write = {
    audit: 'config.changed',
    level: 'admin',
    scope: 'config:write',
    errors: ERRORS,
    unchecked: true,
  } as const;
  return area('config', {
    list: {
      ...read,
      path: url,
      query: ConfigListQuery,
      reply: schemas.list,
      errors: ['invalid_request'],
      summary: `The ${many}`,
    },
    get: {
      ...read,
      path: one,
      params: ConfigKeyPath,
      query: ConfigViewQuery,
      reply: schemas.reply,
      etag: 'held',
      errors: ['invalid_request', 'not_found'],
      summary: `One object of \`${path}\``,
    },
    uses: {
      ...read,
      path: `${one}/uses`,
      params: ConfigKeyPath,
      reply: ConfigUsesReply,
      errors: ['invalid_request', 'not_found'],
      summary: `Objects that use this object of \`${path}\`, and those that it uses`,
    },
    create: {
      ...write,
      method: 'POST',
      path: url,
      ...(hasSecrets ? { confirm: (given: unknown) => makesSecrets(kind, given) } : {}),
      body: schema as z.ZodType,
      reply: schemas.reply,
      status: 201,
      etag: 'sent',
      summary: `Create an object of \`${path}\`, in the draft`,
    },
    put: {
      ...write,
      method: 'PUT',
      path: one,
      ...(hasSecrets
        ? {
            confirm: (given: unknown, headers: Readonly<Record<string, unknown>> = {}) =>
              headers['if-none-match'] === undefined ? setsSecrets(kind, given) : makesSecrets(kind, given),
          }
        : {}),
      params: ConfigKeyPath,
      body: schema as z.ZodType,
      reply: schemas.reply,
      etag: 'replace',
      summary: `Replace an object of \`${path}\`, or create it with \`If-None-Match: *\`; secrets that are left out stay`,
    },
    patch: {
      ...write,
      method: 'PATCH',
      path: one,
      ...(hasSecrets ? { confirm: (patch: unknown) => setsSecrets(kind, patch) } : {}),
      params: ConfigKeyPath,
      body: schemas.patch,
      takes: 'merge_patch',
      reply: schemas.reply,
      etag: 'match',
      summary: `Change an object of \`${path}\` by a merge patch; null generates a secret anew, or removes an optional one`,
    },
    remove: {
      ...write,
      method: 'DELETE',
      path: one,
      params: ConfigKeyPath,
      reply: Done,
      etag: 'match',
      summary: `Delete an object of \`${path}\`, in the draft`,
    },
  });
}
