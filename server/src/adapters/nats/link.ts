import { setTimeout as wait } from 'node:timers/promises';
import { connect as connectSocket, isIP } from 'node:net';
import { once } from 'node:events';
import { connect } from '@nats-io/transport-node';
import type { ConnectionOptions, NatsConnection, TlsOptions } from '@nats-io/transport-node';
import { Backoff } from '../../core/backoff.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { BusState } from '../../ports/bus.ts';

const CONNECT_MS = 2_000;
/** A server that did not answer two pings in a row is away. */
const PING_MS = 2_000;
const MOST_PINGS = 2;
const BACKOFF = { first_ms: 100, most_ms: 2_000, spread: [0.75, 1.25] } as const;
const PORT = 4222;

interface Server {
  readonly host: string;
  readonly port: number;
  readonly options: ConnectionOptions;
}
/** `urls`: addresses with credentials, separated by commas. */
function serversOf(urls: string): readonly Server[] {
  return urls.split(',').map((text) => {
    const { hostname, port, protocol, username, password } = new URL(text.trim());
    const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
    const own = user === '' ? {} : password === '' ? { token: user } : { user, pass };
    const host = hostname.replace(/^\[|\]$/g, '');
    const at = Number(port || PORT);
    // For an IP address the library would check the certificate against "localhost", so Node's TLS gets the host.
    const checked: TlsOptions & { host: string; servername?: string } = {
      host,
      ...(isIP(host) === 0 && { servername: host }),
    };
    const tls = protocol === 'tls:' ? { tls: checked } : {};
    return { host, port: at, options: { servers: `${hostname}:${at}`, ...own, ...tls } };
  });
}
/**
 * Rejects where no NATS server answers, or where it demands TLS that the address lacks. Called before the library,
 * which leaves a socket open for each attempt at a machine that hangs.
 */
async function assertSpeaks({ host, port, options }: Server, stop: AbortSignal): Promise<void> {
  const socket = connectSocket({ host, port });
  // `once` reports errors before the first data; later ones do not matter.
  socket.on('error', () => undefined);
  const late = AbortSignal.timeout(CONNECT_MS);
  try {
    const [first] = (await once(socket, 'data', { signal: AbortSignal.any([stop, late]) })) as [Buffer];
    const info = first.toString('latin1');
    if (!info.startsWith('INFO ')) throw new Error('the program at this address is not NATS');
    if (options.tls == null && info.includes('"tls_required":true'))
      throw new Error('the server demands TLS: use an address that begins with tls://');
  } catch (error) {
    if (late.aborted) throw new Error(`no answer in ${CONNECT_MS / 1000} s`, { cause: error });
    throw error;
  } finally {
    socket.destroy();
  }
}

export interface NatsLinkOptions {
  readonly urls: string;
  /** Name of this node in the lists of the server. */
  readonly name: string;
  readonly log: Log;
}
/** A connection to NATS that is made again whenever it ends. */
export class NatsLink {
  readonly #options: NatsLinkOptions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #began = new Set<(connection: NatsConnection) => void>();
  #connection: NatsConnection | null = null;
  #at = '';
  #fault = 'not connected yet';

  constructor(options: NatsLinkOptions) {
    this.#options = options;
    this.#running = this.#run();
  }
  /** Null while the server is away. */
  get connection(): NatsConnection | null {
    return this.#connection;
  }
  /** Called with each connection, before anything is sent by it. */
  onConnected(listener: (connection: NatsConnection) => void): void {
    this.#began.add(listener);
    if (this.#connection !== null) listener(this.#connection);
  }
  state(): BusState {
    const up = this.#connection !== null && this.#fault === '';
    return { up, detail: up ? `connected to ${this.#at}` : `${this.#at}: ${this.#fault}` };
  }
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#connection?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { log, urls } = this.#options;
    const servers = serversOf(urls);
    const backoff = new Backoff(BACKOFF);
    const { signal } = this.#stop;
    let said = '';
    for (let turn = 0; !signal.aborted; turn += 1) {
      const server = servers[turn % servers.length]!;
      this.#at = `${server.host}:${server.port}`;
      try {
        await this.#connect(server, () => {
          backoff.reset();
          said = '';
          log.info({ server: this.#at }, 'NATS is connected');
        });
        this.#fault = 'the connection ended';
      } catch (error) {
        this.#fault = messageOf(error);
      }
      if (signal.aborted) return;
      if (this.#fault !== said) log.warn({ server: this.#at, error: this.#fault }, 'NATS is not reachable');
      said = this.#fault;
      await wait(backoff.next(), undefined, { signal }).catch(() => undefined);
    }
  }
  /** Resolves once a connection has ended. */
  async #connect(server: Server, connected: () => void): Promise<void> {
    const { signal } = this.#stop;
    await assertSpeaks(server, signal);
    const connection = await connect({
      ...server.options,
      name: this.#options.name,
      reconnect: false,
      ignoreClusterUpdates: true,
      noEcho: true,
      timeout: CONNECT_MS,
      pingInterval: PING_MS,
      maxPingOut: MOST_PINGS,
    });
    if (signal.aborted) return await connection.close();
    this.#fault = '';
    this.#connection = connection;
    void this.#watch(connection);
    try {
      for (const listener of this.#began) listener(connection);
      connected();
      const error = await connection.closed();
      if (error instanceof Error) throw error;
    } finally {
      this.#connection = null;
      if (!connection.isClosed()) await connection.close();
    }
  }
  /** Keeps the newest error of the server, e.g. a refused subject, which health shows until the next connection. */
  async #watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type !== 'error' || this.#connection !== connection) continue;
      const fault = messageOf(status.error);
      if (fault !== this.#fault) this.#options.log.warn({ error: fault }, 'NATS refuses this node');
      this.#fault = fault;
    }
  }
}
