/** docs/api-keys.md: how a machine signs in and what each scope allows, generated from the routes and the rights. */
import { CONFIG_KINDS } from '@offhook/contract/config-objects.ts';
import { SCOPES } from '@offhook/contract/keys.ts';
import { topicsOfType } from '../server/src/rights/topics.ts';
import { EVENT_TYPES } from '../server/src/http/asyncapi-schemas.ts';
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

An API key is the credential of a machine and has only the scopes that the machine needs. Only administrators create, change and revoke keys, with their own session; supervisors create the keys of displays.

\`\`\`sh
curl -s http://127.0.0.1:8080/api/v1/api-keys -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"name":"wallboard","scopes":["queues:read","agents:read"],"queues":["sales"]}'
\`\`\`

This needs a session that was signed in with a password or confirmed within the last five minutes; otherwise the answer is 403 \`confirmation_required\`. Confirm the session, with \`otp\` too if the second factor is on, and repeat the request:

\`\`\`sh
curl -s http://127.0.0.1:8080/api/v1/session/confirm -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"password":"…"}'
\`\`\`

The answer of the first request has the \`key\` (\`ohk_…\`), which is shown only this once. A request carries it in place of a token:

\`\`\`sh
curl -s http://127.0.0.1:8080/api/v1/queues -H "Authorization: Bearer $KEY"
curl -sN 'http://127.0.0.1:8080/api/v1/events?topics=queues,agents&snapshot=true' -H "Authorization: Bearer $KEY"
\`\`\`

A client that can send headers opens a WebSocket with the key, too; a browser calls \`POST /api/v1/stream/ticket\` first, through a server of yours that keeps the key. In the SDK: \`createClient({ base, token: key })\`.

- **Objects**: \`queues\` and \`extensions\` limit every scope to these objects; absent or \`null\` means all.
  - \`queues\` limits queues, their callbacks, and what agents show: a key limited to some queues receives no other queue of an agent and no call of one or outside the queues (\`queue\`, \`call_id\` and \`offer_id\` are null or empty), also in events and webhooks, and no figures of single agents, which count all their queues.
  - \`extensions\` limits the directory, agents, calls, recordings, and the history and callbacks of persons. Calls, recordings and history of an extension are complete, whichever queue a call came from. Therefore a key limited to some queues reaches only those of the extensions that it names: without \`extensions\` it cannot have a scope of \`calls\`, \`history\` or \`recordings\`. \`[]\` means no extension, e.g. for a key that handles the callbacks of its queues (\`history:read\`).
  - Parked calls and \`alerts\`, the phonebook and the configuration are available only to a key without a limit.
- A key has no person and no extension, so \`calls/mine\` and \`history/mine\` are not available to it.
- **Displays**: a supervisor creates a key for a display on the wall with \`POST /api/v1/boards/<id>/display-keys\`. The key reads this board and the shown data of its queues and of the agents who may work in them, by REST, stream and replay. Callers have no names and only the last three digits of their numbers (\`•••678\`; the whole number if \`caller_numbers\` of the board is \`full\`; no callers if they are not part of the board). Agents have no other queue and no call of one (\`queue\`, \`call_id\` and \`offer_id\` are null or empty). Figures are those of today, without figures of single agents. The key follows changes of the board and ends with the board.
- **Expiry**: \`expires_at\`, RFC 3339, with an offset. A change or a revocation (\`PATCH\`, \`DELETE /api/v1/api-keys/<id>\`) closes its streams.

| Scope | Routes | Topics |
|---|---|---|
${rows.join('\n')}

Any key may use ${any.join(', ')}, and receives the topics of its scopes. Routes without a scope here are not available to API keys; \`x-scope\` in the OpenAPI document gives the scope of each route. A command on the stream needs the scope of its route.
`;
}
