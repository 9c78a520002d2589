/** One HTTP request: headers, time limit and refusal. */
import type { Problem } from '@offhook/contract/errors.ts';
import { OffhookError, clientError } from './errors.ts';
import type { Method } from './rest.ts';

export interface HttpOptions {
  /** Scheme, host and port, e.g. `https://pbx.example.com`. */
  readonly base: string;
  /** Language of error texts, such as `tr`; called before each request. Defaults to the browser's language. */
  readonly language?: () => string;
  /** Limit of one request, 30,000 ms by default. A change that took longer rejects with `outcome_unknown`. */
  readonly timeout_ms?: number;
  /**
   * Limit of a change that a person waits for, the sign-in included; `timeout_ms` by default. Longer work (applies, imports and
   * other work on the whole draft, exports, erasures, the test of a webhook) keeps `timeout_ms`.
   */
  readonly change_timeout_ms?: number;
}
export interface HttpRequest {
  readonly method: Method;
  readonly path: string;
  readonly body?: object | undefined;
  /** A file as the body. */
  readonly file?: { readonly content: Blob; readonly type: string };
  readonly signal?: AbortSignal | undefined;
  readonly idempotency_key?: string | undefined;
  readonly slow?: boolean | undefined;
  readonly range?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
/** The service rejects slower uploads; the time limit of a large change follows from this rate. */
const LOWEST_BYTES_PER_SECOND = 16_384;

export class Http {
  readonly #options: HttpOptions;
  readonly #timeout_ms: number;
  readonly #change_timeout_ms: number;

  constructor(options: HttpOptions) {
    const { timeout_ms = 30_000, change_timeout_ms = timeout_ms } = options;
    this.#options = options;
    this.#timeout_ms = timeout_ms;
    this.#change_timeout_ms = change_timeout_ms;
  }
  /** Has no time limit; rejects with `OffhookError` unless the status is a success. */
  async fetch(
    { method, path, body, file, signal, idempotency_key, range, headers }: HttpRequest,
    bearer: string | null,
    json = body === undefined ? undefined : JSON.stringify(body),
  ): Promise<Response> {
    const { base, language } = this.#options;
    const response = await fetch(new URL(path, base), {
      method,
      headers: {
        ...headers,
        ...(language === undefined ? {} : { 'x-app-language': language() }),
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(file === undefined ? {} : { 'content-type': file.type }),
        ...(range === undefined ? {} : { range }),
        ...(idempotency_key === undefined ? {} : { 'idempotency-key': idempotency_key }),
      },
      ...(json === undefined ? {} : { body: json }),
      ...(file === undefined ? {} : { body: file.content }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.ok) return response;
    throw await refusalOf(response, signal);
  }
  /** Resolves with the JSON of the reply; a change without an answer in time rejects with `outcome_unknown`. */
  async send<T>(request: HttpRequest, bearer: string | null): Promise<T> {
    const { method, slow = false, signal: own, body } = request;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const sending = slow ? Math.floor(((text?.length ?? 0) / LOWEST_BYTES_PER_SECOND) * 1_000) : 0;
    const limit = new AbortController();
    const timer = setTimeout(
      () => limit.abort(new DOMException('no answer came in time', 'TimeoutError')),
      (method === 'GET' || slow ? this.#timeout_ms : this.#change_timeout_ms) + sending,
    );
    const signal = own === undefined ? limit.signal : AbortSignal.any([own, limit.signal]);
    const unknown = (): boolean => method !== 'GET' && limit.signal.aborted && own?.aborted !== true;
    try {
      const response = await this.fetch({ ...request, signal }, bearer, text);
      const json = await jsonOf(response, signal);
      if (json !== null) return json as T;
      throw new OffhookError(response.status, null, null);
    } catch (error) {
      throw unknown() ? clientError('outcome_unknown', 'no answer came in time') : error;
    } finally {
      clearTimeout(timer);
    }
  }
}
/** Null for a body that is no JSON; rejects with the reason of a signal that ended the body. */
const jsonOf = (response: Response, signal: AbortSignal | undefined): Promise<unknown> =>
  response.json().catch(() => {
    signal?.throwIfAborted();
    return null;
  });
async function refusalOf(response: Response, signal: AbortSignal | undefined): Promise<OffhookError> {
  const json = await jsonOf(response, signal);
  const problem = json !== null && typeof json === 'object' && 'code' in json ? (json as Problem) : null;
  const retry = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new OffhookError(response.status, problem, Number.isNaN(retry) ? null : retry);
}
