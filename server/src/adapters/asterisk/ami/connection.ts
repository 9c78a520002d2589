import { randomBytes } from 'node:crypto';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import { ServiceError, hasCode, markNotBegun, messageOf } from '../../../core/errors.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Common } from '../../../ports/common.ts';
import { encodeAction } from './codec.ts';
import type { ActionFields } from './codec.ts';
import type { Frame } from './frame.ts';
import { createDecoder } from './framing.ts';
import type { Decoder, DropReason, FrameLimits } from './framing.ts';
import { PendingActions } from './pending.ts';
import type { AmiAnswer, Pending } from './pending.ts';

/*
 *             banner ok          accepted           FullyBooted
 * connecting ──────────> login ───────────> booting ───────────> up
 *     │                    │                   │                  │
 *     └── no_manager,      └── refused,        └──────────┬───────┘
 *         unreachable          no_manager                 │
 *                                                         └── ended, silent, goodbye, closed, aborted
 *
 * A connection that does not wait for the boot goes from login to up. Every state can end; it ends once.
 */
const BANNER_MS = 2_000;
const LOGIN_MS = 5_000;
const PING_EVERY_MS = 5_000;
/** Silence after which a connection counts as dead; half a second is left to report it within 10 s. */
export const SILENCE_MS = 9_500;
const TICK_MS = 500;
/** Time one connection may read in one turn of the event loop. */
const TURN_MS = 4;
export const MAX_PENDING = 1_000;
const MAX_UNSENT_BYTES = 1024 * 1024;
/** Limit for an answer, by action. */
export const ACTION_MS = { ping: 2_000, member: 3_000, call: 3_000, list: 15_000, reload: 120_000 } as const;

const BANNER = /^Asterisk Call Manager\/\d{1,4}(?:\.\d{1,4}){0,3}$/;

export type CloseKind =
  | 'unreachable'
  | 'no_manager'
  | 'refused'
  | 'silent'
  | 'ended'
  | 'goodbye'
  | 'closed'
  | 'aborted';
export interface CloseReason {
  readonly kind: CloseKind;
  readonly detail: string;
}
/** The connection ended, or was never established. */
export class AmiClosed extends Error {
  override readonly name = 'AmiClosed';
  readonly reason: CloseReason;
  constructor(reason: CloseReason) {
    super(reason.detail);
    this.reason = reason;
  }
}

export type ConnectionState = 'connecting' | 'login' | 'booting' | 'up' | 'closed';
type AmiUser = Pick<AmiOptions, 'user' | 'secret'>;
export interface AmiOptions extends Common<'clock' | 'log'> {
  readonly host: string;
  readonly port: number;
  /** Opens the way to the engine instead, where it is on another machine. */
  readonly dial?: ((signal?: AbortSignal) => Promise<Duplex>) | undefined;
  readonly user: string;
  readonly secret: string;
  /** Classes of events for this session, e.g. `system,call,agent`, or `off`. */
  readonly events: string;
  /** Waits for `FullyBooted` before the connection counts as up; needs the class `system`. */
  readonly awaitBoot: boolean;
  readonly signal?: AbortSignal;
  /** Events for which `event` is called; all where absent. */
  readonly wants?: (name: string) => boolean;
  readonly event?: (name: string, frame: Frame) => void;
  readonly ignored?: (name: string) => void;
  /** Called right before a command is sent; throws where this process may give none. */
  readonly fence?: (() => void) | undefined;
  /** Called when a command times out after it was sent: the engine may or may not have executed it. */
  readonly unanswered?: () => void;
  readonly dropped?: (reason: DropReason, raw: string) => void;
  /** Limits of a frame from the engine. */
  readonly limits?: FrameLimits;
  readonly state?: (state: ConnectionState) => void;
}
export interface ActionOptions {
  readonly action_id?: string;
  readonly ms?: number;
  readonly signal?: AbortSignal;
  /** The event that the list's end counts, where it does not count all of them. */
  readonly counted?: string;
}
/** Actions after which the engine is as before, so that a missing answer leaves nothing unknown. */
const READS: ReadonlySet<string> = new Set(['Ping', 'Login']);
/** Actions that change nothing, which a process without the lease may send too. */
const UNFENCED: ReadonlySet<string> = new Set([...READS, 'CoreStatus', 'CoreSettings']);

/** One manager session. Source: reliability rules for the manager (banner in 2 s, one login, heartbeat, bounded pending actions). */
export class AmiConnection {
  readonly #options: AmiOptions;
  readonly #clock: Clock;
  readonly #socket: Duplex;
  readonly #decoder: Decoder;
  readonly #pending: PendingActions;
  readonly #ended = Promise.withResolvers<CloseReason>();
  readonly #greeted = Promise.withResolvers<void>();
  readonly #booted = Promise.withResolvers<void>();
  readonly #over = new AbortController();
  readonly #prefix = randomBytes(5).toString('hex');
  #state: ConnectionState = 'connecting';
  #isGreeted = false;
  #sent = 0;
  /** Milliseconds since the last bytes from the engine, in ticks. */
  #quiet = 0;
  #turnBegan = 0;
  #inTurn = false;

  /** Opens a connection to an engine of this machine for actions, without events. Rejects with `AmiClosed`. */
  static forActions(
    { ami_port, ami_actions }: { readonly ami_port: number; readonly ami_actions: AmiUser },
    options: Pick<AmiOptions, 'clock' | 'log' | 'signal'>,
  ): Promise<AmiConnection> {
    return AmiConnection.open({
      host: '127.0.0.1',
      port: ami_port,
      ...ami_actions,
      events: 'off',
      awaitBoot: false,
      ...options,
    });
  }
  /** Connects, signs in and, if requested, waits until the engine has booted. Rejects with `AmiClosed`. */
  static async open(options: AmiOptions): Promise<AmiConnection> {
    const { dial, host, port } = options;
    const socket = await dial?.(options.signal).catch((error: unknown) => {
      throw new AmiClosed({ kind: 'unreachable', detail: messageOf(error) });
    });
    const connection = new AmiConnection(
      options,
      socket ?? net.connect({ host, port, noDelay: true, keepAlive: true }),
    );
    try {
      await connection.#signIn();
    } catch (error) {
      const secret = hasCode(error, 'invalid_request');
      connection.#end(secret ? 'refused' : 'no_manager', messageOf(error));
    }
    if (connection.#state === 'closed') throw new AmiClosed(await connection.closed);
    return connection;
  }
  private constructor(options: AmiOptions, socket: Duplex) {
    this.#options = options;
    this.#clock = options.clock;
    this.#pending = new PendingActions(() => options.unanswered?.());
    this.#decoder = this.#createDecoder();
    // Without a waiter, an ordinary end must not become an unhandled rejection.
    this.#greeted.promise.catch(() => {});
    this.#booted.promise.catch(() => {});
    this.#socket = socket;
    this.#listen();
  }

  get closed(): Promise<CloseReason> {
    return this.#ended.promise;
  }
  state(): ConnectionState {
    return this.#state;
  }
  /** Number of answers and rows without a waiting action, or too late for it. */
  strays(): number {
    return this.#pending.strays;
  }
  pending(): number {
    return this.#pending.size;
  }
  /**
   * Sends one action and waits for its answer; a refusal is an answer too. Errors: `invalid_request` (nothing was sent),
   * `engine_unavailable`, `engine_timeout`, `overloaded`.
   */
  async action(name: string, fields: ActionFields = {}, options: ActionOptions = {}): Promise<AmiAnswer> {
    return this.#send(name, fields, null, options.ms ?? ACTION_MS.member, options);
  }
  /** Sends an action that answers with a list and passes on its rows as they arrive. Also throws `ListVoid`. */
  async list(
    name: string,
    fields: ActionFields,
    row: (event: string, frame: Frame) => void,
    options: ActionOptions = {},
  ): Promise<number> {
    return (await this.#send(name, fields, row, options.ms ?? ACTION_MS.list, options)).rows;
  }
  /** Closes at once. */
  close(): void {
    this.#end('closed', 'closed by us');
  }

  #move(to: ConnectionState): void {
    this.#state = to;
    this.#options.state?.(to);
  }
  #end(kind: CloseKind, detail: string): void {
    if (this.#state === 'closed') return;
    const reason: CloseReason = { kind, detail };
    this.#move('closed');
    this.#socket.destroy();
    this.#over.abort();
    const error = new AmiClosed(reason);
    this.#greeted.reject(error);
    this.#booted.reject(error);
    this.#pending.giveUpAll(
      new ServiceError('engine_unavailable', `the engine's connection ended: ${detail}`, { cause: error }),
    );
    this.#ended.resolve(reason);
  }

  async #signIn(): Promise<void> {
    const { user, secret, events, awaitBoot } = this.#options;
    const greeted = new AbortController();
    this.#after(BANNER_MS, greeted.signal, () =>
      this.#end('no_manager', `no greeting within ${BANNER_MS} ms`),
    );
    await this.#greeted.promise.finally(() => greeted.abort());
    this.#move('login');
    const login = { Username: user, Secret: secret, Events: events };
    const answer = await this.#send('Login', login, null, LOGIN_MS, {});
    // Only this answer means that the secret is wrong; an engine that shuts down also rejects logins, but only for a moment.
    if (!answer.ok)
      this.#end(
        answer.message === 'Authentication failed' ? 'refused' : 'no_manager',
        `the engine refused the login: ${answer.message}`,
      );
    this.#heartbeat().catch(() => {});
    if (awaitBoot) {
      if (this.#state === 'login') this.#move('booting');
      await this.#booted.promise;
    }
    if (this.#state !== 'closed') this.#move('up');
  }
  async #heartbeat(): Promise<void> {
    let sincePing = 0;
    for (;;) {
      await this.#clock.sleep(TICK_MS, this.#over.signal);
      this.#quiet += TICK_MS;
      sincePing += TICK_MS;
      // One session answers in order, so a healthy engine is silent behind a long action; that action's own time limit applies.
      const busy = this.#pending.waitsLongerThan(SILENCE_MS);
      if (this.#quiet >= SILENCE_MS && !busy) return this.#end('silent', `nothing came for ${SILENCE_MS} ms`);
      if (sincePing >= PING_EVERY_MS && !busy) {
        sincePing = 0;
        this.#send('Ping', {}, null, ACTION_MS.ping, {}).catch((error: unknown) =>
          this.#options.log.debug({ error: messageOf(error) }, 'a heartbeat was not answered'),
        );
      }
    }
  }

  #createDecoder(): Decoder {
    const { wants, event, ignored, dropped, limits } = this.#options;
    const pending = this.#pending;
    return createDecoder(
      {
        banner: (line) => this.#takeBanner(line),
        event: (name, frame) => {
          if (pending.takeEvent(name, frame)) return;
          if (name === 'FullyBooted') this.#booted.resolve();
          if (wants === undefined || wants(name)) event?.(name, frame);
          else ignored?.(name);
        },
        ignored: (name) => ignored?.(name),
        response: (status, frame) => {
          if (status !== 'Goodbye') pending.takeResponse(status, frame);
          else this.#end('goodbye', 'the engine said goodbye');
        },
        dropped: (reason, raw) => dropped?.(reason, raw),
      },
      {
        banner: true,
        ...(limits ? { limits } : {}),
        wants: (name) => name === 'FullyBooted' || pending.size > 0 || wants === undefined || wants(name),
      },
    );
  }
  #takeBanner(line: string): boolean {
    if (!BANNER.test(line)) {
      this.#end('no_manager', `the other side greeted with ${JSON.stringify(line.slice(0, 80))}`);
      return false;
    }
    this.#isGreeted = true;
    this.#greeted.resolve();
    return true;
  }
  #listen(): void {
    const socket = this.#socket;
    const ended = (): void =>
      this.#end(this.#isGreeted ? 'ended' : 'no_manager', 'the engine closed the connection');
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) =>
      this.#end(this.#state === 'connecting' && !this.#isGreeted ? 'unreachable' : 'ended', error.message),
    );
    socket.on('close', ended);
    socket.on('end', ended);
    const { signal } = this.#options;
    const abort = (): void => this.#end('aborted', 'cancelled');
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort, { once: true });
    void this.closed.then(() => signal?.removeEventListener('abort', abort));
  }
  #read(chunk: Buffer): void {
    this.#quiet = 0;
    if (!this.#inTurn) {
      this.#inTurn = true;
      this.#turnBegan = performance.now();
      setImmediate(() => {
        this.#inTurn = false;
        if (this.#socket.isPaused()) this.#socket.resume();
      });
    }
    this.#decoder.write(chunk);
    // A long list arrives in many chunks in one turn of the event loop; other work runs in between.
    if (performance.now() - this.#turnBegan > TURN_MS) this.#socket.pause();
  }

  /** Runs `late` after `ms` unless `done` was aborted before. */
  #after(ms: number, done: AbortSignal, late: () => void): void {
    this.#clock.sleep(ms, done).then(late, () => {});
  }
  async #send(
    name: string,
    fields: ActionFields,
    row: Pending['row'],
    ms: number,
    { action_id, signal, counted }: ActionOptions,
  ): Promise<AmiAnswer & { rows: number }> {
    const id = action_id ?? `${this.#prefix}-${(++this.#sent).toString(36)}`;
    const bytes = encodeAction(name, fields, id);
    signal?.throwIfAborted();
    try {
      this.#checkRoom(id);
      if (row === null && !UNFENCED.has(name)) this.#options.fence?.();
    } catch (error) {
      throw markNotBegun(error);
    }
    const answered = Promise.withResolvers<AmiAnswer>();
    const done = new AbortController();
    const command = row === null && !READS.has(name);
    const { resolve, reject } = answered;
    const action: Pending = { name, row, ms, counted, command, rows: 0, resolve, reject };
    this.#pending.add(id, action);
    const abort = (): void => this.#pending.giveUp(id, signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    this.#after(ms, done.signal, () =>
      this.#pending.giveUp(
        id,
        new ServiceError('engine_timeout', `the engine did not answer ${name} within ${ms} ms`),
      ),
    );
    this.#socket.write(bytes);
    try {
      return { ...(await answered.promise), rows: action.rows };
    } finally {
      done.abort('answered');
      signal?.removeEventListener('abort', abort);
    }
  }
  #checkRoom(id: string): void {
    if (this.#state === 'closed' || this.#state === 'connecting')
      throw new ServiceError('engine_unavailable', 'the engine is not connected');
    if (this.#pending.size >= MAX_PENDING || this.#socket.writableLength > MAX_UNSENT_BYTES)
      throw new ServiceError('overloaded', 'too many engine actions are waiting for their answers');
    if (this.#pending.has(id)) throw new ServiceError('invalid_request', 'this action id is in use');
  }
}
