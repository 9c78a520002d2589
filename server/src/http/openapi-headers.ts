/** Headers of requests and replies in the OpenAPI document. */
import { isFileBody } from '@offhook/contract/operation.ts';
import { LANGUAGES } from '@offhook/contract/errors.ts';
import type { FastifyContextConfig } from 'fastify';

const text = { type: 'string' } as const;
/** Request headers by name; all optional, because each has a default. */
export const PARAMETERS = {
  AcceptLanguage: {
    name: 'Accept-Language',
    in: 'header',
    description: `Language of \`title\`, \`detail\` and \`error\`: ${LANGUAGES.join(', ')}; English where none fits.`,
    schema: text,
    example: 'tr, en;q=0.5',
  },
  AppLanguage: {
    name: 'X-App-Language',
    in: 'header',
    description: 'Language an app is set to; it goes before `Accept-Language`.',
    schema: text,
    example: 'tr',
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Id of this request in our log and in every reply: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made where it is missing.',
    schema: text,
    example: 'crm-7f3a90',
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Repeats with this key get the first result; another body with it is refused. 1 to 255 printable characters, kept for a day.',
    schema: { ...text, minLength: 1, maxLength: 255 },
    example: '5f2b1c9e-1f0a-4c59-9d8d-6f4f6a0b7d21',
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      '`ETag` of what was read: the change is refused with `precondition_failed` where it is another by now.',
    schema: text,
    example: '"7c1f"',
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description:
      '`ETag` of what is held: answered with 304 while it is current. On a PUT `*` makes what is not there.',
    schema: text,
    example: '"7c1f"',
  },
} as const;
/** Reply headers by name. */
export const HEADERS = {
  RequestId: { description: 'The `X-Request-Id` of the request, or the one made for it.', schema: text },
  Version: { description: 'Version of the service.', schema: text },
  RateLimitPolicy: {
    description:
      'Writes that others hear of: `"writes";q=30;w=10` is 30 at once and in 10 s. Commands that may be refused: `"refusals";q=60;w=60`, and 300 for an API key (draft-ietf-httpapi-ratelimit-headers).',
    schema: text,
  },
  RateLimit: {
    description: 'How many of each are left (`r`), and seconds until all are again (`t`).',
    schema: text,
  },
  ETag: { description: 'Version of what was sent, for `If-Match` and `If-None-Match`.', schema: text },
  Location: { description: 'Address of what was made.', schema: text },
  RetryAfter: {
    description: 'Seconds after which the request can be sent again.',
    schema: { type: 'integer', minimum: 1, maximum: 86_400 },
  },
  IdempotencyReplayed: { description: '`true` where an earlier result is sent again.', schema: text },
} as const;

export interface Reference {
  readonly $ref: string;
}
const parameter = (name: keyof typeof PARAMETERS): Reference => ({ $ref: `#/components/parameters/${name}` });
const header = (name: keyof typeof HEADERS): Reference => ({ $ref: `#/components/headers/${name}` });
const EVERYWHERE = {
  'X-Request-Id': header('RequestId'),
  'Offhook-Version': header('Version'),
  'RateLimit-Policy': header('RateLimitPolicy'),
  RateLimit: header('RateLimit'),
};

/**
 * True for operations that read `Idempotency-Key`. Excluded are file uploads, which a repeat does not change,
 * and bodies with a password: a stored digest would be a fast password check, and the reply belongs to one
 * session.
 */
export const isRepeatable = (method: string, path: string, config: FastifyContextConfig): boolean =>
  method === 'POST' && path.startsWith('/api/v1/') && !isFileBody(config.body) && config.proves !== true;

export function headerParameters(method: string, path: string, config: FastifyContextConfig): Reference[] {
  return [
    parameter('RequestId'),
    parameter('AcceptLanguage'),
    parameter('AppLanguage'),
    ...(isRepeatable(method, path, config) ? [parameter('IdempotencyKey')] : []),
    ...(config.etag === 'match' || config.etag === 'replace' ? [parameter('IfMatch')] : []),
    ...(config.etag === 'held' || config.etag === 'replace' ? [parameter('IfNoneMatch')] : []),
  ];
}
export function replyHeaders(
  status: number,
  {
    method,
    path,
    config,
    retries,
  }: { method: string; path: string; config: FastifyContextConfig; retries: boolean },
): Record<string, Reference> {
  const good = status < 300;
  return {
    ...EVERYWHERE,
    ...(good && config.etag !== undefined && method !== 'DELETE' ? { ETag: header('ETag') } : {}),
    ...(status === 201 ? { Location: header('Location') } : {}),
    ...(good && isRepeatable(method, path, config)
      ? { 'Idempotency-Replayed': header('IdempotencyReplayed') }
      : {}),
    ...(retries ? { 'Retry-After': header('RetryAfter') } : {}),
  };
}
