import net from 'node:net';
import type { stream } from '@offhook/contract/operations/stream.ts';
import { CLOSE_CODES, STREAM_PROTOCOL } from '@offhook/contract/stream.ts';
import { ServiceError } from '../core/errors.ts';
import { languageOf } from '../core/words.ts';
import { acceptOf, closeFrame, isHandshake } from '../websocket/frames.ts';
import type { Handler } from '../ports/operations.ts';
import { admitted } from './clients.ts';
import { Connection } from './connection.ts';
import type { Parts } from './parts.ts';
import type { RemoteTickets } from './tickets.ts';

const KEEP_ALIVE_MS = 30_000;

/** `GET /api/v1/stream`: the event stream and commands, over one WebSocket. */
export function webSocketHandler(
  parts: Parts,
  tickets: Pick<RemoteTickets, 'redeem'>,
  closing: () => boolean,
): Handler<typeof stream.socket> {
  const { clients } = parts;
  return async ({ request, reply }, { query: { ticket } }) => {
    const { upgrade: asked } = request;
    if (asked === null) {
      reply.header('upgrade', 'websocket').header('connection', 'Upgrade');
      throw new ServiceError('upgrade_required', 'this path accepts only WebSocket: send an upgrade request');
    }
    const { headers } = request.raw;
    const key = headers['sec-websocket-key'];
    if (!isHandshake(headers) || key === undefined) {
      reply.header('sec-websocket-version', '13');
      throw new ServiceError(
        'invalid_request',
        'the WebSocket handshake is not valid; it needs Sec-WebSocket-Version 13 and a Sec-WebSocket-Key',
      );
    }
    const found = ticket === undefined ? request.caller : await tickets.redeem(ticket);
    const caller = found === null ? null : clients.fresh(found);
    if (caller === null) {
      const detail =
        ticket === undefined
          ? 'sign in first'
          : 'ticket: unknown, already used or older than 30 seconds; request a new one';
      throw new ServiceError('not_authenticated', detail);
    }
    admitted(parts, caller, [], closing);
    const known = offered(headers['sec-websocket-protocol']).includes(STREAM_PROTOCOL);
    reply.hijack();
    const socket = asked.take();
    if (socket instanceof net.Socket) {
      socket.setTimeout(0);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
    }
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${acceptOf(key)}\r\n` +
        `${known ? `Sec-WebSocket-Protocol: ${STREAM_PROTOCOL}\r\n` : ''}\r\n`,
    );
    if (known)
      new Connection({ ...parts, language: languageOf(headers) }, socket, caller, request.ip).open(
        asked.head,
      );
    else {
      socket.resume();
      socket.end(closeFrame(CLOSE_CODES.protocol_unknown, `the sub-protocol here is ${STREAM_PROTOCOL}`));
      setTimeout(() => socket.destroy(), 1_000).unref();
    }
    return reply;
  };
}
const offered = (header: string | undefined): string[] => header?.split(',').map((name) => name.trim()) ?? [];
