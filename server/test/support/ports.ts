import dgram from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';

const HOST = '127.0.0.1';

/** True while both UDP and TCP of this loopback port can be had. */
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

// Below the ports the system gives to clients, so that no outgoing connection takes one between here and its use.
const [LOWEST, HIGHEST] = [15_000, 32_000];
const random = (): number => LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));

/** A loopback port that is free for UDP and TCP. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 200; tries += 1) {
    const port = random();
    if (await isFree(port)) return port;
  }
  throw new Error('no free port was found on the loopback address');
}

/** The first of `count` ports in a row, all of which are free now. */
export async function freeRange(count: number): Promise<number> {
  for (let tries = 0; tries < 50; tries += 1) {
    const first = random() & ~1;
    const ports = Array.from({ length: count }, (_, i) => first + i);
    const free = await Promise.all(ports.map(isFree));
    if (free.every(Boolean)) return first;
  }
  throw new Error(`no ${count} free ports in a row were found on the loopback address`);
}
