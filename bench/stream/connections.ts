/** Connections of the clients: opened until all are live, read into one shared buffer, and dropped. */
import net from 'node:net';
import { clients, fail, pending, setup } from './clients.ts';
import type { Client } from './clients.ts';
import { accepted, begin, readMessages } from './protocols.ts';
import { markArrival, totals } from './received.ts';

const MOST_MS = 120_000;
const END = Buffer.from('\r\n\r\n');
const shared = Buffer.allocUnsafe(1 << 18);
/** Reads the first bytes of the shared buffer, after the rest of the client's bytes before them. */
function take(client: Client, length: number): void {
  totals.bytes += length;
  let buffer = shared.subarray(0, length);
  if (client.rest !== null) {
    buffer = Buffer.concat([client.rest, buffer]);
    client.rest = null;
  }
  if (client.stage === 'handshake') {
    const head = buffer.indexOf(END);
    if (head < 0) {
      client.rest = Buffer.from(buffer);
      return;
    }
    const status = buffer.toString('latin1', 9, 12);
    if (status !== '101' && status !== '200') return fail(`${status}: ${buffer.toString('utf8')}`);
    buffer = buffer.subarray(head + END.length);
    accepted(client);
  }
  const used = readMessages(client, buffer);
  if (used < buffer.length) client.rest = Buffer.from(buffer.subarray(used));
}
function open(client: Client): void {
  client.stage = 'handshake';
  client.rest = null;
  client.newest = -1;
  const socket = net.connect({
    host: '127.0.0.1',
    port: setup.port,
    noDelay: true,
    onread: {
      buffer: shared,
      callback(length) {
        markArrival();
        take(client, length);
        pending.onReceived();
        return !client.frozen;
      },
    },
  });
  client.socket = socket;
  socket.once('connect', () => begin(client));
  socket.on('error', (error) => {
    if (client.stage !== 'gone' && !client.frozen) fail(`client ${client.n}: ${error.message}`);
  });
  socket.once('close', () => {
    if (client.socket !== socket || client.stage === 'gone') return;
    totals.closed += 1;
    client.stage = 'gone';
    if (!client.frozen) fail(`client ${client.n} was closed`);
  });
}
/** Opens all clients, at most `atOnce` in parallel, until all are live. Returns the seconds that it took. */
export async function openAll(atOnce: number): Promise<number> {
  const began = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const waiting = clients.values();
  let left = clients.length;
  if (left === 0) return 0;
  const next = (): void => {
    const { value } = waiting.next();
    if (value !== undefined) open(value);
  };
  const late = setTimeout(
    () => reject(new Error(`${left} of ${clients.length} clients were not live`)),
    MOST_MS,
  );
  pending.onLive = () => {
    if (pending.failure !== null) return reject(pending.failure);
    left -= 1;
    if (left === 0) resolve();
    else next();
  };
  for (let i = 0; i < atOnce; i++) next();
  try {
    await promise;
    return (performance.now() - began) / 1000;
  } finally {
    clearTimeout(late);
    pending.onLive = () => undefined;
  }
}
/** Closes all connections with a reset, because a closed port in TIME_WAIT could not be used in the next round. */
export function dropAll(): void {
  for (const client of clients) {
    client.stage = 'gone';
    client.socket.resetAndDestroy();
  }
}
