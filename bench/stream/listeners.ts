/** Clients of the event stream of one node; only the first reports when its events arrive. */
import net from 'node:net';
import { STREAM_PROTOCOL } from '../../contract/stream.ts';
import { clientFrame, eachFrame, upgradeRequest } from './wire.ts';

const TEXT = 1;
const PING = 9;
const PONG = 10;
const EVENT = Buffer.from('{"op":"event"');
/** Connections opened at once: few, so that the kernel's backlog is never full. */
const AT_ONCE = 20;
const LATE_MS = 30_000;

export interface Listeners extends Disposable {
  /** Resolves with the time of the next event at the first client (`performance.now()`); call it before the event. */
  next(): Promise<number>;
  /** Resolves once every client has at least so many events. */
  received(events: number): Promise<void>;
}
export interface ListenOptions {
  readonly base: string;
  readonly token: string;
  readonly count: number;
}
interface Listener {
  readonly socket: net.Socket;
  events: number;
  readonly subscribed: Promise<void>;
}

function listen(port: number, token: string, onEvent: (at: number) => void): Listener {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
  const subscribed = Promise.withResolvers<void>();
  const listener: Listener = { socket, events: 0, subscribed: subscribed.promise };
  let rest: Buffer = Buffer.alloc(0);
  let upgraded = false;
  socket.write(
    upgradeRequest(port, '/api/v1/stream', {
      authorization: `Bearer ${token}`,
      'sec-websocket-protocol': STREAM_PROTOCOL,
    }),
  );
  socket.on('error', subscribed.reject);
  socket.on('close', () => subscribed.reject(new Error('the stream was closed')));
  socket.on('data', (chunk: Buffer) => {
    const now = performance.now();
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    if (!upgraded) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) return void (rest = bytes);
      const head = bytes.toString('latin1', 0, end);
      if (!head.startsWith('HTTP/1.1 101')) return subscribed.reject(new Error(head));
      upgraded = true;
      socket.write(clientFrame(JSON.stringify({ op: 'subscribe', id: 1, topics: ['agents'] })));
      bytes = bytes.subarray(end + 4);
    }
    const read = eachFrame(bytes, bytes.length, (opcode, from, to) => {
      if (opcode === PING) socket.write(clientFrame(bytes.toString('utf8', from, to), PONG));
      if (opcode !== TEXT) return;
      if (bytes.subarray(from, from + EVENT.length).equals(EVENT)) {
        listener.events += 1;
        onEvent(now);
      } else if (bytes.includes('"op":"subscribed"', from)) subscribed.resolve();
    });
    rest = bytes.subarray(read);
  });
  return listener;
}
/** Resolves once all are subscribed to the agents of the site. */
export async function openListeners({ base, token, count }: ListenOptions): Promise<Listeners> {
  const port = Number(new URL(base).port);
  let wake: ((at: number) => void) | null = null;
  const all: Listener[] = [];
  while (all.length < count) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - all.length) }, (_, i) =>
      listen(port, token, all.length + i === 0 ? (at) => wake?.(at) : () => undefined),
    );
    all.push(...some);
    await Promise.all(some.map(({ subscribed }) => subscribed));
  }
  return {
    next: () => new Promise((resolve) => (wake = resolve)),
    async received(events) {
      const late = performance.now() + LATE_MS;
      while (all.some((one) => one.events < events)) {
        if (performance.now() > late) throw new Error('a client lacks events');
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    [Symbol.dispose]() {
      for (const { socket } of all) socket.destroy();
    },
  };
}
