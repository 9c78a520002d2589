import { z } from 'zod';
import { EventsQuery, PollQuery, PollReply, STREAM_PROTOCOL, Ticket } from '../stream.ts';
import { area } from '../operation.ts';

export const stream = area('stream', {
  ticket: {
    method: 'POST',
    path: '/api/v1/stream/ticket',
    level: 'user',
    scope: 'any',
    reply: Ticket,
    errors: ['too_many_requests'],
    summary: 'Ticket for one WebSocket upgrade within 30 seconds',
    description: 'For clients that cannot send a header with the upgrade: `/api/v1/stream?ticket=…`.',
  },
  socket: {
    method: 'GET',
    path: '/api/v1/stream',
    level: 'public',
    identify: true,
    query: z.object({ ticket: z.string().max(128).optional().describe('Of `POST /api/v1/stream/ticket`.') }),
    upgrade: true,
    errors: [
      'invalid_request',
      'token_in_url',
      'not_authenticated',
      'foreign_origin',
      'upgrade_required',
      'too_many_requests',
      'overloaded',
    ],
    summary: 'The event stream and commands, over one WebSocket',
    description: `Sub-protocol \`${STREAM_PROTOCOL}\`. Signs in with a bearer session or API key, a cookie from the same origin, or a ticket.`,
  },
  events: {
    method: 'GET',
    path: '/api/v1/events',
    level: 'user',
    scope: 'any',
    query: EventsQuery,
    errors: ['invalid_request', 'token_in_url', 'forbidden', 'too_many_requests', 'overloaded'],
    summary: 'The event stream as server-sent events',
    description:
      'Each message is an envelope with `id:` = seq; `event: snapshot`, `gap`, `resumed`, `reconnect` and `close` beside them. Resumes from `Last-Event-ID`.',
  },
  poll: {
    method: 'GET',
    path: '/api/v1/events/poll',
    level: 'user',
    scope: 'any',
    query: PollQuery,
    reply: PollReply,
    errors: [
      'invalid_request',
      'token_in_url',
      'forbidden',
      'too_many_requests',
      'store_unavailable',
      'overloaded',
    ],
    summary: 'The event stream by long poll',
    description:
      'Answers with the events after `cursor`, at once or when the first one comes, at the latest after `wait` seconds. Without a cursor it answers at once with the one to begin from.',
  },
});
export const sip = area('sip', {
  relay: {
    method: 'GET',
    path: '/ws',
    level: 'public',
    upgrade: true,
    errors: ['upgrade_required', 'invalid_request', 'foreign_origin', 'engine_unavailable', 'overloaded'],
    summary: 'SIP over WebSocket (RFC 7118), relayed to the engine',
    description:
      'Sub-protocol `sip`. Phones sign in with SIP digest and the `sip_password` of their session; without an accepted registration a connection is closed after 30 s (1008), and with its session it ends (4409).',
  },
});
