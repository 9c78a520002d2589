/** The network between a page and its service; a test can cut it. */
import { once } from 'node:events';
import net from 'node:net';

type Cut = 'both' | 'to page' | 'to service';
export interface Wire extends AsyncDisposable {
  readonly base: string;
  /** From now on, drops all data in both directions or one of them, silently. */
  cut(what?: Cut): void;
  /**
   * New connections work. Cut ones stay silent, as after a change of address or firewall: TCP ends them after a quarter
   * of an hour.
   */
  mend(): void;
}
/** Forwards every connection to `base`, an address of this machine. */
export async function startWire(base: string): Promise<Wire> {
  const { hostname, port } = new URL(base);
  const ends = new Map<net.Socket, Cut>();
  let cut: Cut | null = null;
  const stops = (way: Cut): boolean => cut === 'both' || cut === way;
  const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (near) => {
    const far = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    for (const [from, to, way] of [
      [near, far, 'to service'],
      [far, near, 'to page'],
    ] as const) {
      ends.set(from, way);
      from.on('data', (chunk: Buffer) => to.write(chunk));
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => ends.delete(from));
      if (stops(way)) from.pause();
      else from.resume();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    base: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    cut(what = 'both') {
      cut = what;
      for (const [end, way] of ends) if (stops(way)) end.pause();
    },
    mend() {
      cut = null;
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends.keys()) end.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
