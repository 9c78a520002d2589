/** The part of the protocol of Redis (RESP 2) that the rows need. */
import { once } from 'node:events';
import net from 'node:net';

/** Stream of the logged events, and channel of the published ones. */
export const STREAM = 'events';
export const CHANNEL = 'presence';

export function command(...words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
/** One entry of a stream, with the sequence number of the event as its id. */
export const entry = (seq: number, json: string): string =>
  command('XADD', STREAM, `${seq}-0`, 'event', json);

const CR = 13;
/**
 * Calls `array` with the length of each array and `text` with the bounds of each string in `bytes`, `line` for each other
 * value, and returns the number of used bytes; the rest is the start of a value. Throws for an error of the server.
 */
export function eachValue(
  bytes: Buffer,
  end: number,
  array: (length: number) => void,
  text: (from: number, to: number) => void,
  line: () => void = () => undefined,
): number {
  let at = 0;
  while (at < end) {
    const stop = bytes.indexOf(CR, at);
    if (stop < 0 || stop + 2 > end) break;
    const kind = bytes[at];
    if (kind === 0x2d) throw new Error(bytes.toString('latin1', at, stop));
    const from = stop + 2;
    if (kind !== 0x24) {
      // `*`: an array; other kinds are a line.
      if (kind === 0x2a) array(Number(bytes.toString('latin1', at + 1, stop)));
      else line();
      at = from;
      continue;
    }
    const to = from + Number(bytes.toString('latin1', at + 1, stop));
    if (to + 2 > end) break;
    text(from, to);
    at = to + 2;
  }
  return at;
}

/** Writes to a message server without waiting for its answers. */
export async function openBare(port: number): Promise<net.Socket> {
  const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  return socket.resume();
}
export interface Redis {
  /** Sends these commands at once and resolves when all are answered; each has one answer of one line or one string. */
  send(commands: readonly string[]): Promise<void>;
  close(): void;
}
export async function openRedis(port: number): Promise<Redis> {
  const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  let waiting: { left: number; resolve: () => void; reject: (error: Error) => void } | null = null;
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let answers = 0;
    try {
      const used = eachValue(
        bytes,
        bytes.length,
        () => undefined,
        () => (answers += 1),
        () => (answers += 1),
      );
      rest = bytes.subarray(used);
    } catch (error) {
      return waiting?.reject(error as Error);
    }
    if (waiting === null) return;
    waiting.left -= answers;
    if (waiting.left === 0) waiting.resolve();
  });
  socket.on('error', (error) => waiting?.reject(error));
  return {
    async send(commands) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      waiting = { left: commands.length, resolve, reject };
      socket.write(commands.join(''));
      await promise;
      waiting = null;
    },
    close: () => socket.destroy(),
  };
}
