/** docs/api-keys.md: how a machine signs in and what each scope allows, generated from the routes and the rights. */
import { CONFIG_KINDS } from '@offhook/contract/config-objects.ts';
import { SCOPES } from '@offhook/contract/keys.ts';
import { topicsOfType } from '../server/src/rights/topics.ts';
import { EVENT_TYPES } from '../server/src/http/asyncapi.ts';
import { scopeOf } from '../server/src/rights/rights.ts';

interface Routes {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly 'x-scope'?: string }>>>>;
}
const KINDS = new RegExp(
  `^/api/v1/config/(?:${Object.values(CONFIG_KINDS)
    .map(({ path }) => path)
    .join('|')})(?=/|$)`,
);
/** The OpenAPI document contains the scope of each route. */
export function apiKeysDocument(openapi: Routes): string {
  const routes = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `\`${method.toUpperCase()} ${path.replace(KINDS, '/api/v1/config/{kind}')}\``,
      scope: operation['x-scope'],
    })),
  );
  const topics = new Set(EVENT_TYPES.flatMap((type) => topicsOfType(type)));
  const rows = SCOPES.map((scope) => {
    const opened = [...new Set(routes.filter((route) => route.scope === scope).map(({ name }) => name))];
    const heard = [...topics].filter((topic) => !topic.includes('{') && scopeOf(topic) === scope);
    return `| \`${scope}\` | ${opened.join(' ')} | ${heard.map((topic) => `\`${topic}\``).join(' ')} |`;
  });
  const any = routes.filter(({ scope }) => scope === 'any').map(({ name }) => name);
  return `# API keys

How a machine signs in: a key with just the scopes it needs. Only administrators make, change and revoke keys, signed in as themselves; supervisors make those of displays.

\`\`\`sh
curl -s http://127.0.0.1:8080/api/v1/api-keys -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"name":"wallboard","scopes":["queues:read","agents:read"],"queues":["sales"]}'
\`\`\`

The answer holds the \`key\` (\`ohk_…\`), shown this once. It goes where a token goes:

\`\`\`sh
curl -s http://127.0.0.1:8080/api/v1/queues -H "Authorization: Bearer $KEY"
curl -sN 'http://127.0.0.1:8080/api/v1/events?topics=queues,agents&snapshot=true' -H "Authorization: Bearer $KEY"
\`\`\`

A WebSocket that can send headers opens with the key too; a browser asks \`POST /api/v1/stream/ticket\` first, with its key kept on a server of yours. In the SDK: \`createClient({ base, token: key })\`.

- **Objects**: \`queues\` and \`extensions\` narrow every scope to those; left out or \`null\` they are all.
- A key has no person and no extension, so \`calls/mine\` and \`history/mine\` are not available to it.
- **Displays**: a supervisor makes a key for a display on the wall, \`POST /api/v1/boards/<id>/display-keys\`. It reads that board, and of its queues and the agents who may work in them what is shown there, by REST, stream and replay alike: callers without names and with the last three digits of their numbers (\`•••678\`; whole where \`caller_numbers\` of the board is \`full\`, nothing at all where callers are no part of it), agents with no other queue and no call of one (\`queue\`, \`call_id\` and \`offer_id\` are null or empty), figures of today, none of single agents. It follows when the board shows something else, and ends with the board.
- **Expiry**: \`expires_at\`, RFC 3339, with an offset. A change or a revocation (\`PATCH\`, \`DELETE /api/v1/api-keys/<id>\`) closes its streams.

| Scope | Routes | Topics |
|---|---|---|
${rows.join('\n')}

Any key may ask ${any.join(', ')}, and receives the topics of its scopes. Routes without a scope here are not available to API keys; \`x-scope\` in the OpenAPI document gives the scope of each route. A command on the stream needs the scope of its route.
`;
}
