import net from 'node:net';
import { pipeline } from 'node:stream';
import type { Duplex } from 'node:stream';
import { sip as operations } from '@offhook/contract/operations/stream.ts';
import { ServiceError, messageOf } from '../core/errors.ts';
import { say } from '../core/said.ts';
import type { Log } from '../core/log.ts';
import { networkOf } from '../core/networks.ts';
import { Bucket, createRateLimit } from '../core/rate-limit.ts';
import type { Rate } from '../core/rate-limit.ts';
import { FrameError, acceptOf, closeFrame, frameWatch, isHandshake } from '../websocket/frames.ts';
import type { FrameWatch } from '../websocket/frames.ts';
import { frameReader, messageFilter } from '../websocket/messages.ts';
import type { FrameReader } from '../websocket/messages.ts';
import type { App, PublicExchange, Sent } from '../ports/http.ts';
import type { Served } from '../ports/operations.ts';
import type { SipCalls, SipCredentials } from '../ports/sip.ts';
import type { Metrics } from './metrics.ts';
import { addOperations } from './operations.ts';
import { answerOf } from './sip-digest.ts';
import { createSipSessions } from './sip-sessions.ts';

export interface SipRelayOptions {
  /** The engine's HTTP port on loopback, read for every connection; null while there is none. */
  readonly port: () => number | null;
  readonly credentials: SipCredentials;
  readonly calls: SipCalls;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly limits?: Partial<SipRelayLimits>;
}
export interface SipRelayLimits {
  readonly maxRelays: number;
  /** Limit of unregistered connections of one network (/24, /56) and of a wide one (/16, /48). */
  readonly maxWaiting: number;
  readonly maxWaitingWide: number;
  /** Limit until a registration is accepted, in ms; then the connection is closed. */
  readonly registerMs: number;
  /** Burst and rate of upgrades of one network; an office behind one address reconnects at once. */
  readonly burst: number;
  readonly perSecond: number;
  /** Longest frame in bytes. A SIP message over WebSocket is one frame; Asterisk takes 64 KiB. */
  readonly maxFrame: number;
  /** Messages of one connection; beyond them it is read more slowly. */
  readonly messages: Rate;
  readonly answerMs: number;
}
const LIMITS: SipRelayLimits = {
  maxRelays: 10_000,
  maxWaiting: 500,
  maxWaitingWide: 2_000,
  registerMs: 30_000,
  burst: 1_000,
  perSecond: 100,
  maxFrame: 64 * 1024,
  messages: { burst: 200, per_second: 20 },
  answerMs: 5_000,
};
interface Pair {
  readonly client: Duplex;
  readonly engine: net.Socket;
  readonly port: number;
  /** Frames sent to the client. */
  readonly sent: FrameWatch;
  readonly end: (code: number, reason: string) => void;
}
/** Close code for a phone whose session ended, as on the event stream. */
const SESSION_ENDED = 4409;
const ENGINE_GONE = 'the engine closed the connection';
const MAX_ENGINE_FRAME = 1_048_576;
const MAX_HEAD = 8 * 1024;
const KEEP_ALIVE_MS = 30_000;
/** Wait before a connection that sent too many messages is read again. */
const REST_MS = 1_000;

/** Unregistered connections, oldest first, and their number by network. */
class WaitingPairs {
  readonly #limits: SipRelayLimits;
  readonly #networks = new Map<Pair, readonly string[]>();
  readonly #counts = new Map<string, number>();

  constructor(limits: SipRelayLimits) {
    this.#limits = limits;
  }
  /** `networks`: the network of an address, then the wide one. */
  isFull(networks: readonly string[]): boolean {
    const { maxWaiting, maxWaitingWide } = this.#limits;
    return networks.some(
      (network, i) => (this.#counts.get(network) ?? 0) >= (i === 0 ? maxWaiting : maxWaitingWide),
    );
  }
  has(pair: Pair): boolean {
    return this.#networks.has(pair);
  }
  oldest(): Pair | undefined {
    return this.#networks.keys().next().value;
  }
  add(pair: Pair, networks: readonly string[]): void {
    this.#networks.set(pair, networks);
    for (const network of networks) this.#counts.set(network, (this.#counts.get(network) ?? 0) + 1);
  }
  leave(pair: Pair): void {
    for (const network of this.#networks.get(pair) ?? []) {
      const left = (this.#counts.get(network) ?? 1) - 1;
      if (left > 0) this.#counts.set(network, left);
      else this.#counts.delete(network);
    }
    this.#networks.delete(pair);
  }
}

/** Reads a client, and more slowly once it has sent more messages than its rate. */
class Reading {
  readonly #client: Duplex;
  readonly #messages: Bucket;
  readonly #hasRoom: () => boolean;
  #rests = false;
  /** `hasRoom`: whether its bytes can be taken now. */
  constructor(client: Duplex, rate: Rate, hasRoom: () => boolean) {
    this.#client = client;
    this.#messages = new Bucket(rate);
    this.#hasRoom = hasRoom;
  }
  count(): void {
    if (this.#messages.take() || this.#rests) return;
    this.#rests = true;
    this.#client.pause();
    setTimeout(() => {
      this.#rests = false;
      if (this.#hasRoom()) this.#client.resume();
    }, REST_MS);
  }
  goOn(): void {
    if (!this.#rests) this.#client.resume();
  }
}

/** The upgrade of a valid handshake and its key. Throws `upgrade_required` and `invalid_request`. */
function checkedUpgrade({ upgrade, raw }: PublicExchange['request'], reply: PublicExchange['reply']) {
  if (upgrade === null) {
    reply.header('upgrade', 'websocket').header('connection', 'Upgrade');
    throw new ServiceError(
      'upgrade_required',
      'this path accepts only SIP over WebSocket: send an upgrade request',
    );
  }
  const key = raw.headers['sec-websocket-key'];
  if (!isHandshake(raw.headers) || key === undefined) {
    reply.header('sec-websocket-version', '13');
    throw new ServiceError(
      'invalid_request',
      'the WebSocket handshake is not valid; it needs Sec-WebSocket-Version 13 and a Sec-WebSocket-Key',
    );
  }
  const protocols =
    raw.headers['sec-websocket-protocol']?.split(',').map((p) => p.trim().toLowerCase()) ?? [];
  if (!protocols.includes('sip')) {
    throw new ServiceError('invalid_request', 'Sec-WebSocket-Protocol must name "sip"');
  }
  return { upgrade, key };
}

/**
 * `GET /ws`: SIP over WebSocket on the service's own port, relayed to the engine once both sides agreed. A phone
 * authenticates by SIP digest with the password of its session; the service checks the proof and replaces it by one
 * made with the device's own secret for the engine (docs/adr/0016). Nothing else of a message is changed. The
 * connection ends with its session, with the calls that began over it, and the engine then drops the phone's address.
 * Nothing else of the client's request (cookies, addresses, extensions) is forwarded.
 */
export function sipRelayRoutes(app: App, options: SipRelayOptions): void {
  const limits = { ...LIMITS, ...options.limits };
  const { log } = options;
  const open = new Set<Pair>();
  const waiting = new WaitingPairs(limits);
  const sessions = createSipSessions<Pair>({
    credentials: options.credentials,
    calls: options.calls,
    end: (pair, reason) => pair.end(SESSION_ENDED, reason),
    portOf: (pair) => pair.port,
  });
  const pace = createRateLimit(
    { now: () => performance.now() },
    { burst: limits.burst, per_second: limits.perSecond },
  );
  let closing = false;
  let connecting = 0;
  options.metrics?.gauge('offhook_sip_relays', 'Open SIP over WebSocket connections.', () => open.size);

  /** True when a connection may open. At the limit, closes the oldest unregistered one, never a registered one. */
  function hasRoom(): boolean {
    if (open.size + connecting < limits.maxRelays) return true;
    const oldest = waiting.oldest();
    oldest?.end(1013, 'others need the room');
    return oldest !== undefined;
  }

  async function relay({ request, reply }: PublicExchange): Promise<Sent> {
    const { upgrade, key } = checkedUpgrade(request, reply);
    const networks = [networkOf(request.ip), `wide ${networkOf(request.ip, 16, 48)}`];
    if (closing || !pace.allows(networks[0]!) || waiting.isFull(networks) || !hasRoom()) {
      throw new ServiceError('overloaded', 'too many connections; try again later');
    }
    connecting += 1;
    const engine = await connectEngine(options.port(), limits.answerMs).finally(() => (connecting -= 1));
    if (upgrade.socket.destroyed || closing) {
      engine.socket.destroy();
      throw new ServiceError('overloaded', 'the connection was closed meanwhile');
    }
    reply.hijack();
    const client = upgrade.take();
    const sent = frameWatch();
    const end = (code: number, reason: string): void => {
      if (!open.delete(pair)) return;
      clearTimeout(unregistered);
      waiting.leave(pair);
      sessions.closed(pair);
      endClient(pair, code, reason);
      engine.socket.destroy();
    };
    const pair: Pair = { client, engine: engine.socket, port: engine.port, sent, end };
    open.add(pair);
    waiting.add(pair, networks);
    const unregistered = setTimeout(() => {
      log.info({ ip: request.ip }, 'a SIP WebSocket did not register in time');
      end(1008, 'no registration was accepted in time');
    }, limits.registerMs);
    unregistered.unref();
    const answers = frameReader(MAX_ENGINE_FRAME, false);
    const onAnswer = (chunk: Buffer): void => {
      if (!waiting.has(pair) || !registers(answers, chunk) || !sessions.isProven(pair)) return;
      clearTimeout(unregistered);
      waiting.leave(pair);
    };
    if (client instanceof net.Socket) {
      client.setTimeout(0);
      client.setNoDelay(true);
      client.setKeepAlive(true, KEEP_ALIVE_MS);
    }
    client.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${acceptOf(key)}\r\nSec-WebSocket-Protocol: sip\r\n\r\n`,
    );
    sent.see(engine.rest);
    onAnswer(engine.rest);
    client.write(engine.rest);
    const reading = new Reading(client, limits.messages, () => !guard.writableNeedDrain);
    const guard = messageFilter(limits.maxFrame, (message) => {
      reading.count();
      return sessions.rewrite(pair, message);
    });
    guard.write(upgrade.head);
    guard.on('error', (error) => {
      // The end of either side also ends the guard, which is no protocol error.
      if (!open.has(pair)) return;
      if (engine.socket.destroyed) return end(1011, ENGINE_GONE);
      const code = error instanceof FrameError ? error.code : error instanceof ServiceError ? 1013 : 1011;
      const what = error instanceof FrameError ? 'broke a rule' : 'was ended: its message could not be read';
      log.info({ ip: request.ip, code, reason: error.message }, `a SIP WebSocket ${what}`);
      end(code, error.message);
    });
    client.on('data', (chunk: Buffer) => {
      if (!guard.destroyed && !guard.write(chunk)) client.pause();
    });
    guard.on('drain', () => reading.goOn());
    client.on('end', () => end(1000, ''));
    client.on('close', () => end(1000, ''));
    // A failure of the guard is reported above, before the pipeline closes the engine's side.
    pipeline(guard, engine.socket, () => setImmediate(end, 1011, ENGINE_GONE));
    engine.socket.on('data', (chunk: Buffer) => {
      sent.see(chunk);
      onAnswer(chunk);
      if (client.writable && !client.write(chunk)) engine.socket.pause();
    });
    client.on('drain', () => engine.socket.resume());
    engine.socket.on('end', () => end(1011, ENGINE_GONE));
    // The socket was paused while it had no listener; adding one does not resume it.
    engine.socket.resume();
    return reply;
  }

  addOperations(app, [{ operations, handlers: { relay } } satisfies Served<typeof operations>]);
  app.addHook('preClose', (done) => {
    closing = true;
    for (const pair of open) pair.end(1012, 'the service is restarting');
    sessions.close();
    done();
  });
}

/** True when the bytes contain the engine's 200 for REGISTER; false for anything that is not a frame. */
function registers(answers: FrameReader, chunk: Buffer): boolean {
  try {
    return [...answers.read(chunk)].some((frame) => {
      if (frame.opcode > 2) return false;
      const answer = answerOf(frame.payload().toString('latin1'));
      return answer?.status === 200 && answer.method === 'REGISTER';
    });
  } catch {
    return false;
  }
}

/**
 * Sends a close frame unless the engine sent one or the socket is closed; disconnects a client that does not
 * answer after a second.
 */
function endClient({ client, sent }: Pair, code: number, reason: string): void {
  client.resume();
  if (client.writable) client.end(sent.mayClose ? closeFrame(code, reason) : undefined);
  setTimeout(() => client.destroy(), 1_000).unref();
}

/** Opens the engine's side; `rest`: bytes received after its handshake. Throws `engine_unavailable`. */
async function connectEngine(
  port: number | null,
  answerMs: number,
): Promise<{ readonly socket: net.Socket; readonly port: number; readonly rest: Buffer }> {
  if (port === null) throw new ServiceError('engine_unavailable', 'the engine is not running');
  const key = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64');
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  try {
    const head = await new Promise<{ text: string; rest: Buffer }>((resolve, reject) => {
      let received = Buffer.alloc(0);
      const timer = setTimeout(() => reject(new Error('no answer in time')), answerMs);
      const finish = (): void => {
        clearTimeout(timer);
        socket.off('data', onData);
      };
      const onData = (chunk: Buffer): void => {
        received = Buffer.concat([received, chunk]);
        const end = received.indexOf('\r\n\r\n');
        if (end >= 0) {
          finish();
          socket.pause();
          resolve({ text: received.subarray(0, end).toString('latin1'), rest: received.subarray(end + 4) });
        } else if (received.length > MAX_HEAD) reject(new Error('its answer is not HTTP'));
      };
      socket.on('data', onData);
      socket.once('error', (error) => (finish(), reject(error)));
      socket.once('close', () => (finish(), reject(new Error('it closed the connection'))));
      socket.write(
        `GET /ws HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          `Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: sip\r\n\r\n`,
      );
    });
    const accept = /^sec-websocket-accept:[ \t]*(\S+)/im.exec(head.text)?.[1];
    if (!head.text.startsWith('HTTP/1.1 101 ') || accept !== acceptOf(key)) {
      throw new Error(`it answered ${JSON.stringify(head.text.slice(0, 60))}`);
    }
    return { socket, port: socket.localPort ?? 0, rest: head.rest };
  } catch (error) {
    socket.destroy();
    throw new ServiceError(
      'engine_unavailable',
      say`the engine takes no SIP connection now: ${messageOf(error)}`,
    );
  }
}
