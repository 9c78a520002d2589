import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contractDocument } from '../../tools/contract-documents.ts';

type Json = { readonly [name: string]: Json } & {
  readonly $ref?: string;
  readonly writeOnly?: boolean;
  readonly 'x-confirmation'?: string;
};
/** Names of fields that contain secrets; `key` of a configuration object is a name. */
const SECRET = /^(?:secret|password|sip_password|recovery_codes|token|ticket)$/;
/** Operations with a secret that ask for a proof of their own. */
const OTHERWISE = new Map([
  ['post /api/auth/login', 'is the sign-in'],
  ['post /api/mobile/login.php', 'is the sign-in'],
  ['post /api/auth/code', 'is the sign-in'],
  ['post /api/v1/session/password', 'takes the password itself'],
  ['post /api/v1/session/confirm', 'takes the password itself'],
  ['post /api/v1/session/otp/disable', 'takes the password itself'],
  ['post /api/v1/session/otp/confirm', 'follows the one that takes the password'],
  ['post /api/v1/stream/ticket', 'opens one stream of the same session'],
  ['put /api/v1/session/push', 'takes the address of the own app, which opens nothing here'],
  ['post /api/v1/path-check/phone', 'gives minutes with an account that reaches nothing but an echo'],
]);
/** Operations without a secret that need a confirmation as well. */
const WEIGHTY = [
  'patch /api/v1/api-keys/{id}',
  'patch /api/v1/webhooks/{id}',
  'post /api/v1/api-keys',
  'post /api/v1/boards/{id}/display-keys',
  'post /api/v1/config/draft/changes',
  'post /api/v1/config/import',
  'post /api/v1/config/versions/{version}/restore',
  'post /api/v1/nodes/{name}/drain',
  'post /api/v1/nodes/{name}/switch',
  'post /api/v1/people/{extension}/otp/disable',
  'post /api/v1/privacy/erasures',
  'post /api/v1/webhooks/{id}/rotate-secret',
  'put /api/v1/settings/console',
  'put /api/v1/settings/webhooks',
];

function secretsIn(schemas: Json, root: Json | undefined): string[] {
  const found = new Set<string>();
  const seen = new Set<string>();
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const one = value as Json;
    const ref = one.$ref?.split('/').at(-1);
    if (ref !== undefined && !seen.has(ref) && ref !== 'Problem') {
      seen.add(ref);
      walk(schemas[ref]);
    }
    for (const [name, field] of Object.entries((one['properties'] ?? {}) as Record<string, Json>))
      if (field.writeOnly === true || SECRET.test(name)) found.add(name);
    for (const part of Object.values(one)) walk(part);
  };
  walk(root);
  return [...found];
}

test('confirmation - every operation that takes or shows a secret asks a session first, and so does what is of as much weight', async () => {
  const document = await contractDocument<{
    paths: Json;
    components: { schemas: Json; responses: Json };
  }>('openapi');
  const { schemas, responses } = document.components;
  const silent: string[] = [];
  const asks = new Map<string, string>();
  let holding = 0;
  for (const [route, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const name = `${method} ${route}`;
      const confirmation = operation['x-confirmation'];
      if (confirmation !== undefined) {
        asks.set(name, confirmation);
        const refusal = operation['responses']?.['403'];
        const shared = responses[refusal?.$ref?.split('/').at(-1) ?? ''];
        assert.match(JSON.stringify(shared ?? refusal ?? ''), /`confirmation_required`/, name);
      }
      if (method === 'get') continue;
      const replies = Object.entries(operation['responses'] ?? {}).filter(([status]) =>
        status.startsWith('2'),
      );
      const held = [operation['requestBody'], ...replies.map(([, reply]) => reply)].flatMap((part) =>
        secretsIn(schemas, part),
      );
      if (held.length === 0) continue;
      holding += 1;
      if (confirmation === undefined && !OTHERWISE.has(name)) silent.push(`${name}: ${held.join(', ')}`);
    }
  assert.deepEqual(silent, []);
  assert.ok(holding > 20, `only ${holding} operations hold a secret: is the document read rightly?`);
  assert.deepEqual(
    WEIGHTY.filter((name) => !asks.has(name)),
    [],
  );
});
