import dgram from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';

const HOST = '127.0.0.1';

/** True if UDP and TCP of this loopback port are free. */
async function isFree(port: number): Promise<boolean> {
  const udp = dgram.createSocket('udp4');
  const tcp = net.createServer();
  try {
    udp.bind({ port, address: HOST, exclusive: true });
    await once(udp, 'listening');
    tcp.listen({ port, host: HOST, exclusive: true });
    await once(tcp, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    udp.close();
    tcp.close();
  }
}

// Below the system's range for outgoing connections.
const [LOWEST, BLOCKS, BLOCK] = [15_000, 24, 600];
let block: Promise<number> | undefined;
let next = 0;

/**
 * Reserves a block of ports for this process by listening on the block's guard port, so that parallel test files never
 * get the same port between check and use.
 */
async function takeBlock(): Promise<number> {
  const from = Math.floor(Math.random() * BLOCKS);
  for (let i = 0; i < BLOCKS; i += 1) {
    const number = (from + i) % BLOCKS;
    const guard = net.createServer();
    const first = LOWEST + number * BLOCK;
    try {
      guard.listen({ port: LOWEST - BLOCKS + number, host: HOST, exclusive: true });
      await once(guard, 'listening');
      guard.unref();
      return first;
    } catch {
      // Another test file has this block.
    }
  }
  throw new Error(`all ${BLOCKS} blocks of ports are taken by other test files`);
}

/** The first of `count` consecutive loopback ports that are free for UDP and TCP; even, as media ports must be. */
export async function freeRange(count: number): Promise<number> {
  const start = await (block ??= takeBlock());
  for (let tries = 0; tries < BLOCK; tries += 1) {
    next += next % 2;
    if (next + count > BLOCK) next = 0;
    const first = start + next;
    next += count;
    const free = await Promise.all(Array.from({ length: count }, (_, i) => isFree(first + i)));
    if (free.every(Boolean)) return first;
  }
  throw new Error(`no ${count} free ports in a row were found in the block at ${start}`);
}

/** A loopback port that is free for UDP and TCP. */
export const freePort = (): Promise<number> => freeRange(1);

/** Loopback ports for an engine's manager interface and WebSocket, which no other test takes before it starts. */
export const enginePorts = async (): Promise<{ readonly ami_port: number; readonly http_port: number }> => ({
  ami_port: await freePort(),
  http_port: await freePort(),
});
