import { mcp as operations } from '@offhook/contract/operations/mcp.ts';
import { ServiceError } from '../../core/errors.ts';
import { languageOf } from '../../core/words.ts';
import type { App } from '../../ports/http.ts';
import type { Served } from '../../ports/operations.ts';
import type { Mcp } from './service.ts';

const READ = ['accept', 'content-type', 'mcp-method', 'mcp-name', 'mcp-protocol-version', 'user-agent'];

/** The MCP endpoint. It refuses browser requests, except from the configured origins and the public address. */
export const mcpOperations = (
  mcp: Mcp,
  app: App,
  { corsOrigins, publicUrl }: { readonly corsOrigins: readonly string[]; readonly publicUrl: string },
): Served<typeof operations> => ({
  operations,
  handlers: {
    async message({ caller, request, reply }, { body }) {
      const { authorization, origin, host = '' } = request.headers;
      // After DNS rebinding, an attacker chooses the Host header, so the request's own origin proves nothing.
      if (origin !== undefined && origin !== publicUrl && !corsOrigins.includes(origin))
        throw new ServiceError(
          'foreign_origin',
          'Origin: this origin is not allowed; an administrator can add it to the allowed origins',
        );
      if (authorization === undefined)
        throw new ServiceError(
          'forbidden',
          'a cookie is not accepted here; send the API key or session as a bearer token',
        );
      const headers = Object.fromEntries(
        READ.flatMap((name) => {
          const value = request.headers[name];
          return typeof value === 'string' ? [[name, value]] : [];
        }),
      );
      const answer = await mcp.answer(app, {
        authorization,
        ip: request.ip,
        host,
        language: languageOf(request.headers),
        caller,
        headers,
        body,
      });
      for (const [name, value] of answer.headers) reply.header(name, value);
      return reply.header('cache-control', 'no-store').code(answer.status).send(answer.body);
    },
  },
});
