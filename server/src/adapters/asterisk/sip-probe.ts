/** Checks over UDP, as a phone would, whether the engine answers SIP. */
import { randomBytes } from 'node:crypto';
import dgram from 'node:dgram';
import { isIPv6 } from 'node:net';
import { bracketed } from '../../core/networks.ts';

const REPEAT_MS = 500;
/** Loopback address for each wildcard address. */
const REACHED: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/**
 * Sends OPTIONS, repeats it as SIP does, and resolves with the status of the answer. Any status proves that SIP works; an
 * unknown account receives 401. Without an account it sends the BYE of an unknown dialog, which no engine counts as refused. Throws
 * without an answer within `ms`, and when the socket cannot be opened.
 */
export async function askSip(
  to: { readonly host: string; readonly port: number },
  account: string | null,
  ms: number,
): Promise<number> {
  const host = REACHED[to.host] ?? to.host;
  const six = isIPv6(host);
  const socket = dgram.createSocket(six ? 'udp6' : 'udp4');
  const answered = Promise.withResolvers<number>();
  const timers: NodeJS.Timeout[] = [];
  try {
    socket.once('error', answered.reject);
    const connected = new Promise<void>((resolve) => socket.connect(to.port, host, resolve));
    // A socket that cannot be opened, e.g. without a free descriptor, emits its error and is never connected.
    await Promise.race([connected, answered.promise]);
    const { address, port } = socket.address();
    const id = randomBytes(8).toString('hex');
    const method = account === null ? 'BYE' : 'OPTIONS';
    const message = [
      `${method} sip:${bracketed(host)}:${to.port} SIP/2.0`,
      `Via: SIP/2.0/UDP ${bracketed(address)}:${port};rport;branch=z9hG4bK${id}`,
      'Max-Forwards: 1',
      `From: <sip:${account ?? 'nobody'}@${bracketed(address)}>;tag=${id}`,
      `To: <sip:${bracketed(host)}:${to.port}>${account === null ? ';tag=none' : ''}`,
      `Call-ID: ${id}`,
      `CSeq: 1 ${method}`,
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n');
    socket.on('message', (data) => {
      const text = data.toString('latin1');
      const status = /^SIP\/2\.0 ([2-6]\d\d) /.exec(text)?.[1];
      if (status !== undefined && text.includes(id)) answered.resolve(Number(status));
    });
    // A connected socket reports a closed port as an error, which fails the check at once.
    for (let at = 0; at < ms; at += REPEAT_MS)
      timers.push(setTimeout(() => socket.send(message, () => {}), at));
    timers.push(setTimeout(() => answered.reject(new Error(`no answer in ${ms / 1000} s`)), ms));
    return await answered.promise;
  } finally {
    for (const timer of timers) clearTimeout(timer);
    socket.on('error', () => {});
    socket.close();
  }
}
