/** The session of a client: its token, its renewal and the requests that are repeated after it. */
import type { z } from 'zod';
import type { LoginReply } from '@offhook/contract/session.ts';
import { unharmed } from './environment.ts';
import { OffhookError, clientError } from './errors.ts';
import type { Http, HttpRequest } from './http.ts';

export interface SessionOptions {
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
}
export type LoginResult = z.infer<typeof LoginReply>;
/**
 * True if the session is over. A wrong password or one-time code is also a 401, but a new session would not help, and
 * the service would count a repeat as a second failure.
 */
const isOver = (error: unknown): error is OffhookError =>
  error instanceof OffhookError && error.status === 401 && error.code === 'not_authenticated';
/** Prefix of API keys, which have no session to renew. */
const KEY_PREFIX = 'ohk_';

export class Session {
  readonly #http: Http;
  readonly #options: SessionOptions;
  readonly #byCookie: boolean;
  #token: string | null;
  /** Counts sessions that began or ended, because cookie sessions have no token to compare. */
  #sessions = 0;
  #renewing: Renewal | null = null;
  #changing: Promise<LoginResult> | null = null;

  constructor(http: Http, options: SessionOptions) {
    this.#http = http;
    this.#options = options;
    this.#byCookie = options.session === 'cookie';
    this.#token = options.token ?? null;
  }
  get token(): string | null {
    return this.#token;
  }
  async login(body: object, signal?: AbortSignal): Promise<LoginResult> {
    const request: HttpRequest = { method: 'POST', path: '/api/auth/login', body, signal };
    return this.#kept(await this.#http.send<LoginResult>(request, null));
  }
  async logout(signal?: AbortSignal): Promise<void> {
    if (this.#byCookie || this.#token !== null) {
      await this.#http.send({ method: 'POST', path: '/api/v1/session/logout', signal }, this.#token);
    }
    this.#keep(null);
  }
  /** A new password ends all sessions; while it is being changed, the session of its reply is the renewed one. */
  async renew(signal?: AbortSignal): Promise<LoginResult> {
    signal?.throwIfAborted();
    if (this.#changing !== null) {
      try {
        return await unlessAborted(this.#changing, signal);
      } catch {
        signal?.throwIfAborted();
      }
    }
    return await this.#renewed(signal);
  }
  readonly changePassword = (current_password: string, new_password: string): Promise<LoginResult> => {
    const body = { current_password, new_password };
    const ask = (): Promise<LoginResult> =>
      this.#http.send({ method: 'POST', path: '/api/v1/session/password', body }, this.#token);
    const asked = ask().catch(async (error: unknown) => {
      if (!isOver(error)) throw error;
      await this.#renewed();
      return ask();
    });
    this.#changing = asked
      .then((reply) => this.#kept(reply))
      .finally(() => {
        this.#changing = null;
      });
    return this.#changing;
  };
  /** Repeats a request after the person confirmed the session. */
  async confirmed<T>(what: string, request: () => Promise<T>): Promise<T> {
    const { onConfirm } = this.#options;
    try {
      return await request();
    } catch (error) {
      const asks = error instanceof OffhookError && error.code === 'confirmation_required';
      if (!asks || onConfirm === undefined || !(await onConfirm(what))) throw error;
      return await request();
    }
  }
  /** Sends a request, and once more with a renewed session if its session is over. */
  async signedIn<T>(
    request: HttpRequest,
    send: (request: HttpRequest, bearer: string | null) => Promise<T>,
  ): Promise<T> {
    const used = this.#token;
    const session = this.#sessions;
    try {
      return await send(request, used);
    } catch (error) {
      if (!isOver(error)) throw error;
      if (used === null ? !this.#byCookie : used.startsWith(KEY_PREFIX)) throw error;
      if (this.#sessions === session) await this.renew(request.signal);
      return await send(request, this.#token);
    }
  }

  #keep(next: string | null): void {
    this.#sessions += 1;
    if (next === null) unharmed(() => this.#options.onSignedOut?.());
    if (this.#byCookie) return;
    this.#token = next;
    unharmed(() => this.#options.onToken?.(next));
  }
  #kept(reply: LoginResult): LoginResult {
    this.#keep(reply.token);
    return reply;
  }
  async #renewed(signal?: AbortSignal): Promise<LoginResult> {
    const renewal = this.#renewal();
    renewal.waiting += 1;
    try {
      return await unlessAborted(renewal.reply, signal);
    } finally {
      renewal.waiting -= 1;
      // The next attempt must not wait for a request that hangs.
      if (renewal.waiting === 0) renewal.stop.abort();
    }
  }
  /** One renewal serves all requests whose session ended at the same time; it is aborted when none of them waits any more. */
  #renewal(): Renewal {
    if (this.#token?.startsWith(KEY_PREFIX)) {
      throw clientError('not_authenticated', 'this API key is no longer valid');
    }
    if (this.#renewing !== null) return this.#renewing;
    const stop = new AbortController();
    const over = (): void => {
      if (this.#renewing === renewal) this.#renewing = null;
    };
    stop.signal.addEventListener('abort', over);
    const request: HttpRequest = { method: 'GET', path: '/api/mobile/refresh.php', signal: stop.signal };
    const reply = this.#http
      .send<LoginResult>(request, this.#token)
      .then(
        (login) => this.#kept(login),
        (error: unknown) => {
          if (error instanceof OffhookError && error.status === 401 && error.problem !== null)
            this.#keep(null);
          throw error;
        },
      )
      .finally(over);
    const renewal: Renewal = { reply, stop, waiting: 0 };
    this.#renewing = renewal;
    return renewal;
  }
}
interface Renewal {
  readonly reply: Promise<LoginResult>;
  readonly stop: AbortController;
  /** Number of requests that wait for the reply. */
  waiting: number;
}
/** Rejects at once when the signal aborts; the work continues, because others may wait for it. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  return promise;
}
