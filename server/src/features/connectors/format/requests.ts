import { bodyOf, sendJson } from '../../../outbound/json.ts';
import type { JsonRequest, JsonResult, Send } from '../../../outbound/json.ts';
import type { Auth, Signed } from './auth.ts';
import type { CompiledRequest, ConnectorFile } from './compile.ts';
import type { Scope } from './names.ts';
import type { Secrets } from './settings.ts';
import { partOf } from './page.ts';
import { fillText } from './template.ts';
import { uploadOf } from './upload.ts';
import type { AudioOf } from './upload.ts';

/** Reason why a verb has no result. */
export interface ConnectorFailure {
  /**
   * `refused`: the system refuses the request and would refuse it again. `unsent`: not done, try later. `unknown`:
   * perhaps done. `disconnected`: the system does not accept the sign-in any more; an administrator has to act.
   */
  readonly kind: 'refused' | 'unsent' | 'unknown' | 'disconnected';
  readonly status: number | null;
  /** Words of the system, without secrets. */
  readonly words: string;
  readonly retry_after_seconds: number | null;
}
export type ConnectorResult<T> = { readonly kind: 'done'; readonly value: T } | ConnectorFailure;
/** One request and its answer, without secrets. */
export interface TracedExchange {
  readonly verb: string;
  readonly method: string;
  readonly url: string;
  readonly body: string | null;
  readonly status: number | null;
  readonly answer: string;
  readonly reason: string | null;
  readonly latency_ms: number;
}
/** A failure of a request, with the answer that came with it. */
export type Refused = ConnectorFailure & { readonly answer?: unknown };
export type Answered = { readonly kind: 'done'; readonly value: unknown } | Refused;

const MAX_WORDS = 300;
/** Statuses for which the system did nothing and the same request may succeed later. */
const WAIT_ON: ReadonlySet<number> = new Set([408, 425, 429, 503]);
export const failure = (
  kind: ConnectorFailure['kind'],
  words: string,
  more: Partial<ConnectorFailure> = {},
): ConnectorFailure => ({ kind, status: null, words, retry_after_seconds: null, ...more });

/** Address of a request; throws if a value is missing or the address would leave the base. */
export function addressOf(base: string, request: CompiledRequest, scope: Scope): string {
  const path = fillText(request.path, scope, partOf);
  if (path === undefined) throw new Error('the path has no value');
  const url = new URL(base.replace(/\/$/, '') + path);
  const { origin, pathname } = new URL(base);
  if (url.origin !== origin || !url.pathname.startsWith(pathname.replace(/\/$/, '')))
    throw new Error('the path leaves the base address');
  for (const [name, value] of request.query) {
    const filled = value(scope);
    if (filled === undefined || filled === null) continue;
    for (const one of Array.isArray(filled) ? filled : [filled]) {
      if (typeof one === 'object') throw new Error(`query.${name} is not a text; use json()`);
      url.searchParams.append(name, String(one));
    }
  }
  return url.href;
}
/** Headers of a request; throws for a value with a line break or another forbidden character. */
export function headersOf(headers: CompiledRequest['headers'], scope: Scope): Record<string, string> {
  return Object.fromEntries(
    headers.flatMap(([name, value]) => {
      const text = fillText(value, scope);
      if (text === undefined) return [];
      if (/[^\t\x20-\x7e\x80-\xff]/.test(text))
        throw new Error(`header ${name} contains a line break or a character that headers must not have`);
      return [[name, text]];
    }),
  );
}
function formOf(request: CompiledRequest, scope: Scope): Record<string, string> | undefined {
  if (request.form === undefined) return undefined;
  const filled = request.form(scope) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(filled).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}
/** Error message of an answer. */
function wordsOf(value: unknown, status: number | null): string {
  if (typeof value === 'object' && value !== null) {
    for (const name of ['error_description', 'message', 'error', 'detail', 'title', 'errors']) {
      const words = (value as Readonly<Record<string, unknown>>)[name];
      if (typeof words === 'string' && words !== '') return words;
    }
    return JSON.stringify(value);
  }
  return typeof value === 'string' && value !== '' ? value : `status ${status}`;
}

export interface RequesterParts {
  readonly file: ConnectorFile;
  readonly base: string;
  readonly send: Send;
  readonly auth: Auth;
  readonly secrets: Secrets;
  /** Null if no one reads the exchanges, because hiding their secrets takes time. */
  readonly trace: ((exchange: TracedExchange) => void) | null;
}
interface Work {
  readonly verb: string;
  readonly request: CompiledRequest;
  readonly scope: Scope;
  /** True if the system may receive the request twice. */
  readonly repeatable: boolean;
  readonly audio: AudioOf | null;
}
/** Sends the requests of one connector with its sign-in, and classifies the answers. */
export class Requester {
  readonly #parts: RequesterParts;
  constructor(parts: RequesterParts) {
    this.#parts = parts;
  }
  idle(): Promise<void> {
    return this.#parts.auth.idle();
  }
  /** `repeatable`: the system may receive the request twice. */
  async ask(
    verb: string,
    request: CompiledRequest,
    scope: Scope,
    signal: AbortSignal,
    repeatable: boolean,
    audio: AudioOf | null = null,
  ): Promise<Answered> {
    const { auth } = this.#parts;
    const work = { verb, request, scope, repeatable, audio };
    const first = await this.#signed(verb, signal);
    if ('kind' in first) return first;
    const answered = await this.#once(work, first, signal);
    if (answered.kind !== 'refused' || answered.status !== 401) return answered;
    const refused = auth.renew(first);
    if (refused !== null) return this.#hidden(refused);
    const second = await this.#signed(verb, signal);
    if ('kind' in second) return second;
    const again = await this.#once(work, second, signal);
    if (again.kind !== 'refused' || again.status !== 401) return again;
    return failure('disconnected', again.words, { status: 401 });
  }

  async #signed(verb: string, signal: AbortSignal): Promise<Signed | ConnectorFailure> {
    try {
      const signed = await this.#parts.auth.sign(signal);
      return 'kind' in signed ? this.#hidden(signed) : signed;
    } catch (error) {
      return this.#hidden(failure('refused', `${verb}: ${(error as Error).message}`));
    }
  }
  #hidden<T extends ConnectorFailure>(failed: T): T {
    return { ...failed, words: this.#parts.secrets.hide(failed.words).slice(0, MAX_WORDS) };
  }
  async #once(
    { verb, request, scope, repeatable, audio }: Work,
    signed: Signed,
    signal: AbortSignal,
  ): Promise<Answered> {
    const { file, base, send } = this.#parts;
    let built: JsonRequest;
    try {
      const url = new URL(addressOf(base, request, scope));
      for (const [name, value] of Object.entries(signed.query)) url.searchParams.set(name, value);
      const form = formOf(request, scope);
      const body = request.body?.(scope);
      if (request.body && body === undefined) throw new Error('the body has no value');
      built = {
        method: request.method,
        url: url.href,
        headers: {
          ...headersOf(file.headers, scope),
          ...headersOf(request.headers, scope),
          ...signed.headers,
        },
        ...(request.body && { body }),
        ...(form && { form }),
        repeatable,
      };
      const upload = audio && uploadOf(built, request.file, audio);
      if (upload) built = { ...built, upload };
    } catch (error) {
      return this.#hidden(failure('refused', `${verb}: ${(error as Error).message}`));
    }
    const result = await sendJson(send, built, signal);
    this.#trace(verb, built, result);
    const judged = this.#judge(request, scope, result);
    return judged.kind === 'done' ? judged : this.#hidden(judged);
  }
  #trace(verb: string, request: JsonRequest, result: JsonResult): void {
    const { secrets, trace } = this.#parts;
    if (trace === null) return;
    const body = bodyOf(request);
    trace({
      verb,
      method: request.method,
      url: secrets.hide(request.url),
      body: body && secrets.hide(body.text),
      status: result.status,
      answer: secrets.hide(result.text),
      reason: result.reason && secrets.hide(result.reason),
      latency_ms: result.latency_ms,
    });
  }
  #judge(request: CompiledRequest, scope: Scope, result: JsonResult): Answered {
    const { status, value, retry_after_seconds } = result;
    const more = { status, retry_after_seconds };
    if (result.kind === 'unsent' || result.kind === 'unknown')
      return failure(result.kind, result.reason ?? '', more);
    if (status !== null && WAIT_ON.has(status)) return failure('unsent', wordsOf(value, status), more);
    const good = status !== null && ((status >= 200 && status < 300) || request.ok.includes(status));
    if (result.kind === 'unreadable') {
      // The system may have performed a request whose answer cannot be read.
      const kind = good || (status !== null && status >= 500) ? 'unknown' : 'refused';
      return failure(kind, result.reason ?? '', more);
    }
    if (good) {
      const failed = this.#parts.file.fails?.({ ...scope, answer: value, missed: undefined });
      if (failed === undefined || failed === null || failed === false || failed === '')
        return { kind: 'done', value };
      return {
        ...failure('refused', typeof failed === 'string' ? failed : wordsOf(failed, status), more),
        answer: value,
      };
    }
    const kind = status !== null && status >= 500 ? 'unknown' : 'refused';
    return { ...failure(kind, wordsOf(value, status), more), answer: value };
  }
}
