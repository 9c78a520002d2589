import { messageOf } from '../../../core/errors.ts';
import { sendJson } from '../../../outbound/json.ts';
import type { Send } from '../../../outbound/json.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { CompiledAuth } from './compile.ts';
import { addressOf, failure, headersOf } from './requests.ts';
import type { ConnectorFailure, TracedExchange } from './requests.ts';
import type { Scope } from './names.ts';
import type { Secrets } from './settings.ts';
import { fillText } from './template.ts';
import type { Template } from './template.ts';

/** Credentials of a request. */
export interface Signed {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}
/** A sign-in with its end of validity, in ms since 1970. */
export interface Obtained {
  readonly signed: Signed;
  readonly until: number;
}
export interface Auth {
  /** Signs in if needed. */
  sign(signal: AbortSignal): Promise<Signed | ConnectorFailure>;
  /** Call after a request with `refused` got a 401: null if another attempt may succeed. */
  renew(refused: Signed): ConnectorFailure | null;
  /** Resolves when no sign-in is in progress. */
  idle(): Promise<void>;
}
export interface AuthParts {
  readonly base: string;
  readonly scope: Scope;
  readonly send: Send;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly trace: (exchange: TracedExchange) => void;
}

/** Verb of a sign-in in a trace. */
export const SIGN_IN = 'sign-in';
const known = (template: Template, scope: Scope): string => fillText(template, scope) ?? '';
/** Authentication by constant settings, for which a 401 is final. */
function constantAuth(signed: Signed): Auth {
  return {
    sign: () => Promise.resolve(signed),
    renew: () => failure('disconnected', 'the system does not accept the sign-in', { status: 401 }),
    idle: () => Promise.resolve(),
  };
}

/** The sign-in that all requests of a session share; renewed when it is too old or refused. */
export class SharedSign implements Auth {
  readonly #obtain: (signal: AbortSignal) => Promise<Obtained | ConnectorFailure>;
  readonly #clock: Pick<Clock, 'now'>;
  #pending: Promise<Signed | ConnectorFailure> | null = null;
  #known: Obtained | null = null;
  constructor(
    clock: Pick<Clock, 'now'>,
    obtain: (signal: AbortSignal) => Promise<Obtained | ConnectorFailure>,
  ) {
    this.#clock = clock;
    this.#obtain = obtain;
  }
  /**
   * Concurrent requests share one sign-in, because a rotating refresh token works once. An aborted request ends only
   * its own wait, because the answer of the sign-in holds the next refresh token.
   */
  async sign(signal: AbortSignal): Promise<Signed | ConnectorFailure> {
    if (this.#known !== null && this.#clock.now() < this.#known.until) return this.#known.signed;
    this.#known = null;
    this.#pending ??= this.#renewed().finally(() => (this.#pending = null));
    const pending = this.#pending;
    return await new Promise((resolve, reject) => {
      const leave = (): void => resolve(failure('unsent', `sign-in: ${messageOf(signal.reason)}`));
      if (signal.aborted) leave();
      signal.addEventListener('abort', leave, { once: true });
      void pending.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    });
  }
  async idle(): Promise<void> {
    await this.#pending?.catch(() => undefined);
  }
  /** Makes the next request sign in again, unless another request did so since `refused` was sent. */
  renew(refused: Signed): null {
    if (this.#known?.signed === refused) this.#known = null;
    return null;
  }
  hold(obtained: Obtained): void {
    this.#known = obtained;
  }
  async #renewed(): Promise<Signed | ConnectorFailure> {
    const obtained = await this.#obtain(new AbortController().signal);
    if ('kind' in obtained) return obtained;
    this.#known = obtained;
    return obtained.signed;
  }
}

/** Requests a token from a sign-in address. */
async function exchange(
  { request, token, header, value, seconds }: Extract<CompiledAuth, { kind: 'exchange' }>,
  { base, scope, send, clock, secrets, trace }: AuthParts,
  signal: AbortSignal,
): Promise<Obtained | ConnectorFailure> {
  const until = clock.now() + seconds * 1_000;
  const url = addressOf(base, request, scope);
  const form = request.form?.(scope) as Record<string, string> | undefined;
  const result = await sendJson(
    send,
    {
      method: request.method,
      url,
      headers: headersOf(request.headers, scope),
      ...(request.body && { body: request.body(scope) }),
      ...(form && { form }),
      repeatable: true,
    },
    signal,
  );
  const { status, retry_after_seconds } = result;
  const found = result.kind === 'answered' ? token({ ...scope, answer: result.value }) : undefined;
  trace({
    verb: SIGN_IN,
    method: request.method,
    url: secrets.hide(url),
    body: null,
    status,
    // The answer of a sign-in is a secret as a whole.
    answer: '',
    reason: result.reason && secrets.hide(result.reason),
    latency_ms: result.latency_ms,
  });
  if (status !== null && status < 300 && typeof found === 'string' && found !== '') {
    secrets.addToken(found);
    const signed = { headers: { [header]: known(value, { ...scope, token: found }) }, query: {} };
    return { signed, until };
  }
  const words = `sign-in: ${result.reason ?? `status ${status} without a token`}`;
  const refused = status !== null && status < 500 && status !== 429;
  return failure(refused ? 'disconnected' : 'unsent', words, { status, retry_after_seconds });
}

/** Creates the authentication of a file, except OAuth2. */
export function createAuth(auth: Exclude<CompiledAuth, { kind: 'oauth2' }>, parts: AuthParts): Auth {
  const { scope, secrets } = parts;
  const { kind } = auth;
  if (kind === 'none') return constantAuth({ headers: {}, query: {} });
  if (kind === 'exchange') return new SharedSign(parts.clock, (signal) => exchange(auth, parts, signal));
  if (kind === 'basic') {
    const pair = Buffer.from(`${known(auth.user, scope)}:${known(auth.password, scope)}`).toString('base64');
    secrets.add(pair);
    return constantAuth({ headers: { authorization: `Basic ${pair}` }, query: {} });
  }
  const value = known(auth.value, scope);
  return constantAuth(
    kind === 'query'
      ? { headers: {}, query: { [auth.name]: value } }
      : { headers: { [auth.name]: value }, query: {} },
  );
}
