import { createHash } from 'node:crypto';
import { sendJson } from '../../../outbound/json.ts';
import type { JsonResult } from '../../../outbound/json.ts';
import { SIGN_IN, SharedSign } from './auth.ts';
import type { AuthParts, Obtained } from './auth.ts';
import type { CompiledAuth } from './compile.ts';
import { failure } from './requests.ts';
import type { ConnectorFailure, ConnectorResult } from './requests.ts';
import { fillText } from './template.ts';
import type { Template } from './template.ts';

/** Stores the refresh token of a connector. Some systems replace it at each use. */
export interface TokenStore {
  read(): Promise<string | null>;
  write(refreshToken: string): Promise<void>;
}
/** Access that a person grants in a browser. */
export interface Connect {
  /** Address to open. The system returns `state` with the code; `verifier` stays here until `redeem`. */
  authorizeUrl(ask: { readonly redirect: string; readonly state: string; readonly verifier: string }): string;
  redeem(
    code: { readonly code: string; readonly redirect: string; readonly verifier: string },
    signal: AbortSignal,
  ): Promise<ConnectorResult<null>>;
}
type OAuthFile = Extract<CompiledAuth, { kind: 'oauth2' }>;
/** Time before its end at which an access token is renewed, because clocks differ and requests take time. */
const AHEAD_MS = 60_000;
const DEFAULT_SECONDS = 600;
const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

/** OAuth2 with an access token in memory, which is renewed before its end and after a 401. */
export class OAuth extends SharedSign implements Connect {
  readonly #file: OAuthFile;
  readonly #parts: AuthParts;
  readonly #tokens: TokenStore;
  constructor(file: OAuthFile, parts: AuthParts, tokens: TokenStore | undefined) {
    super(parts.clock, (signal) => this.#obtain(signal));
    this.#file = file;
    this.#parts = parts;
    let kept: string | null = null;
    this.#tokens = tokens ?? {
      read: () => Promise.resolve(kept),
      write: (token) => {
        kept = token;
        return Promise.resolve();
      },
    };
  }
  authorizeUrl({ redirect, state, verifier }: Parameters<Connect['authorizeUrl']>[0]): string {
    const url = new URL(this.#text(this.#file.authorize));
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    for (const [name, value] of Object.entries({
      response_type: 'code',
      client_id: this.#text(this.#file.client_id),
      redirect_uri: redirect,
      state,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...this.#scope(),
    }))
      url.searchParams.set(name, value);
    return url.href;
  }
  async redeem(
    { code, redirect, verifier }: Parameters<Connect['redeem']>[0],
    signal: AbortSignal,
  ): Promise<ConnectorResult<null>> {
    this.#parts.secrets.addToken(code);
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirect, code_verifier: verifier };
    const obtained = await this.#token(form, signal);
    if ('kind' in obtained) return obtained;
    this.hold(obtained);
    return { kind: 'done', value: null };
  }

  #text(template: Template | undefined): string {
    return (template && fillText(template, this.#parts.scope)) ?? '';
  }
  #scope(): Record<string, string> {
    const { scopes } = this.#file;
    return scopes.length === 0 ? {} : { scope: scopes.join(' ') };
  }
  async #obtain(signal: AbortSignal): Promise<Obtained | ConnectorFailure> {
    if (this.#file.grant === 'client_credentials')
      return await this.#token({ grant_type: 'client_credentials', ...this.#scope() }, signal);
    const refresh = (await this.#tokens.read()) ?? this.#text(this.#file.refresh_token);
    if (refresh === '')
      return failure('disconnected', 'no access was granted yet: an administrator has to connect');
    this.#parts.secrets.addToken(refresh);
    return await this.#token({ grant_type: 'refresh_token', refresh_token: refresh }, signal);
  }
  async #token(form: Record<string, string>, signal: AbortSignal): Promise<Obtained | ConnectorFailure> {
    const { send, secrets, trace, clock } = this.#parts;
    const { client_id, client_secret, params, send_client, send_token } = this.#file;
    const id = this.#text(client_id);
    const secret = this.#text(client_secret);
    secrets.add(secret);
    const inBody = send_client !== 'basic' || secret === '';
    // RFC 6749, 2.3.1: both parts are form-encoded before they are joined.
    const pair = Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64');
    secrets.add(pair);
    const more = Object.fromEntries(params.map(([name, value]) => [name, this.#text(value)]));
    const url = this.#text(this.#file.token);
    const fields: Record<string, string> = {
      ...form,
      ...more,
      ...(inBody && { client_id: id, ...(secret !== '' && { client_secret: secret }) }),
    };
    const asked = new URL(url);
    if (send_client === 'query')
      for (const [name, value] of Object.entries(fields)) asked.searchParams.set(name, value);
    const method = send_client === 'query' ? 'GET' : 'POST';
    const result = await sendJson(
      send,
      {
        method,
        url: asked.href,
        headers: inBody ? {} : { authorization: `Basic ${pair}` },
        ...(method === 'POST' && { form: fields }),
        // A second use of a rotating refresh token would revoke the access.
        repeatable: false,
      },
      signal,
    );
    const { status, reason, latency_ms } = result;
    trace({
      verb: SIGN_IN,
      method,
      url: secrets.hide(url),
      body: null,
      status,
      answer: '',
      reason,
      latency_ms,
    });
    const answer = record(result.value);
    const access = answer['access_token'];
    if (result.kind !== 'answered' || status !== 200 || typeof access !== 'string' || access === '')
      return refusedToken(result);
    secrets.addToken(access);
    const refreshed = answer['refresh_token'];
    if (typeof refreshed === 'string' && refreshed !== '') {
      secrets.addToken(refreshed);
      await this.#tokens.write(refreshed);
    }
    const seconds = Number(answer['expires_in'] ?? DEFAULT_SECONDS);
    const lasts = (Number.isFinite(seconds) && seconds > 0 ? seconds : DEFAULT_SECONDS) * 1_000;
    const signed =
      send_token === undefined
        ? { headers: { authorization: `Bearer ${access}` }, query: {} }
        : { headers: {}, query: { [send_token.query]: access } };
    return { signed, until: clock.now() + Math.max(lasts - AHEAD_MS, lasts / 2) };
  }
}

/** A status of 4xx except 429 needs an administrator (`disconnected`); other failures are temporary (`unsent`). */
function refusedToken({ status, value, reason, retry_after_seconds }: JsonResult): ConnectorFailure {
  const { error, error_description } = record(value);
  const words = [error, error_description].filter((one) => typeof one === 'string').join(': ');
  const final = status !== null && status >= 400 && status < 500 && status !== 429;
  return failure(
    final ? 'disconnected' : 'unsent',
    `sign-in: ${words || reason || `status ${status} without a token`}`,
    {
      status,
      retry_after_seconds,
    },
  );
}
