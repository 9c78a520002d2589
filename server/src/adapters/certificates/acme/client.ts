/** Orders of certificates by ACME (RFC 8555): an account, an order, its challenges and the certificate. */
import { createHash, createPublicKey, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import https from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { ServiceError } from '../../../core/errors.ts';
import type { Clock } from '../../../ports/clock.ts';

export type ChallengeKind = 'http-01' | 'tls-alpn-01';
export interface AcmeOptions {
  /** Address of the directory, by https. */
  readonly directory: string;
  /** Private key of the account, EC on P-256. */
  readonly key: KeyObject;
  /** Authorities (PEM) that the server is checked against. */
  readonly ca: readonly string[];
  readonly clock: Clock;
  /** Ends an order. */
  readonly signal: AbortSignal;
}
export interface AcmeOrder {
  readonly names: readonly string[];
  readonly email: string | null;
  readonly kind: ChallengeKind;
  /** PKCS #10 in DER. */
  readonly csr: Buffer;
  /** Answers the challenge for `name` until the returned function is called. */
  readonly answer: (name: string, token: string, keyAuthorization: string) => Promise<() => void>;
}
interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const Problem = z.object({ type: z.string().default(''), detail: z.string().default('') });
const Directory = z.object({ newNonce: z.url(), newAccount: z.url(), newOrder: z.url() });
const Authorization = z.object({
  status: z.string(),
  identifier: z.object({ value: z.string() }),
  challenges: z
    .array(
      z.object({
        type: z.string(),
        url: z.url(),
        token: z.string().default(''),
        error: Problem.optional(),
      }),
    )
    .max(20),
});
const Order = z.object({
  status: z.string(),
  authorizations: z.array(z.url()).max(100),
  finalize: z.url(),
  certificate: z.url().optional(),
  error: Problem.optional(),
});
/** Characters that a token may have, so that it is no path. */
const TOKEN = /^[A-Za-z0-9_-]{16,256}$/;
const REPLY_BYTES = 262_144;
const REPLY_MS = 30_000;
/** A nonce may be refused at any time; the next one comes with the refusal. */
const NONCES = 5;
const POLL_MS = { least: 500, most: 10_000 } as const;

const refused = (detail: string): ServiceError => new ServiceError('invalid_configuration', detail);
const encoded = (value: object | string | Buffer): string =>
  Buffer.from(typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value)).toString(
    'base64url',
  );
/** From outside: one line of text. */
const said = (text: string): string => text.replaceAll(/\p{C}+/gu, ' ').slice(0, 500);

export class AcmeClient {
  readonly #options: AcmeOptions;
  readonly #jwk: { readonly crv: string; readonly kty: string; readonly x: string; readonly y: string };
  #nonce: string | null = null;
  #account: string | null = null;

  constructor(options: AcmeOptions) {
    this.#options = options;
    const { crv = '', kty = '', x = '', y = '' } = createPublicKey(options.key).export({ format: 'jwk' });
    this.#jwk = { crv, kty, x, y };
  }
  /** The certificate and those up to its authority, in PEM. Throws with the words of the server. */
  async order({ names, email, kind, csr, answer }: AcmeOrder): Promise<string> {
    const directory = Directory.parse(this.#json(await this.#send('GET', this.#options.directory)));
    const post = (url: string, body: object | null): Promise<Reply> =>
      this.#post(directory.newNonce, url, body);
    const account = await post(directory.newAccount, {
      termsOfServiceAgreed: true,
      ...(email === null ? {} : { contact: [`mailto:${email}`] }),
    });
    this.#account = this.#location(account);
    const created = await post(directory.newOrder, {
      identifiers: names.map((value) => ({ type: 'dns', value })),
    });
    const at = this.#location(created);
    for (const url of Order.parse(this.#json(created)).authorizations)
      await this.#authorize(post, url, kind, answer);
    const read = async () => Order.parse(this.#json(await post(at, null)));
    const ready = await this.#poll(read, (order) => order.status !== 'pending');
    this.#checkOrder(ready);
    if (ready.status === 'ready') await post(ready.finalize, { csr: encoded(csr) });
    const done = await this.#poll(read, ({ status }) => status === 'valid' || status === 'invalid');
    this.#checkOrder(done);
    if (done.certificate === undefined) throw refused('the ACME server has no certificate for the order');
    return (await post(done.certificate, null)).body;
  }

  #checkOrder({ status, error }: z.infer<typeof Order>): void {
    if (status === 'invalid') throw refused(`the order is invalid: ${said(error?.detail ?? 'no reason')}`);
  }
  async #authorize(
    post: (url: string, body: object | null) => Promise<Reply>,
    url: string,
    kind: ChallengeKind,
    answer: AcmeOrder['answer'],
  ): Promise<void> {
    const read = async () => Authorization.parse(this.#json(await post(url, null)));
    const { status, identifier, challenges } = await read();
    if (status === 'valid') return;
    const challenge = challenges.find(({ type }) => type === kind);
    if (challenge === undefined || !TOKEN.test(challenge.token))
      throw refused(`the ACME server offers no challenge ${kind} for ${said(identifier.value)}`);
    const thumbprint = createHash('sha256').update(JSON.stringify(this.#jwk)).digest('base64url');
    const end = await answer(identifier.value, challenge.token, `${challenge.token}.${thumbprint}`);
    try {
      await post(challenge.url, {});
      const judged = await this.#poll(read, (now) => now.status !== 'pending');
      if (judged.status === 'valid') return;
      const error = judged.challenges.find(({ type }) => type === kind)?.error;
      throw refused(
        `${kind} for ${said(identifier.value)} is ${said(judged.status)}: ${said(error?.detail ?? 'no reason')}`,
      );
    } finally {
      end();
    }
  }
  async #poll<T>(read: () => Promise<T>, done: (value: T) => boolean): Promise<T> {
    for (let ms: number = POLL_MS.least; ; ms = Math.min(ms * 2, POLL_MS.most)) {
      const value = await read();
      if (done(value)) return value;
      await this.#options.clock.sleep(ms, this.#options.signal);
    }
  }
  #location({ headers }: Reply): string {
    if (headers.location === undefined) throw refused('the ACME server names no location');
    return headers.location;
  }
  #json({ body }: Reply): unknown {
    try {
      return JSON.parse(body);
    } catch {
      throw refused('the reply of the ACME server is not JSON');
    }
  }
  /** `body` null reads, as RFC 8555 wants it. */
  async #post(newNonce: string, url: string, body: object | null): Promise<Reply> {
    for (let left = NONCES; ; left -= 1) {
      this.#nonce ??= (await this.#send('HEAD', newNonce)).headers['replay-nonce']?.toString() ?? '';
      const signer = this.#account === null ? { jwk: this.#jwk } : { kid: this.#account };
      const head = encoded({ alg: 'ES256', nonce: this.#nonce, url, ...signer });
      const payload = body === null ? '' : encoded(body);
      const { key } = this.#options;
      const signature = sign('sha256', Buffer.from(`${head}.${payload}`), { key, dsaEncoding: 'ieee-p1363' });
      this.#nonce = null;
      const jws = { protected: head, payload, signature: encoded(signature) };
      const reply = await this.#send('POST', url, JSON.stringify(jws));
      if (reply.status < 400) return reply;
      const { type, detail } = Problem.catch({ type: '', detail: '' }).parse(this.#json(reply));
      if (type !== 'urn:ietf:params:acme:error:badNonce' || left === 0)
        throw refused(`the ACME server refused: ${said(`${type} ${detail}`.trim())} (${reply.status})`);
    }
  }
  async #send(method: string, url: string, body?: string): Promise<Reply> {
    if (!url.startsWith('https:'))
      throw refused(`the ACME server names an address without TLS: ${said(url)}`);
    const signal = AbortSignal.any([this.#options.signal, AbortSignal.timeout(REPLY_MS)]);
    const reply = await new Promise<Reply>((resolve, reject) => {
      const headers = {
        'user-agent': 'offhook',
        ...(body === undefined ? {} : { 'content-type': 'application/jose+json' }),
      };
      const request = https.request(url, {
        method,
        headers,
        ca: [...this.#options.ca],
        signal,
        agent: false,
      });
      request.once('error', reject).once('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          if (text.length > REPLY_BYTES)
            response.destroy(refused('the reply of the ACME server is too long'));
        });
        response.once('error', reject).once('end', () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
        });
      });
      request.end(body);
    });
    this.#nonce = reply.headers['replay-nonce']?.toString() ?? this.#nonce;
    return reply;
  }
}
