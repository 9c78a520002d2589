import dgram from 'node:dgram';
import { once } from 'node:events';
import {
  formatMessage,
  header,
  headersNamed,
  methodOf,
  parseMessage,
} from '../server/src/adapters/asterisk/phone/message.ts';
import { randomTag } from '../server/src/adapters/asterisk/phone/transport.ts';

/**
 * The far side of a trunk: answers OPTIONS and is busy for every call. Returns its address and a function to close it.
 */
export async function openBusyFarSide(host: string): Promise<{
  readonly host: string;
  readonly port: number;
  close(): void;
}> {
  const socket = dgram.createSocket('udp4');
  socket.bind(0, host);
  await once(socket, 'listening');
  socket.on('message', (data, from) => {
    const request = parseMessage(data);
    if (request === undefined) return;
    const start = { OPTIONS: 'SIP/2.0 200 OK', INVITE: 'SIP/2.0 486 Busy Here' }[methodOf(request)];
    if (start === undefined) return;
    const same = ['from', 'call-id', 'cseq'].map((name) => [name, header(request, name)] as const);
    const to = ['to', `${header(request, 'to')};tag=${randomTag()}`] as const;
    const via = headersNamed(request, 'via').map((value) => ['via', value] as const);
    socket.send(formatMessage({ start, headers: [...via, ...same, to], body: '' }), from.port, from.address);
  });
  return { host, port: socket.address().port, close: () => socket.close() };
}
