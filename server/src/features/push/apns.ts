/** Apple Push Notification service over HTTP/2 (developer.apple.com, "Sending notification requests to APNs"). */
import http2 from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import net from 'node:net';
import type { LookupFunction } from 'node:net';
import type { ApnsService } from '@offhook/contract/push.ts';
import { messageOf } from '../../core/errors.ts';
import type { Guard } from '../../outbound/address-guard.ts';
import type { Resolve } from '../../outbound/transport.ts';
import { readKey, signedToken } from './jwt.ts';
import type { PushMessage, PushResult, Pusher } from './pusher.ts';
import { failed } from './pusher.ts';

const HOSTS = {
  production: 'https://api.push.apple.com',
  sandbox: 'https://api.sandbox.push.apple.com',
} as const;
/** APNs refuses tokens older than an hour, and new ones more often than every 20 minutes. */
const TOKEN_MS = 40 * 60_000;
const MAX_ANSWER_BYTES = 4_096;
const VOIP = /\.voip$/;
/** The token is not valid in this environment. */
const BAD_TOKEN = '400 BadDeviceToken';

export interface ApnsDeps {
  readonly guard: Guard;
  readonly resolve: Resolve;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Addresses of the two services where not those of Apple. */
  readonly hosts?: Readonly<Record<Environment, string>>;
}
type Environment = keyof typeof HOSTS;
interface Answer {
  readonly status: number;
  readonly reason: string;
}

export class Apns implements Pusher {
  readonly #settings: ApnsService;
  readonly #deps: ApnsDeps;
  /** One connection for each address; it carries many requests at once. */
  readonly #sessions = new Map<string, ClientHttp2Session>();
  #token: { readonly text: string; readonly until: number } | null = null;
  constructor(settings: ApnsService, deps: ApnsDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }
  async push(message: PushMessage, signal: AbortSignal): Promise<PushResult> {
    const { environment } = message.device;
    const result = await this.#send(environment, message, signal);
    if (result.detail !== BAD_TOKEN || this.#settings.base_url !== null) return result;
    // The token is invalid, or the app named the wrong environment: only the service of the other one can tell.
    const other = environment === 'production' ? 'sandbox' : 'production';
    const second = await this.#send(other, message, signal);
    const latency_ms = result.latency_ms + second.latency_ms;
    if (second.detail === BAD_TOKEN) return { ...result, outcome: 'gone', latency_ms };
    if (second.outcome === 'accepted')
      return { ...second, detail: `the token is of the environment ${other}`, latency_ms };
    return { ...result, latency_ms };
  }
  close(): void {
    for (const session of this.#sessions.values()) session.destroy();
    this.#sessions.clear();
  }

  async #send(environment: Environment, message: PushMessage, signal: AbortSignal): Promise<PushResult> {
    const began = performance.now();
    const hosts = this.#deps.hosts ?? HOSTS;
    const base = (this.#settings.base_url ?? hosts[environment]).replace(/\/$/, '');
    try {
      let answer = await this.#ask(base, message, signal);
      if (answer.status === 403 && answer.reason === 'ExpiredProviderToken') {
        this.#token = null;
        answer = await this.#ask(base, message, signal);
      }
      const ms = performance.now() - began;
      const detail = `${answer.status} ${answer.reason}`.trim();
      if (answer.status === 200) return { outcome: 'accepted', detail: '', latency_ms: Math.round(ms) };
      if (answer.status === 410) return failed('gone', detail, ms);
      return failed(answer.status === 429 || answer.status >= 500 ? 'unavailable' : 'refused', detail, ms);
    } catch (error) {
      // The connection may be lost without an error event, so the next push opens another one.
      this.#sessions.get(base)?.destroy();
      return failed('unavailable', messageOf(error), performance.now() - began);
    }
  }
  #authorization(): string {
    const now = this.#deps.now();
    if (this.#token === null || now >= this.#token.until) {
      const { key_id, team_id, private_key } = this.#settings;
      const claims = { iss: team_id, iat: Math.floor(now / 1000) };
      const text = signedToken('ES256', readKey(private_key, 'ES256'), { kid: key_id }, claims);
      this.#token = { text, until: now + TOKEN_MS };
    }
    return `bearer ${this.#token.text}`;
  }
  #session(base: string): ClientHttp2Session {
    const open = this.#sessions.get(base);
    if (open !== undefined && !open.closed && !open.destroyed) return open;
    const { guard, resolve } = this.#deps;
    const url = guard.readTarget(base);
    const lookup: LookupFunction = (host, { all }, give) => {
      resolve(host)
        .then((addresses) => guard.allowed(host, addresses))
        .then(
          (found) => {
            const [first] = found;
            if (first === undefined)
              return give(new Error(`${host} does not resolve to an address that may be called`), []);
            if (all === true) give(null, [...found]);
            else give(null, first.address, first.family);
          },
          (error: NodeJS.ErrnoException) => give(error, []),
        );
    };
    const session = http2.connect(url, net.isIP(url.hostname) === 0 ? ({ lookup } as object) : {});
    const over = (): void => {
      if (this.#sessions.get(base) === session) this.#sessions.delete(base);
    };
    session.on('error', over);
    session.on('goaway', over);
    session.on('close', over);
    // An idle connection must not keep the process alive.
    session.unref();
    this.#sessions.set(base, session);
    return session;
  }
  #ask(base: string, message: PushMessage, signal: AbortSignal): Promise<Answer> {
    const { device, data, life_seconds } = message;
    const isVoip = VOIP.test(device.app_id);
    const body = JSON.stringify({
      aps: isVoip ? {} : { 'content-available': 1, alert: { 'loc-key': 'INCOMING_CALL' }, sound: 'default' },
      ...data,
    });
    return new Promise((resolve, reject) => {
      const session = this.#session(base);
      const stream = session.request({
        ':method': 'POST',
        ':path': `/3/device/${device.token}`,
        authorization: this.#authorization(),
        'apns-topic': device.app_id,
        'apns-push-type': isVoip ? 'voip' : 'alert',
        'apns-priority': '10',
        'apns-expiration': String(Math.floor(this.#deps.now() / 1000) + life_seconds),
        'content-type': 'application/json',
      });
      const stop = (): void => {
        stream.close(http2.constants.NGHTTP2_CANCEL);
        reject(new Error('no answer in time'));
      };
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      // A session that fails to connect closes its streams without an `error` event on them.
      session.once('error', reject);
      let status = 0;
      let text = '';
      stream.on('response', (headers) => void (status = Number(headers[':status'])));
      stream.on('data', (chunk: Buffer) => {
        if (text.length < MAX_ANSWER_BYTES) text += chunk.toString('latin1');
      });
      stream.on('error', reject);
      stream.on('close', () => {
        signal.removeEventListener('abort', stop);
        session.off('error', reject);
        if (status === 0) reject(new Error('the connection was closed without an answer'));
        else resolve({ status, reason: reasonOf(text) });
      });
      stream.end(body);
    });
  }
}
function reasonOf(text: string): string {
  try {
    const { reason } = JSON.parse(text) as { reason?: unknown };
    return typeof reason === 'string' ? reason.slice(0, 60) : '';
  } catch {
    return '';
  }
}
