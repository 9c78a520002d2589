/** A phone that registers once, by SIP over TLS or over a secure WebSocket, from an address of its own network. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { digestAnswer } from '../server/src/adapters/asterisk/phone/digest.ts';
import {
  formatMessage,
  header,
  parseMessage,
  statusOf,
} from '../server/src/adapters/asterisk/phone/message.ts';
import type { SipMessage } from '../server/src/adapters/asterisk/phone/message.ts';
import { randomTag } from '../server/src/adapters/asterisk/phone/transport.ts';

export interface RegisteringPhone {
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  readonly over: 'tls' | 'wss';
  /** Own loopback address; the service limits new connections of one network. */
  readonly from: string;
  readonly username: string;
  readonly password: string;
}
const LATE_MS = 60_000;
const BLANK = '\r\n\r\n';
const SHORT = 125;

/** A frame with the mask 0, which leaves its payload as it is. */
function frameOf(text: string): Buffer {
  const payload = Buffer.from(text);
  const head =
    payload.length <= SHORT
      ? Buffer.from([0x81, 0x80 | payload.length])
      : Buffer.from([0x81, 0x80 | 126, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([head, Buffer.alloc(4), payload]);
}
/** The payload of the first frame, and what follows it; null while it is incomplete. */
function unframe(data: Buffer): { readonly text: string; readonly rest: Buffer } | null {
  if (data.length < 2) return null;
  const long = data[1] === 126;
  const from = long ? 4 : 2;
  if (data.length < from) return null;
  const length = long ? data.readUInt16BE(2) : data[1]!;
  if (data.length < from + length) return null;
  return { text: data.toString('utf8', from, from + length), rest: data.subarray(from + length) };
}
/** The first message of a stream: beside answers the engine sends OPTIONS and NOTIFY, at times before the answer. */
function unstream(data: Buffer): { readonly text: string; readonly rest: Buffer } | null {
  const blank = data.indexOf(BLANK);
  if (blank < 0) return null;
  const length = Number(/^content-length *: *(\d+)/im.exec(data.toString('latin1', 0, blank))?.[1] ?? 0);
  const end = blank + BLANK.length + length;
  return data.length < end ? null : { text: data.toString('utf8', 0, end), rest: data.subarray(end) };
}

/** Pauses of a phone after a 503 or a closed connection: each is twice the one before, as real phones do it. */
const PAUSE = { first_ms: 500, most_ms: 8_000 } as const;

export interface Registered extends Pick<RegisteringPhone, 'over'> {
  /** From the start of the first connection to the answer, with all pauses. */
  readonly ms: number;
  /** Number of repeats, after a 503 or over a new connection. */
  readonly again: number;
  readonly cut: () => void;
}
/** The server closed a connection or accepted none. */
class Cut extends Error {}
interface Connection {
  readonly here: string;
  /** Sends a request and returns its answer. */
  readonly ask: (text: Buffer, cseq: string) => Promise<SipMessage>;
  readonly cut: () => void;
}
async function connect(o: RegisteringPhone): Promise<Connection> {
  const { host, port, ca, from: localAddress } = o;
  // The types of `tls.connect` lack `localAddress`, which it passes on to `net.connect`.
  const options: tls.ConnectionOptions & { localAddress: string } = { host, port, ca, localAddress };
  const socket = tls.connect(options);
  socket.setTimeout(LATE_MS, () => socket.destroy(new Error(`${o.username}: no answer over ${o.over}`)));
  let data: Buffer = Buffer.alloc(0);
  let wake = (): void => undefined;
  socket.on('data', (chunk: Buffer) => {
    data = Buffer.concat([data, chunk]);
    wake();
  });
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined);
  socket.on('error', (error: NodeJS.ErrnoException) =>
    ended.reject(
      error.code === 'ECONNRESET' || error.code === 'ECONNREFUSED' ? new Cut(error.message) : error,
    ),
  );
  socket.on('close', () => ended.reject(new Cut('the connection was closed')));
  async function next(read: (data: Buffer) => { text: string; rest: Buffer } | null): Promise<string> {
    for (;;) {
      const found = read(data);
      if (found !== null) {
        data = found.rest;
        return found.text;
      }
      await Promise.race([new Promise<void>((resolve) => (wake = resolve)), ended.promise]);
    }
  }
  await Promise.race([once(socket, 'secureConnect'), ended.promise]);
  const web = o.over === 'wss';
  if (web) {
    socket.write(
      [
        'GET /ws HTTP/1.1',
        `Host: ${o.host}:${o.port}`,
        'Upgrade: websocket',
        'Connection: Upgrade',
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Protocol: sip',
        BLANK,
      ]
        .join('\r\n')
        .replace(/(\r\n){3,}$/, BLANK),
    );
    const answer = await next(unstream);
    if (answer.startsWith('HTTP/1.1 503 ')) throw new Cut('HTTP 503');
    if (!answer.startsWith('HTTP/1.1 101 ')) throw new Error(`${o.username}: ${answer.split('\r\n', 1)[0]}`);
  }
  return {
    here: web ? `${randomTag()}.invalid` : `${socket.localAddress}:${socket.localPort}`,
    async ask(request, cseq) {
      socket.write(web ? frameOf(request.toString()) : request);
      for (;;) {
        const message = parseMessage(Buffer.from(await next(web ? unframe : unstream)));
        if (message !== undefined && header(message, 'cseq') === cseq) return message;
      }
    },
    cut: () => void socket.destroy(),
  };
}
/**
 * Connects and registers; after 503 or a closed connection it waits and repeats, as RFC 3261 (21.5.4) requires, for a
 * minute.
 */
export async function register(o: RegisteringPhone): Promise<Registered> {
  const began = performance.now();
  const deadline = began + LATE_MS;
  const { username, password } = o;
  const web = o.over === 'wss';
  const address = `<sip:${username}@${o.host}>`;
  const [callId, tag, uri] = [randomTag(), randomTag(), `sip:${o.host}`];
  let cseq = 0;
  function ask({ here, ask: send }: Connection, proof: string | null): Promise<SipMessage> {
    cseq++;
    const text = formatMessage({
      start: `REGISTER ${uri} SIP/2.0`,
      headers: [
        ['via', `SIP/2.0/${web ? 'WSS' : 'TLS'} ${here};rport;branch=z9hG4bK${randomTag()}`],
        ['max-forwards', '70'],
        ['from', `${address};tag=${tag}`],
        ['to', address],
        ['call-id', callId],
        ['cseq', `${cseq} REGISTER`],
        ['contact', `<sip:${username}@${here};transport=${web ? 'ws' : 'tls'}>`],
        ['expires', '600'],
        ...(proof === null ? [] : ([['authorization', proof]] as const)),
      ],
      body: '',
    });
    return send(text, `${cseq} REGISTER`);
  }
  /** The last answer: 503, or the answer of the server to the right password. */
  async function attempt(connection: Connection): Promise<SipMessage> {
    const first = await ask(connection, null);
    if (statusOf(first) !== 401) return first;
    const challenge = header(first, 'www-authenticate');
    return ask(connection, digestAnswer(challenge, { method: 'REGISTER', uri, username, password }));
  }
  let connection: Connection | null = null;
  for (let again = 0; ; again++) {
    let wait = Math.min(PAUSE.first_ms * 2 ** again, PAUSE.most_ms);
    let reason = '';
    try {
      connection ??= await connect(o);
      const answer = await attempt(connection);
      const { cut } = connection;
      if (statusOf(answer) === 200) return { over: o.over, ms: performance.now() - began, again, cut };
      reason = answer.start;
      if (statusOf(answer) !== 503) throw new Error(`${username}: ${reason}`);
      wait = Math.max(wait, Number.parseInt(header(answer, 'retry-after'), 10) * 1_000 || 0);
    } catch (error) {
      connection?.cut();
      connection = null;
      if (!(error instanceof Cut)) throw error;
      reason = error.message;
    }
    if (performance.now() + wait > deadline) {
      connection?.cut();
      throw new Error(`${username}: not registered in ${LATE_MS / 1_000} s: ${reason}`);
    }
    await sleep(wait);
  }
}
