import { z } from 'zod';
import { area } from '../operation.ts';

/** A JSON-RPC message; the Model Context Protocol defines its content. */
const McpMessage = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string().max(256), z.int()]).optional(),
  method: z.string().max(128).optional(),
  params: z.record(z.string(), z.unknown()).optional(),
});
const McpAnswer = z.looseObject({ jsonrpc: z.literal('2.0'), id: z.union([z.string(), z.int()]) });
/** Of a message that the protocol does not allow, with the reason in `error`. */
const McpRefusal = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]).nullable(),
  error: z.looseObject({ code: z.int(), message: z.string() }),
});

export const mcp = area('mcp', {
  message: {
    method: 'POST',
    path: '/mcp',
    audit: 'mcp.confirmed',
    level: 'user',
    scope: 'mcp:read',
    body: McpMessage,
    produces: ['application/json', 'text/event-stream'],
    others: {
      200: McpAnswer.describe('The answer to a request.'),
      202: z.null().describe('A notification, which has no answer.'),
      400: McpRefusal,
      406: McpRefusal.describe('`Accept` must name `application/json` and `text/event-stream`.'),
    },
    errors: ['forbidden', 'too_many_requests', 'overloaded'],
    summary: 'One message of the Model Context Protocol (Streamable HTTP)',
    description:
      'Revision 2026-07-28, and 2025-11-25 and older without sessions. Tools are operations of this document; see /docs/mcp.md of the repository.',
  },
});
