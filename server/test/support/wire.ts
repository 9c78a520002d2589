/** The network between a page and its service, which a test can cut. */
import { once } from 'node:events';
import net from 'node:net';

export interface Wire extends AsyncDisposable {
  readonly base: string;
  /** From now on nothing arrives, in either direction, and nothing says so. */
  cut(): void;
  /**
   * New connections work. Those that were cut stay silent for good, as where an address or a firewall changed: TCP gives them
   * up after a quarter of an hour.
   */
  mend(): void;
}
/** Forwards every connection to `base`, an address of this machine. */
export async function startWire(base: string): Promise<Wire> {
  const { hostname, port } = new URL(base);
  const ends = new Set<net.Socket>();
  let isCut = false;
  const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (near) => {
    const far = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(from);
      from.on('data', (chunk: Buffer) => to.write(chunk));
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => ends.delete(from));
      if (isCut) from.pause();
      else from.resume();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    base: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    cut() {
      isCut = true;
      for (const end of ends) end.pause();
    },
    mend() {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends) end.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
