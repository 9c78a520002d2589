import { z } from 'zod';
import { area } from '../operation.ts';

/** A JSON-RPC message; the Model Context Protocol defines its content. */
const McpMessage = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string().max(256), z.int()]).optional(),
  method: z.string().max(128).optional(),
  params: z.record(z.string(), z.unknown()).optional(),
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
    errors: ['forbidden', 'too_many_requests', 'overloaded'],
    summary: 'One message of the Model Context Protocol (Streamable HTTP)',
    description:
      'Revision 2026-07-28, and 2025-11-25 and older without sessions. Tools are operations of this document; see /docs/mcp.md of the repository.',
  },
});
