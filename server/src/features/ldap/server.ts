/** The LDAP port for desk phones, in clear text and with TLS; opened, changed and closed with the configuration. */
import net from 'node:net';
import tls from 'node:tls';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { networkOf } from '../../core/networks.ts';
import { Queue } from '../../core/queue.ts';
import { createRateLimit } from '../../core/rate-limit.ts';
import type { Clock } from '../../ports/clock.ts';
import { LdapConnection } from './connection.ts';
import type { Access } from './connection.ts';
import type { LdapSource } from './search.ts';

export interface LdapOptions {
  readonly source: LdapSource;
  readonly host: string;
  /** LDAP port in the applied configuration; null for none. */
  readonly port: () => number | null;
  /** Networks whose phones may sign in without TLS. */
  readonly plain: (ip: string) => boolean;
  /** Certificate and key in PEM; null if there is none. */
  readonly certificate: () => Promise<{ readonly cert: string; readonly key: string } | null>;
  /** True for the token of a phone and for an API key for the phonebook. */
  readonly knows: (token: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<LdapLimits>;
}
export interface LdapLimits {
  readonly connections: number;
  /** Limit of connections of one /32 or /64 network: a whole office may be behind one address. */
  readonly ofNetwork: number;
  readonly idleMs: number;
  /** Time from the opening of a connection to a successful bind. */
  readonly signInMs: number;
}
const LDAP_LIMITS: LdapLimits = { connections: 500, ofNetwork: 200, idleMs: 120_000, signInMs: 15_000 };
const AGAIN_MS = 10_000;
const WRONG = { burst: 30, per_second: 0.2 };
/** First byte of a TLS handshake; LDAP messages begin with 0x30. */
const HANDSHAKE = 0x16;

export class LdapServer {
  readonly #options: LdapOptions;
  readonly #limits: LdapLimits;
  readonly #wrong: ReturnType<typeof createRateLimit>;
  readonly #sockets = new Map<net.Socket, string>();
  #listener: { readonly port: number; readonly server: net.Server } | null = null;
  #trouble: string | null = null;
  #again: NodeJS.Timeout | null = null;
  readonly #moves = new Queue();
  #closed = false;

  constructor(options: LdapOptions) {
    this.#options = options;
    this.#limits = { ...LDAP_LIMITS, ...options.limits };
    this.#wrong = createRateLimit(options.clock, WRONG);
  }
  /** Call it after every change of the configuration. */
  follow(): Promise<void> {
    return this.#moves.run(() => this.#move());
  }
  finding(): { readonly ok: boolean; readonly detail: string } {
    if (this.#trouble !== null) return { ok: false, detail: this.#trouble };
    return {
      ok: true,
      detail: this.#listener === null ? 'none is used' : `${this.#sockets.size} connections`,
    };
  }
  async close(): Promise<void> {
    this.#closed = true;
    await this.follow();
  }

  async #move(): Promise<void> {
    const { host, log } = this.#options;
    const port = this.#closed ? null : this.#options.port();
    if (this.#again !== null) clearTimeout(this.#again);
    this.#again = null;
    if (port === (this.#listener?.port ?? null)) return;
    await this.#end();
    this.#trouble = null;
    if (port === null) return;
    const server = net.createServer((socket) => this.#accept(socket));
    try {
      await new Promise<void>((done, failed) => {
        server.once('error', failed);
        server.listen(port, host, done);
      });
      server.on('error', (error) =>
        log.warn({ error: messageOf(error) }, 'the LDAP server reported an error'),
      );
      this.#listener = { port, server };
      log.info({ host, port }, 'desk phones can read the phonebook by LDAP');
    } catch (error) {
      this.#trouble = `${host}:${port} cannot be opened: ${messageOf(error)}`;
      log.error({ error: messageOf(error), host, port }, 'the LDAP port cannot be opened');
      this.#again = setTimeout(() => void this.follow(), AGAIN_MS).unref();
    }
  }
  async #end(): Promise<void> {
    const listener = this.#listener;
    this.#listener = null;
    for (const socket of this.#sockets.keys()) socket.destroy();
    if (listener !== null) await new Promise((done) => listener.server.close(done));
  }
  #accept(socket: net.Socket): void {
    const ip = socket.remoteAddress ?? '';
    const network = networkOf(ip, 32, 64);
    const same = [...this.#sockets.values()].filter((one) => one === network).length;
    const { connections, idleMs, ofNetwork, signInMs } = this.#limits;
    if (this.#sockets.size >= connections || same >= ofNetwork) return void socket.destroy();
    this.#sockets.set(socket, network);
    const late = setTimeout(() => socket.destroy(), signInMs);
    socket.on('close', () => {
      clearTimeout(late);
      this.#sockets.delete(socket);
    });
    socket.on('error', () => undefined);
    socket.setTimeout(idleMs, () => socket.destroy());
    socket.setNoDelay(true);
    const signedIn = (): void => clearTimeout(late);
    socket.once('data', (first: Buffer) => {
      socket.pause();
      socket.unshift(first);
      if (first[0] !== HANDSHAKE)
        return this.#serve(socket, { ip, network, safe: this.#options.plain(ip) }, signedIn);
      this.#secure(socket).then(
        (secured) => {
          if (secured !== null) this.#serve(secured, { ip, network, safe: true }, signedIn);
        },
        (error: unknown) => {
          this.#options.log.warn({ error: messageOf(error) }, 'the certificate for LDAP could not be read');
          socket.destroy();
        },
      );
    });
  }
  /** The socket with TLS; null, with the connection destroyed, if there is no certificate. */
  async #secure(socket: net.Socket): Promise<net.Socket | null> {
    const pair = await this.#options.certificate();
    if (pair === null || socket.destroyed) {
      socket.destroy();
      return null;
    }
    const secureContext = tls.createSecureContext({ ...pair, minVersion: 'TLSv1.2' });
    const secured = new tls.TLSSocket(socket, { isServer: true, secureContext });
    secured.on('error', () => socket.destroy());
    secured.on('close', () => socket.destroy());
    return secured;
  }
  #serve(
    socket: net.Socket,
    { ip, network, safe }: { readonly ip: string; readonly network: string; readonly safe: boolean },
    onBound: () => void,
  ): void {
    const { clock, knows, log, source } = this.#options;
    new LdapConnection({
      socket,
      source,
      safe,
      now: () => clock.now(),
      onBound,
      failed: (error) => log.warn({ error: messageOf(error) }, 'a request over LDAP failed'),
      admit: async (token): Promise<Access> => {
        // A valid token is never limited: other phones of its office may have a wrong one.
        if (await knows(token)) return 'granted';
        if (!this.#wrong.allows(network)) return 'too_many';
        log.warn({ ip }, 'a wrong password over LDAP');
        return 'wrong';
      },
    });
    socket.resume();
  }
}
