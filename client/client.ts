/**
 * The SDK: typed REST for browsers and Node, with automatic renewal of the session.
 *
 * ```ts
 * const offhook = createClient({ base: 'http://127.0.0.1:8080' });
 * await offhook.login({ username: '1003', password });
 * await offhook.agent({ action: 'pause', reason: 'lunch' });
 * ```
 */
import type { z } from 'zod';
import type { AgentReply, AgentRequest } from '@offhook/contract/agents.ts';
import type { Contacts } from '@offhook/contract/extensions.ts';
import type { History, HistoryFilter } from '@offhook/contract/history.ts';
import type { CommandOptions } from './commands.ts';
import type { Environment } from './environment.ts';
import { OffhookError } from './errors.ts';
import { Http } from './http.ts';
import type { HttpOptions, HttpRequest } from './http.ts';
import { createRest, queryOf } from './rest.ts';
import type { Rest } from './rest.ts';
import { Session } from './session.ts';
import type { LoginResult, SessionOptions } from './session.ts';
import { createStore } from './store.ts';
import type { Store, StoreOptions } from './store.ts';
import type { StoreRecords, StoreTopic } from './folds.ts';
import { createStream } from './stream.ts';
import type { EventStream, StreamOptions, StreamSession } from './stream.ts';
import type { ImportQuery, ImportReply } from '@offhook/contract/phonebook-files.ts';
import type { LanguageUploaded, SoundKind, UploadedSound } from '@offhook/contract/sounds.ts';
import type { Ping } from '@offhook/contract/session.ts';

export { OffhookError };
export type { ClientErrorCode } from './errors.ts';
export type { CommandOptions } from './commands.ts';
export { cursorOf } from './events.ts';
export type { GapItem, SnapshotItem, StreamCursor, StreamEvent, StreamItem } from './events.ts';
export * from './folds.ts';
export type { RequestOptions } from './rest.ts';
export type { LoginResult } from './session.ts';
export type { Store, StoreListener, StoreOptions } from './store.ts';
export type { EventStream, StreamOptions, StreamState } from './stream.ts';
export type ContactsResult = Contacts;
export type HistoryResult = z.infer<typeof History>;

export interface ClientOptions extends HttpOptions, SessionOptions {
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
  /** Selects the limit of the sound's duration; `prompt` by default. */
  readonly kind?: SoundKind;
  readonly signal?: AbortSignal;
}
/** Every method rejects with `OffhookError`, or with the error of the network or the signal. */
export interface Client extends Rest {
  readonly token: string | null;
  ping(signal?: AbortSignal): Promise<z.infer<typeof Ping>>;
  login(input: LoginInput, signal?: AbortSignal): Promise<LoginResult>;
  /** Renews the session now; a request does so once on its own after a 401. */
  refresh(signal?: AbortSignal): Promise<LoginResult>;
  logout(signal?: AbortSignal): Promise<void>;
  contacts(filter?: ContactsFilter, signal?: AbortSignal): Promise<ContactsResult>;
  history(query?: HistoryQueryInput, signal?: AbortSignal): Promise<HistoryResult>;
  /** Hides calls from this person's own view; resolves with their number. */
  hideCalls(callKeys: readonly string[], signal?: AbortSignal): Promise<number>;
  clearHistory(signal?: AbortSignal): Promise<void>;
  /**
   * The audio of a recording as a stream, WAV; `range` is a header such as `bytes=0-999`. The request has no time
   * limit; the signal ends it. The audit trail of the site lists each listening.
   */
  audio(recording: string, options?: { range?: string; signal?: AbortSignal }): Promise<Response>;
  /** The file of an export as a stream; the signal ends it. The audit trail of the site lists each download. */
  exportFile(id: number, options?: { signal?: AbortSignal }): Promise<Response>;
  /**
   * Uploads a prompt or music on hold, identified by its content. The request has no time limit; the signal ends it.
   * Uploading the same sound again returns the same id.
   */
  uploadSound(sound: Blob, options?: UploadOptions): Promise<z.infer<typeof UploadedSound>>;
  /**
   * Uploads prompts of the engine in a language: an archive (zip, tar, tar.gz), or with `prompt` the sound of that one
   * prompt. The request has no time limit; the signal ends it.
   */
  uploadPrompts(
    language: string,
    content: Blob,
    options?: { prompt?: string; signal?: AbortSignal },
  ): Promise<LanguageUploaded>;
  /** An uploaded sound as stored, WAV; `range` as with `audio`. */
  soundFile(sound: string, options?: { range?: string; signal?: AbortSignal }): Promise<Response>;
  /** Imports customers from a CSV or vCard file. The request has no time limit; the signal ends it. */
  importCustomers(
    content: Blob,
    kind: 'csv' | 'vcard',
    query: z.input<typeof ImportQuery>,
    signal?: AbortSignal,
  ): Promise<ImportReply>;
  agent(request: AgentRequest, signal?: AbortSignal): Promise<AgentReply>;
  /** Opens a stream, which connects at once; read it with `for await`. */
  stream(options: StreamOptions): EventStream;
  /** The state of a topic, kept current: agents and presence by extension, queues by name, calls by id. */
  store<T extends StoreTopic>(topic: T, options?: StoreOptions): Store<StoreRecords[T]>;
  /**
   * Runs an operation by name, on an open stream or else on its own connection. Rejects with `OffhookError`; the code
   * `outcome_unknown` means that the command may have run: it is never sent twice.
   */
  command(action: string, data?: object, options?: CommandOptions): Promise<unknown>;
}

export function createClient(options: ClientOptions): Client {
  const http = new Http(options);
  const session = new Session(http, options);
  const raw = (request: HttpRequest): Promise<Response> =>
    session.signedIn(request, (one, bearer) => http.fetch(one, bearer));
  const call = <T>(request: HttpRequest): Promise<T> =>
    session.confirmed(request.path, () =>
      session.signedIn(request, (one, bearer) => http.send<T>(one, bearer)),
    );
  const get = <T>(path: string, signal?: AbortSignal): Promise<T> => call<T>({ method: 'GET', path, signal });
  const post = <T>(path: string, body: object | undefined, signal?: AbortSignal): Promise<T> =>
    call<T>({ method: 'POST', path, body, signal });

  const rest = createRest((method, path, body, how) => call({ method, path, body, ...how }));
  const streams = new Set<EventStream>();
  const streamSession: StreamSession = {
    base: options.base,
    async ticket(signal) {
      return (await post<{ ticket: string }>('/api/v1/stream/ticket', undefined, signal)).ticket;
    },
    renew: () => session.renew(),
  };
  function open(how: StreamOptions): EventStream {
    const onState: StreamOptions['onState'] = (state, why) => {
      if (state === 'closed') streams.delete(stream);
      how.onState?.(state, why);
    };
    const stream = createStream(streamSession, { ...how, onState }, options.environment);
    if (stream.state !== 'closed') streams.add(stream);
    return stream;
  }

  return {
    ...rest,
    session: { ...rest.session, changePassword: session.changePassword },
    get token() {
      return session.token;
    },
    ping: (signal) => http.send({ method: 'GET', path: '/api/mobile/ping.php', signal }, null),
    login: (input, signal) => session.login(input, signal),
    refresh: (signal) => session.renew(signal),
    logout: (signal) => session.logout(signal),
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
      raw({ method: 'GET', path: `/api/v1/recordings/${encodeURIComponent(recording)}/audio`, ...how }),
    exportFile: (id, how = {}) => raw({ method: 'GET', path: `/api/v1/exports/${id}/file`, ...how }),
    async uploadSound(sound, { kind = 'prompt', signal } = {}) {
      const path = `/api/v1/config/sounds${queryOf({ kind })}`;
      const file = { content: sound, type: 'application/octet-stream' };
      const response = await raw({ method: 'POST', path, file, signal });
      return (await response.json()) as z.infer<typeof UploadedSound>;
    },
    async uploadPrompts(language, content, { prompt, signal } = {}) {
      const path = `/api/v1/config/languages/${encodeURIComponent(language)}${queryOf({ prompt })}`;
      const file = { content, type: 'application/octet-stream' };
      const response = await raw({ method: 'POST', path, file, signal });
      return (await response.json()) as LanguageUploaded;
    },
    async importCustomers(content, kind, query, signal) {
      const path = `/api/v1/phonebook/import${queryOf(query)}`;
      const response = await raw({ method: 'POST', path, file: { content, type: `text/${kind}` }, signal });
      return (await response.json()) as ImportReply;
    },
    soundFile: (sound, how = {}) =>
      raw({ method: 'GET', path: `/api/v1/config/sounds/${encodeURIComponent(sound)}`, ...how }),
    agent: (request, signal) => post('/api/cc_actions/agent.php', request, signal),
    stream: open,
    store: (topic, how = {}) => createStore(topic, how, open),
    async command(action, data, how) {
      const carrier = (['live', 'resuming', 'connecting'] as const)
        .map((state) => [...streams].find((stream) => stream.state === state))
        .find((stream) => stream !== undefined);
      if (carrier !== undefined)
        return await session.confirmed(action, () => carrier.command(action, data, how));
      const own = open({ topics: [] });
      try {
        return await session.confirmed(action, () => own.command(action, data, how));
      } finally {
        own.close();
      }
    },
  };
}
