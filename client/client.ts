/**
 * The SDK: typed REST for browsers and Node, with the session renewed by itself.
 *
 * ```ts
 * const offhook = createClient({ base: 'http://127.0.0.1:8080' });
 * await offhook.login({ username: '1003', password });
 * await offhook.agent({ action: 'pause', reason: 'lunch' });
 * ```
 */
import type { z } from 'zod';
import type { AgentReply, AgentRequest } from '@offhook/contract/agents.ts';
import type { Problem } from '@offhook/contract/errors.ts';
import type { Contacts } from '@offhook/contract/extensions.ts';
import type { History, HistoryFilter } from '@offhook/contract/history.ts';
import type { CommandOptions } from './commands.ts';
import type { Environment } from './environment.ts';
import { OffhookError, clientError } from './errors.ts';
import { createRest, queryOf } from './rest.ts';
import type { Method, Rest } from './rest.ts';
import { createStore } from './store.ts';
import type { Store, StoreOptions } from './store.ts';
import type { StoreRecords, StoreTopic } from './folds.ts';
import { createStream } from './stream.ts';
import type { EventStream, StreamOptions, StreamSession } from './stream.ts';
import type { SoundKind, UploadedSound } from '@offhook/contract/sounds.ts';
import type { LoginReply, Ping } from '@offhook/contract/session.ts';

export { OffhookError };
export type { ClientErrorCode } from './errors.ts';
export type { CommandOptions } from './commands.ts';
export { cursorOf } from './events.ts';
export type { GapItem, SnapshotItem, StreamCursor, StreamEvent, StreamItem } from './events.ts';
export * from './folds.ts';
export type { RequestOptions } from './rest.ts';
export type { Store, StoreListener, StoreOptions } from './store.ts';
export type { EventStream, StreamOptions, StreamState } from './stream.ts';
export type LoginResult = z.infer<typeof LoginReply>;
export type ContactsResult = Contacts;
export type HistoryResult = z.infer<typeof History>;

/** The service rejects slower uploads; the time limit of a large change follows from this rate. */
const LOWEST_BYTES_PER_SECOND = 16_384;
export interface ClientOptions {
  /** Scheme, host and port, e.g. `https://pbx.example.com`. */
  readonly base: string;
  /** A token of an earlier session. */
  readonly token?: string;
  /** Called with each new token, so that it can be stored; with null when the session is over. */
  readonly onToken?: (token: string | null) => void;
  /**
   * `cookie`: for pages of the service itself. The browser keeps the session out of reach of scripts, and `token` is null.
   * Default: `token`.
   */
  readonly session?: 'token' | 'cookie';
  /** Called when the session is over and cannot be renewed. */
  readonly onSignedOut?: () => void;
  /**
   * Called on `confirmation_required`: ask for the password, call `session.confirm`, and resolve true to repeat the request.
   * `what` is the path of the request, or the name of the command.
   */
  readonly onConfirm?: (what: string) => Promise<boolean>;
  /** Language of error texts, such as `tr`; called before each request. Defaults to the browser's language. */
  readonly language?: () => string;
  /** Limit of one request, 30,000 ms by default. A change that took longer rejects with `outcome_unknown`. */
  readonly timeout_ms?: number;
  /**
   * Limit of a change that a person waits for, the sign-in included; `timeout_ms` by default. Longer work (applies, imports and
   * other work on the whole draft, exports, erasures, the test of a webhook) keeps `timeout_ms`.
   */
  readonly change_timeout_ms?: number;
  /** Clock, randomness and sockets of the streams; for tests. */
  readonly environment?: Environment;
}
export interface LoginInput {
  readonly username: string;
  readonly password: string;
  readonly otp?: string;
  readonly device_name?: string;
  readonly platform?: string;
}
export interface ContactsFilter {
  readonly q?: string;
  readonly limit?: number;
  /** `next_cursor` of the previous page. */
  readonly cursor?: string;
  /** @deprecated Pages shift while the list changes: use `cursor`. */
  readonly offset?: number;
}
export interface HistoryQueryInput {
  readonly filter?: HistoryFilter;
  readonly q?: string;
  readonly limit?: number;
  /** @deprecated Pages shift while calls are added: use `cursor`. */
  readonly offset?: number;
  readonly cursor?: string;
  /** RFC 3339. */
  readonly from?: string;
  readonly to?: string;
  readonly extension?: string;
}
export interface UploadOptions {
  /** Sets the limit of its duration; `prompt` by default. */
  readonly kind?: SoundKind;
  readonly signal?: AbortSignal;
}
/** Every method rejects with `OffhookError`, or with the error of the network or the signal. */
export interface Client extends Rest {
  readonly token: string | null;
  ping(signal?: AbortSignal): Promise<z.infer<typeof Ping>>;
  login(input: LoginInput, signal?: AbortSignal): Promise<LoginResult>;
  /** Renews the session now; requests do so once by themselves after a 401. */
  refresh(signal?: AbortSignal): Promise<LoginResult>;
  logout(signal?: AbortSignal): Promise<void>;
  contacts(filter?: ContactsFilter, signal?: AbortSignal): Promise<ContactsResult>;
  history(query?: HistoryQueryInput, signal?: AbortSignal): Promise<HistoryResult>;
  /** Hides calls from this person's own view; resolves with their number. */
  hideCalls(callKeys: readonly string[], signal?: AbortSignal): Promise<number>;
  clearHistory(signal?: AbortSignal): Promise<void>;
  /**
   * The audio of a recording as a stream, WAV; `range` is a header such as `bytes=0-999`. Without a time limit: the signal ends
   * it. The audit trail of the site lists each listening.
   */
  audio(recording: string, options?: { range?: string; signal?: AbortSignal }): Promise<Response>;
  /** The file of an export as a stream; the signal ends it. The audit trail of the site lists each download. */
  exportFile(id: number, options?: { signal?: AbortSignal }): Promise<Response>;
  /**
   * Uploads a prompt or music on hold, identified by its content. Without a time limit: the signal ends it. Uploading the same
   * sound again returns the same id.
   */
  uploadSound(sound: Blob, options?: UploadOptions): Promise<z.infer<typeof UploadedSound>>;
  /** An uploaded sound as stored, WAV; `range` as with `audio`. */
  soundFile(sound: string, options?: { range?: string; signal?: AbortSignal }): Promise<Response>;
  agent(request: AgentRequest, signal?: AbortSignal): Promise<AgentReply>;
  /** Starts at once; read it with `for await`. */
  stream(options: StreamOptions): EventStream;
  /** The state of a topic, kept current: agents and presence by extension, queues by name, calls by id. */
  store<T extends StoreTopic>(topic: T, options?: StoreOptions): Store<StoreRecords[T]>;
  /**
   * Runs an operation by name, on an open stream or else on its own connection. Rejects with `OffhookError`; the code
   * `outcome_unknown` means that the command may have run: it is never sent twice.
   */
  command(action: string, data?: object, options?: CommandOptions): Promise<unknown>;
}

interface Call {
  readonly method: Method;
  readonly path: string;
  readonly body?: object | undefined;
  readonly sound?: Blob;
  readonly signal?: AbortSignal | undefined;
  readonly idempotency_key?: string | undefined;
  readonly slow?: boolean | undefined;
  readonly range?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A wrong password or wrong digits do not count: a new session would not help, and a repeat counts as a second failure. */
const isOver = (error: unknown): error is OffhookError =>
  error instanceof OffhookError && error.status === 401 && error.code === 'not_authenticated';
/** Prefix of API keys, which have no session to renew. */
const KEY_PREFIX = 'ohk_';

export function createClient(options: ClientOptions): Client {
  const { timeout_ms = 30_000, change_timeout_ms = timeout_ms } = options;
  const byCookie = options.session === 'cookie';
  let token: string | null = options.token ?? null;
  /** Counts sessions that began or ended, because cookie sessions have no token to compare. */
  let sessions = 0;
  let renewing: Promise<LoginResult> | null = null;
  let changing: Promise<LoginResult> | null = null;
  const keep = (next: string | null): void => {
    sessions += 1;
    if (next === null) options.onSignedOut?.();
    if (byCookie) return;
    token = next;
    options.onToken?.(next);
  };

  async function ask(
    { method, path, body, sound, signal, idempotency_key, range, headers }: Call,
    bearer: string | null,
    json = body === undefined ? undefined : JSON.stringify(body),
  ): Promise<Response> {
    const response = await fetch(new URL(path, options.base), {
      method,
      headers: {
        ...headers,
        ...(options.language === undefined ? {} : { 'x-app-language': options.language() }),
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(sound === undefined ? {} : { 'content-type': 'application/octet-stream' }),
        ...(range === undefined ? {} : { range }),
        ...(idempotency_key === undefined ? {} : { 'idempotency-key': idempotency_key }),
      },
      ...(json === undefined ? {} : { body: json }),
      ...(sound === undefined ? {} : { body: sound }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.ok) return response;
    throw await refusalOf(response);
  }
  async function send<T>(request: Call, bearer: string | null): Promise<T> {
    const { method, slow = false, signal: own, body } = request;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const sending = slow ? Math.floor(((text?.length ?? 0) / LOWEST_BYTES_PER_SECOND) * 1_000) : 0;
    const limit = new AbortController();
    const timer = setTimeout(
      () => limit.abort(new DOMException('no answer came in time', 'TimeoutError')),
      (method === 'GET' || slow ? timeout_ms : change_timeout_ms) + sending,
    );
    const signal = own === undefined ? limit.signal : AbortSignal.any([own, limit.signal]);
    const unknown = (): boolean => method !== 'GET' && limit.signal.aborted && own?.aborted !== true;
    try {
      const response = await ask({ ...request, signal }, bearer, text);
      const json: unknown = await response.json().catch(() => null);
      if (json !== null) return json as T;
      throw new OffhookError(response.status, null, null);
    } catch (error) {
      throw unknown() ? clientError('outcome_unknown', 'no answer came in time') : error;
    } finally {
      clearTimeout(timer);
    }
  }
  async function refusalOf(response: Response): Promise<OffhookError> {
    const json: unknown = await response.json().catch(() => null);
    const problem = json !== null && typeof json === 'object' && 'code' in json ? (json as Problem) : null;
    const retry = Number(response.headers.get('retry-after') ?? Number.NaN);
    return new OffhookError(response.status, problem, Number.isNaN(retry) ? null : retry);
  }

  /** One renewal serves all requests that met the end of the session at the same time. */
  function renewed(signal?: AbortSignal): Promise<LoginResult> {
    if (token?.startsWith(KEY_PREFIX)) {
      return Promise.reject(clientError('not_authenticated', 'this API key is not valid any more'));
    }
    renewing ??= send<LoginResult>({ method: 'GET', path: '/api/mobile/refresh.php', signal }, token)
      .then(
        (reply) => {
          keep(reply.token);
          return reply;
        },
        (error: unknown) => {
          if (error instanceof OffhookError && error.status === 401) keep(null);
          throw error;
        },
      )
      .finally(() => {
        renewing = null;
      });
    return renewing;
  }

  /** A request that fails because a new password ended all sessions continues with the session of that reply. */
  const renew = (signal?: AbortSignal): Promise<LoginResult> =>
    changing === null ? renewed(signal) : changing.catch(() => renewed(signal));
  function changePassword(current_password: string, new_password: string): Promise<LoginResult> {
    const body = { current_password, new_password };
    const ask = (): Promise<LoginResult> =>
      send({ method: 'POST', path: '/api/v1/session/password', body }, token);
    const asked = ask().catch(async (error: unknown) => {
      if (!isOver(error)) throw error;
      await renewed();
      return ask();
    });
    changing = asked
      .then((reply) => {
        keep(reply.token);
        return reply;
      })
      .finally(() => {
        changing = null;
      });
    return changing;
  }

  /** Repeats a request after the person confirmed the session. */
  async function proven<T>(what: string, how: () => Promise<T>): Promise<T> {
    try {
      return await how();
    } catch (error) {
      const asks = error instanceof OffhookError && error.code === 'confirmation_required';
      if (!asks || options.onConfirm === undefined || !(await options.onConfirm(what))) throw error;
      return await how();
    }
  }
  /** Runs a request again with another session, where the session it used is over. */
  async function signedIn<T>(
    request: Call,
    how: (request: Call, bearer: string | null) => Promise<T>,
  ): Promise<T> {
    const used = token;
    const session = sessions;
    try {
      return await how(request, used);
    } catch (error) {
      if (!isOver(error)) throw error;
      if (used === null ? !byCookie : used.startsWith(KEY_PREFIX)) throw error;
      if (sessions === session) await renew(request.signal);
      return await how(request, token);
    }
  }
  const call = <T>(request: Call): Promise<T> => proven(request.path, () => signedIn<T>(request, send));
  const get = <T>(path: string, signal?: AbortSignal): Promise<T> => call<T>({ method: 'GET', path, signal });
  const post = <T>(path: string, body: object | undefined, signal?: AbortSignal): Promise<T> =>
    call<T>({ method: 'POST', path, body, signal });

  const rest = createRest((method, path, body, how) => call({ method, path, body, ...how }));
  const streams = new Set<EventStream>();
  const session: StreamSession = {
    base: options.base,
    async ticket(signal) {
      return (await post<{ ticket: string }>('/api/v1/stream/ticket', undefined, signal)).ticket;
    },
    renew: () => renew(),
  };
  function open(how: StreamOptions): EventStream {
    const onState: StreamOptions['onState'] = (state, why) => {
      if (state === 'closed') streams.delete(stream);
      how.onState?.(state, why);
    };
    const stream = createStream(session, { ...how, onState }, options.environment);
    if (stream.state !== 'closed') streams.add(stream);
    return stream;
  }

  return {
    ...rest,
    session: { ...rest.session, changePassword },
    get token() {
      return token;
    },
    ping: (signal) => send({ method: 'GET', path: '/api/mobile/ping.php', signal }, null),
    async login(input, signal) {
      const request: Call = { method: 'POST', path: '/api/auth/login', body: input, signal };
      const reply = await send<LoginResult>(request, null);
      keep(reply.token);
      return reply;
    },
    refresh: (signal) => renew(signal),
    async logout(signal) {
      if (byCookie || token !== null) {
        await send({ method: 'POST', path: '/api/v1/session/logout', signal }, token);
      }
      keep(null);
    },
    contacts: (filter = {}, signal) => get(`/api/mobile/contacts.php${queryOf(filter)}`, signal),
    history: (filter = {}, signal) => get(`/api/mobile/history.php${queryOf(filter)}`, signal),
    async hideCalls(callKeys, signal) {
      const body = { action: 'hide', call_keys: callKeys };
      return (await post<{ hidden: number }>('/api/mobile/call_history.php', body, signal)).hidden;
    },
    async clearHistory(signal) {
      await post('/api/mobile/call_history.php', { action: 'clear' }, signal);
    },
    audio: (recording, how = {}) =>
      signedIn(
        { method: 'GET', path: `/api/v1/recordings/${encodeURIComponent(recording)}/audio`, ...how },
        ask,
      ),
    exportFile: (id, how = {}) =>
      signedIn({ method: 'GET', path: `/api/v1/exports/${id}/file`, ...how }, ask),
    async uploadSound(sound, { kind = 'prompt', signal } = {}) {
      const path = `/api/v1/config/sounds${queryOf({ kind })}`;
      const response = await signedIn({ method: 'POST', path, sound, signal }, ask);
      return (await response.json()) as z.infer<typeof UploadedSound>;
    },
    soundFile: (sound, how = {}) =>
      signedIn({ method: 'GET', path: `/api/v1/config/sounds/${encodeURIComponent(sound)}`, ...how }, ask),
    agent: (request, signal) => post('/api/cc_actions/agent.php', request, signal),
    stream: open,
    store: (topic, how = {}) => createStore(topic, how, open),
    async command(action, data, how) {
      const carrier = (['live', 'resuming', 'connecting'] as const)
        .map((state) => [...streams].find((stream) => stream.state === state))
        .find((stream) => stream !== undefined);
      if (carrier !== undefined) return await proven(action, () => carrier.command(action, data, how));
      const own = open({ topics: [] });
      try {
        return await proven(action, () => own.command(action, data, how));
      } finally {
        own.close();
      }
    },
  };
}
