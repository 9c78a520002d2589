import net from 'node:net';
import { once } from 'node:events';

/** A way to a server that can be cut and can lose answers. */
export interface Cuttable extends AsyncDisposable {
  readonly url: string;
  /** The next request with this text reaches the server; its connection is cut instead of its answer. */
  loseAnswer(request: string): void;
  /** Nothing goes either way, without an end of the connections, until `mend` closes them. */
  cut(): void;
  mend(): void;
}

/** Relays TCP between clients and the server of `url`. */
export async function cuttable(url: string): Promise<Cuttable> {
  const target = new URL(url);
  const open = new Set<net.Socket>();
  let losing: string | null = null;
  let isCut = false;
  const relay = net.createServer((client) => {
    const server = net.connect(Number(target.port), target.hostname);
    let cuts = false;
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        server.destroy();
      });
      socket.on('error', () => {});
    }
    client.on('data', (chunk: Buffer) => {
      if (isCut) return;
      if (losing !== null && chunk.includes(losing)) {
        cuts = true;
        losing = null;
      }
      server.write(chunk);
    });
    // The server has committed once it answers.
    server.on('data', (chunk: Buffer) => {
      if (isCut) return;
      if (cuts) client.destroy();
      else client.write(chunk);
    });
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const own = new URL(url);
  own.host = `127.0.0.1:${(relay.address() as net.AddressInfo).port}`;
  return {
    url: own.href,
    loseAnswer: (request) => void (losing = request),
    cut: () => void (isCut = true),
    mend() {
      isCut = false;
      for (const socket of open) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      relay.close();
      await once(relay, 'close');
    },
  };
}
