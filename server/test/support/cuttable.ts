import dgram from 'node:dgram';
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

/** A way to a UDP server that loses all packets between `cut` and `mend`, as in a tunnel. */
export interface CuttableDatagrams extends AsyncDisposable {
  readonly at: { readonly host: string; readonly port: number };
  cut(): void;
  mend(): void;
}
/** Relays the packets of one client of the server. */
export async function cuttableDatagrams(server: {
  readonly host: string;
  readonly port: number;
}): Promise<CuttableDatagrams> {
  const [near, far] = [dgram.createSocket('udp4'), dgram.createSocket('udp4')];
  let client: dgram.RemoteInfo | null = null;
  let isCut = false;
  near.on('message', (data, from) => {
    client = from;
    if (!isCut) far.send(data, server.port, server.host);
  });
  far.on('message', (data) => {
    if (!isCut && client !== null) near.send(data, client.port, client.address);
  });
  for (const socket of [near, far]) {
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
  }
  return {
    at: { host: '127.0.0.1', port: near.address().port },
    cut: () => void (isCut = true),
    mend: () => void (isCut = false),
    async [Symbol.asyncDispose]() {
      for (const socket of [near, far]) {
        socket.close();
        await once(socket, 'close');
      }
    },
  };
}
