import { z } from 'zod';

/**
 * Permissions of an API key. Each scope is limited to a supervisor's rights and the key's objects, except the two of the
 * configuration, which exceed these rights. Those and the phonebook's cover the whole site and reject a limited key.
 */
export const SCOPES = [
  'directory:read',
  'phonebook:read',
  'phonebook:write',
  'phonebook:phones',
  'history:read',
  'history:write',
  'recordings:read',
  'calls:read',
  'calls:control',
  'queues:read',
  'queues:control',
  'agents:read',
  'agents:control',
  'config:read',
  'config:write',
  'system:read',
  'webhooks:manage',
  'mcp:read',
  'mcp:write',
] as const;
export const Scope = z.enum(SCOPES);
export type Scope = z.infer<typeof Scope>;
/** Scopes that a key limited to some queues or extensions cannot use. */
export const WHOLE_SITE_SCOPES: ReadonlySet<Scope> = new Set([
  'phonebook:read',
  'phonebook:write',
  'phonebook:phones',
  'config:read',
  'config:write',
]);

/** Scopes whose objects are extensions; a key limited to some queues needs its extensions named for them. */
export const CALL_SCOPES: ReadonlySet<Scope> = new Set([
  'history:read',
  'history:write',
  'recordings:read',
  'calls:read',
  'calls:control',
]);

/** Prefix of every API key, so that scanners find a leaked one. */
export const KEY_PREFIX = 'ohk_';
/** Limit of API keys per site. */
export const MAX_API_KEYS = 500;

/** Name of an API key; that of a display's key is one of them. */
export const KeyName = z
  .string()
  .regex(
    /^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]{0,62}[\p{L}\p{N}])?$/u,
    'must be 1 to 64 letters and digits, with " ._-" only between them',
  );
const unique = (list: readonly string[]): boolean => new Set(list).size === list.length;
const Scopes = z.array(Scope).min(1).max(SCOPES.length).refine(unique, 'must name each scope once');
const Queues = z.array(z.string().regex(/^[a-z0-9_-]{1,64}$/, 'must be a queue')).max(256);
const Extensions = z.array(z.string().regex(/^\d{1,20}$/, 'must be an extension')).max(1_000);
const Expiry = z.iso.datetime({ offset: true }).nullable();

/** Body of `POST /api/v1/api-keys`. `null` is every queue or extension, or no expiry. */
export const NewApiKey = z.strictObject({
  name: KeyName,
  scopes: Scopes,
  queues: Queues.nullable().default(null),
  extensions: Extensions.nullable().default(null),
  expires_at: Expiry.default(null),
});
export type NewApiKey = z.output<typeof NewApiKey>;
/** Body of `PATCH /api/v1/api-keys/:id`; absent fields stay unchanged. */
export const ApiKeyChange = z.strictObject({
  name: KeyName.optional(),
  scopes: Scopes.optional(),
  queues: Queues.nullable().optional(),
  extensions: Extensions.nullable().optional(),
  expires_at: Expiry.optional(),
});
export type ApiKeyChange = z.output<typeof ApiKeyChange>;
export const ApiKeyId = z.strictObject({
  id: z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of an API key'),
});

/** An API key without its secret, which cannot be read again. */
export const ApiKey = z
  .object({
    id: z.int(),
    name: z.string(),
    scopes: z.array(Scope),
    queues: z.array(z.string()).nullable(),
    extensions: z.array(z.string()).nullable(),
    board: z.int().nullable().describe('Wallboard of a display key, which is created and revoked there.'),
    created_at: z.string(),
    /** Extension of the person who created it. */
    created_by: z.string(),
    expires_at: z.string().nullable(),
    /** Accurate to about a minute. */
    last_used_at: z.string().nullable(),
  })
  .meta({ id: 'ApiKey' });
export type ApiKey = z.infer<typeof ApiKey>;
export const ApiKeyReply = z.object({ success: z.literal(true), api_key: ApiKey });
/** The only reply that contains the key itself. */
export const ApiKeyCreated = ApiKeyReply.extend({ key: z.string() });
export const ApiKeys = z.object({ success: z.literal(true), api_keys: z.array(ApiKey) });
