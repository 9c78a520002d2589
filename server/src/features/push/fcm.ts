/** Firebase Cloud Messaging, HTTP v1 (firebase.google.com/docs/cloud-messaging/send/v1-api). */
import type { FcmService } from '@offhook/contract/push.ts';
import { sendJson } from '../../outbound/json.ts';
import type { JsonResult, Send } from '../../outbound/json.ts';
import { readKey, signedToken } from './jwt.ts';
import type { PushMessage, PushResult, Pusher } from './pusher.ts';
import { failed } from './pusher.ts';

const API = 'https://fcm.googleapis.com';
const TOKENS = 'https://oauth2.googleapis.com/token';
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const LIFE_SECONDS = 3_600;
/** Time before its end at which an access token is renewed. */
const EARLY_MS = 60_000;

type Answer = Readonly<Record<string, unknown>> | undefined;
const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
const textOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 100) : '');
/** `errorCode` of the details, else `status`: `UNREGISTERED`, `INVALID_ARGUMENT`, `QUOTA_EXCEEDED` … */
function codeOf(value: unknown): string {
  const error = field(value, 'error');
  const details = field(error, 'details');
  const codes = Array.isArray(details) ? details.map((one) => field(one, 'errorCode')) : [];
  return textOf(codes.find((code) => typeof code === 'string') ?? field(error, 'status'));
}
const passing = (status: number | null): boolean => status === null || status === 429 || status >= 500;
/** Text of the error for a token that is none; the same code stands for a request that is wrong in another field. */
const NO_TOKEN = /^the registration token is not a valid fcm registration token\b/i;
/**
 * True if the token never works again (firebase.google.com/docs/cloud-messaging/error-codes): the app was removed, or
 * the token is invalid. Where fields are named, only the token may be wrong.
 */
function isGone(status: number | null, code: string, value: unknown): boolean {
  if (status === 404) return code === 'UNREGISTERED';
  if (status !== 400 || code !== 'INVALID_ARGUMENT') return false;
  const error = field(value, 'error');
  const details = field(error, 'details');
  const fields = (Array.isArray(details) ? details : []).flatMap((one) => {
    const violations = field(one, 'fieldViolations');
    return Array.isArray(violations) ? violations.map((violation) => field(violation, 'field')) : [];
  });
  if (fields.length > 0) return fields.every((name) => name === 'message.token');
  return NO_TOKEN.test(textOf(field(error, 'message')));
}

export class Fcm implements Pusher {
  readonly #settings: FcmService;
  readonly #send: Send;
  readonly #now: () => number;
  #access: { readonly token: string; readonly until: number } | null = null;
  constructor(settings: FcmService, send: Send, now: () => number) {
    this.#settings = settings;
    this.#send = send;
    this.#now = now;
  }
  async push(message: PushMessage, signal: AbortSignal): Promise<PushResult> {
    const first = await this.#try(message, signal);
    // An access token may be revoked before its end.
    if (first.status !== 401 || first.signIn) return first.result;
    this.#access = null;
    return (await this.#try(message, signal)).result;
  }
  close(): void {
    this.#access = null;
  }

  async #try(
    { device, data, life_seconds }: PushMessage,
    signal: AbortSignal,
  ): Promise<{ result: PushResult; status: number | null; signIn: boolean }> {
    const access = await this.#token(signal);
    if (typeof access !== 'string') return { result: access, status: null, signIn: true };
    const { project_id, base_url } = this.#settings;
    const answer = await sendJson(
      this.#send,
      {
        method: 'POST',
        url: `${(base_url ?? API).replace(/\/$/, '')}/v1/projects/${encodeURIComponent(project_id)}/messages:send`,
        headers: { authorization: `Bearer ${access}` },
        body: {
          message: { token: device.token, data, android: { priority: 'HIGH', ttl: `${life_seconds}s` } },
        },
        repeatable: true,
      },
      signal,
    );
    return { result: this.#read(answer), status: answer.status, signIn: false };
  }
  #read({ kind, status, reason, value, latency_ms }: JsonResult): PushResult {
    if (status === 200) return { outcome: 'accepted', detail: '', latency_ms };
    const code = codeOf(value);
    const detail = status === null ? (reason ?? kind) : `${status} ${code}`.trim();
    if (isGone(status, code, value)) return { outcome: 'gone', detail, latency_ms };
    return { outcome: passing(status) ? 'unavailable' : 'refused', detail, latency_ms };
  }
  /** An access token, from memory while it lasts. */
  async #token(signal: AbortSignal): Promise<string | PushResult> {
    const now = this.#now();
    if (this.#access !== null && now < this.#access.until) return this.#access.token;
    const { client_email, private_key, token_url } = this.#settings;
    const url = token_url ?? TOKENS;
    const iat = Math.floor(now / 1000);
    const claims = { iss: client_email, scope: SCOPE, aud: url, iat, exp: iat + LIFE_SECONDS };
    const answer = await sendJson(
      this.#send,
      {
        method: 'POST',
        url,
        headers: {},
        form: {
          grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
          assertion: signedToken('RS256', readKey(private_key, 'RS256'), {}, claims),
        },
        repeatable: true,
      },
      signal,
    );
    const token = field(answer.value as Answer, 'access_token');
    if (answer.status !== 200 || typeof token !== 'string') {
      const why = textOf(field(answer.value, 'error') ?? answer.reason);
      const detail = `sign-in: ${answer.status ?? ''} ${why}`.trim();
      return failed(passing(answer.status) ? 'unavailable' : 'refused', detail, answer.latency_ms);
    }
    const life = Number(field(answer.value, 'expires_in')) || LIFE_SECONDS;
    this.#access = { token, until: now + Math.min(life, LIFE_SECONDS) * 1000 - EARLY_MS };
    return token;
  }
}
