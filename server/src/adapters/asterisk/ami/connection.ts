import { randomBytes } from 'node:crypto';
import net from 'node:net';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import { encodeAction } from './codec.ts';
import type { ActionFields } from './codec.ts';
import { header } from './frame.ts';
import type { Frame } from './frame.ts';
import { createDecoder } from './framing.ts';
import type { DropReason } from './framing.ts';

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
export const BANNER_MS = 2_000;
export const LOGIN_MS = 5_000;
export const PING_EVERY_MS = 5_000;
/** Silence after which a connection counts as dead; half a second is left to report it within 10 s. */
export const SILENCE_MS = 9_500;
const TICK_MS = 500;
/** Time one connection may read in one turn of the event loop. */
const TURN_MS = 4;
export const MAX_PENDING = 1_000;
const MAX_UNSENT_BYTES = 1024 * 1024;
/** Limit for an answer, by action. */
export const ACTION_MS = { ping: 2_000, member: 3_000, call: 3_000, list: 15_000, reload: 120_000 } as const;

const ACTION_ID = header('ActionID');
const MESSAGE = header('Message');
const EVENT_LIST = header('EventList');
const LIST_ITEMS = header('ListItems');
const BANNER = /^Asterisk Call Manager\/\d{1,4}(?:\.\d{1,4}){0,3}$/;
/** The engine's texts for an empty list, sent as an error or a success; some end in a line feed of their own. */
const NONE_FOUND = /^(?:No .{1,60} found|There are no .{1,60} currently defined)\.?\n?$/;

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
/** A list that must not be used: incomplete, of another length, or rejected. */
export class ListVoid extends Error {
  override readonly name = 'ListVoid';
}

export type ConnectionState = 'connecting' | 'login' | 'booting' | 'up' | 'closed';
export interface AmiOptions {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly secret: string;
  /** Classes of events for this session, e.g. `system,call,agent`, or `off`. */
  readonly events: string;
  /** Waits for `FullyBooted` before the connection counts as up; needs the class `system`. */
  readonly awaitBoot: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal?: AbortSignal;
  /** Events for which `event` is called; all where absent. */
  readonly wants?: (name: string) => boolean;
  readonly event?: (name: string, frame: Frame) => void;
  readonly ignored?: (name: string) => void;
  /** Called when a command times out after it was sent: the engine may or may not have executed it. */
  readonly unanswered?: () => void;
  readonly dropped?: (reason: DropReason, raw: string) => void;
  readonly state?: (state: ConnectionState) => void;
}
export interface ActionOptions {
  readonly action_id?: string;
  readonly ms?: number;
  readonly signal?: AbortSignal;
  /** The event that the list's end counts, where it does not count all of them. */
  readonly counted?: string;
}
export interface AmiAnswer {
  readonly ok: boolean;
  readonly message: string;
  readonly frame: Frame;
}
export interface AmiConnection {
  /** The greeting, e.g. `Asterisk Call Manager/11.0.0`. */
  readonly banner: string;
  readonly closed: Promise<CloseReason>;
  state(): ConnectionState;
  /** Number of answers and rows that nobody waited for, or that came too late. */
  strays(): number;
  pending(): number;
  /**
   * Sends one action and waits for its answer; a refusal is an answer too. Errors: `invalid_request` (nothing was sent),
   * `engine_unavailable`, `engine_timeout`, `overloaded`.
   */
  action(name: string, fields?: ActionFields, options?: ActionOptions): Promise<AmiAnswer>;
  /** Sends an action that answers with a list and passes on its rows as they arrive. Also throws `ListVoid`. */
  list(
    name: string,
    fields: ActionFields,
    row: (event: string, frame: Frame) => void,
    options?: ActionOptions,
  ): Promise<number>;
  /** Accepts no new action, waits for the pending ones, signs out. */
  drain(): Promise<CloseReason>;
  /** Closes at once. */
  close(): void;
}

interface Pending {
  readonly name: string;
  /** Null for an action with a single frame as its answer. */
  readonly row: ((event: string, frame: Frame) => void) | null;
  readonly ms: number;
  readonly counted: string | undefined;
  /** A read changes nothing, so the result of a timed-out read does not matter. */
  readonly command: boolean;
  rows: number;
  resolve(answer: AmiAnswer): void;
  reject(error: unknown): void;
}

/**
 * Connects, signs in and, if requested, waits until the engine has booted. Rejects with `AmiClosed`. Source: reliability rules
 * for the manager (banner in 2 s, one login, heartbeat, bounded pending actions).
 */
export const connectAmi = async (options: AmiOptions): Promise<AmiConnection> => {
  const { clock, log } = options;
  const prefix = randomBytes(5).toString('hex');
  const pending = new Map<string, Pending>();
  const ended = Promise.withResolvers<CloseReason>();
  const greeted = Promise.withResolvers<string>();
  const booted = Promise.withResolvers<void>();
  const over = new AbortController();
  let state: ConnectionState = 'connecting';
  let draining = false;
  let sent = 0;
  let strays = 0;
  let quiet = 0;
  let banner = '';

  const move = (to: ConnectionState): void => {
    state = to;
    options.state?.(to);
  };

  const socket = net.connect({ host: options.host, port: options.port, noDelay: true, keepAlive: true });

  const end = (kind: CloseKind, detail: string): void => {
    if (state === 'closed') return;
    const reason: CloseReason = { kind, detail };
    move('closed');
    socket.destroy();
    over.abort();
    const error = new AmiClosed(reason);
    greeted.reject(error);
    booted.reject(error);
    for (const [id, p] of pending) {
      pending.delete(id);
      if (p.command) options.unanswered?.();
      p.reject(
        new ServiceError('engine_unavailable', `the engine's connection ended: ${detail}`, { cause: error }),
      );
    }
    ended.resolve(reason);
  };
  // Without a waiter, an ordinary end must not become an unhandled rejection.
  greeted.promise.catch(() => {});
  booted.promise.catch(() => {});

  const settle = (id: string, p: Pending, frame: Frame, ok: boolean): void => {
    pending.delete(id);
    p.resolve({ ok, message: frame.get(MESSAGE) ?? '', frame });
  };

  const decoder = createDecoder(
    {
      banner(line) {
        if (!BANNER.test(line)) {
          end('no_manager', `the other side greeted with ${JSON.stringify(line.slice(0, 80))}`);
          return false;
        }
        banner = line;
        greeted.resolve(line);
        return true;
      },
      event(name, frame) {
        if (pending.size > 0) {
          const id = frame.get(ACTION_ID);
          const p = id === undefined ? undefined : pending.get(id);
          if (id !== undefined && p !== undefined && p.row !== null) return listFrame(id, p, name, frame);
        }
        if (name === 'FullyBooted') booted.resolve();
        if (options.wants === undefined || options.wants(name)) options.event?.(name, frame);
        else options.ignored?.(name);
      },
      ignored(name) {
        options.ignored?.(name);
      },
      response(status, frame) {
        if (status === 'Goodbye')
          return draining ? end('closed', 'closed by us') : end('goodbye', 'the engine said goodbye');
        const id = frame.get(ACTION_ID);
        const p = id === undefined ? undefined : pending.get(id);
        if (id === undefined || p === undefined) {
          strays++;
          return;
        }
        const ok = status === 'Success';
        if (p.row === null) return settle(id, p, frame, ok);
        if (ok && frame.get(EVENT_LIST) === 'start') return;
        if (NONE_FOUND.test(frame.get(MESSAGE) ?? '')) return settle(id, p, frame, true);
        pending.delete(id);
        p.reject(new ListVoid(`${p.name}: ${frame.get(MESSAGE) ?? 'no list came'}`));
      },
      dropped(reason, raw) {
        options.dropped?.(reason, raw);
      },
    },
    {
      banner: true,
      wants: (name) =>
        name === 'FullyBooted' || pending.size > 0 || options.wants === undefined || options.wants(name),
    },
  );

  const listFrame = (id: string, p: Pending, name: string, frame: Frame): void => {
    const mark = frame.get(EVENT_LIST);
    if (mark === undefined) {
      if (p.counted === undefined || p.counted === name) p.rows++;
      try {
        p.row?.(name, frame);
      } catch (error) {
        pending.delete(id);
        p.reject(new ListVoid(`${p.name}: a row cannot be read: ${messageOf(error)}`, { cause: error }));
      }
      return;
    }
    const items = frame.int(LIST_ITEMS, -1);
    if (mark === 'Complete' && items === p.rows) return settle(id, p, frame, true);
    pending.delete(id);
    p.reject(new ListVoid(`${p.name}: ${mark}, ${p.rows} rows came of ${items}`));
  };

  let turnBegan = 0;
  let inTurn = false;
  socket.on('data', (chunk: Buffer) => {
    quiet = 0;
    if (!inTurn) {
      inTurn = true;
      turnBegan = performance.now();
      setImmediate(() => {
        inTurn = false;
        if (socket.isPaused()) socket.resume();
      });
    }
    decoder.write(chunk);
    // A long list arrives in many chunks in one turn of the event loop; other work runs in between.
    if (performance.now() - turnBegan > TURN_MS) socket.pause();
  });
  socket.on('error', (error) =>
    end(state === 'connecting' && banner === '' ? 'unreachable' : 'ended', error.message),
  );
  socket.on('close', () => end(banner === '' ? 'no_manager' : 'ended', 'the engine closed the connection'));
  socket.on('end', () => end(banner === '' ? 'no_manager' : 'ended', 'the engine closed the connection'));
  const onAbort = (): void => end('aborted', 'cancelled');
  if (options.signal?.aborted === true) onAbort();
  options.signal?.addEventListener('abort', onAbort, { once: true });
  void ended.promise.then(() => options.signal?.removeEventListener('abort', onAbort));

  /** Runs `late` after `ms` unless `done` was aborted before. */
  const after = (ms: number, done: AbortSignal, late: () => void): void => {
    clock.sleep(ms, done).then(late, () => {});
  };

  const send = async (
    name: string,
    fields: ActionFields,
    row: Pending['row'],
    ms: number,
    { action_id, signal, counted }: ActionOptions,
  ): Promise<AmiAnswer & { rows: number }> => {
    const id = action_id ?? `${prefix}-${(++sent).toString(36)}`;
    const bytes = encodeAction(name, fields, id);
    signal?.throwIfAborted();
    if (state === 'closed' || state === 'connecting')
      throw new ServiceError('engine_unavailable', 'the engine is not connected');
    if (pending.size >= MAX_PENDING || socket.writableLength > MAX_UNSENT_BYTES)
      throw new ServiceError('overloaded', 'too many engine actions are waiting for their answers');
    if (pending.has(id)) throw new ServiceError('invalid_request', 'this action id is in use');
    const answered = Promise.withResolvers<AmiAnswer>();
    const done = new AbortController();
    const entry: Pending = {
      name,
      row,
      ms,
      counted,
      command: row === null && name !== 'Ping' && name !== 'Login' && name !== 'Logoff',
      rows: 0,
      resolve: answered.resolve,
      reject: answered.reject,
    };
    pending.set(id, entry);
    const give = (): void => {
      if (pending.delete(id) && entry.command) options.unanswered?.();
      answered.reject(signal?.reason);
    };
    signal?.addEventListener('abort', give, { once: true });
    after(ms, done.signal, () => {
      if (!pending.delete(id)) return;
      if (entry.command) options.unanswered?.();
      answered.reject(
        new ServiceError('engine_timeout', `the engine did not answer ${name} within ${ms} ms`),
      );
    });
    socket.write(bytes);
    try {
      return { ...(await answered.promise), rows: entry.rows };
    } finally {
      done.abort('answered');
      signal?.removeEventListener('abort', give);
    }
  };

  const heartbeat = async (): Promise<void> => {
    let sincePing = 0;
    for (;;) {
      await clock.sleep(TICK_MS, over.signal);
      quiet += TICK_MS;
      sincePing += TICK_MS;
      // One session answers in order, so a healthy engine is silent behind a long action; that action's own time limit applies.
      const busy = pending.values().some((p) => p.ms > SILENCE_MS);
      if (quiet >= SILENCE_MS && !busy) return end('silent', `nothing came for ${SILENCE_MS} ms`);
      if (sincePing >= PING_EVERY_MS && !busy) {
        sincePing = 0;
        send('Ping', {}, null, ACTION_MS.ping, {}).catch((error: unknown) =>
          log.debug({ error: messageOf(error) }, 'a heartbeat was not answered'),
        );
      }
    }
  };

  const connection: AmiConnection = {
    get banner() {
      return banner;
    },
    closed: ended.promise,
    state: () => state,
    strays: () => strays,
    pending: () => pending.size,
    async action(name, fields = {}, options = {}) {
      if (draining) throw new ServiceError('engine_unavailable', 'the connection is being closed');
      return send(name, fields, null, options.ms ?? ACTION_MS.member, options);
    },
    async list(name, fields, row, options = {}) {
      if (draining) throw new ServiceError('engine_unavailable', 'the connection is being closed');
      return (await send(name, fields, row, options.ms ?? ACTION_MS.list, options)).rows;
    },
    async drain() {
      draining = true;
      while (pending.size > 0 && state !== 'closed') await clock.sleep(20, over.signal).catch(() => {});
      if (state !== 'closed') {
        await send('Logoff', {}, null, ACTION_MS.ping, {}).catch(() => {});
        end('closed', 'closed by us');
      }
      return ended.promise;
    },
    close: () => end('closed', 'closed by us'),
  };

  try {
    const waiting = new AbortController();
    after(BANNER_MS, waiting.signal, () => end('no_manager', `no greeting within ${BANNER_MS} ms`));
    await greeted.promise.finally(() => waiting.abort());
    move('login');
    const login = { Username: options.user, Secret: options.secret, Events: options.events };
    const answer = await send('Login', login, null, LOGIN_MS, {});
    // Only this answer means that the secret is wrong; an engine that shuts down also rejects logins, but only for a moment.
    if (!answer.ok)
      end(
        answer.message === 'Authentication failed' ? 'refused' : 'no_manager',
        `the engine refused the login: ${answer.message}`,
      );
    heartbeat().catch(() => {});
    if (options.awaitBoot) {
      if (connection.state() === 'login') move('booting');
      await booted.promise;
    }
    if (connection.state() !== 'closed') move('up');
  } catch (error) {
    const secret = error instanceof ServiceError && error.code === 'invalid_request';
    end(secret ? 'refused' : 'no_manager', messageOf(error));
  }
  if (connection.state() === 'closed') throw new AmiClosed(await ended.promise);
  return connection;
};
