/** Push services on the loopback address, with the answers that those of Google and Apple document. */
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import http from 'node:http';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';

export interface Pushed {
  readonly token: string;
  readonly body: Record<string, unknown>;
  readonly headers: Readonly<Record<string, unknown>>;
  /** `performance.now()` of its arrival. */
  readonly at: number;
}
/**
 * `silent` never answers; a number is that status with its documented reason. `bad token` and `bad value`: FCM's
 * documented answers 400 to a token that is none, and to a value of another field.
 */
export type Mood = 'works' | 'silent' | 'bad token' | 'bad value' | number;
export interface PushService extends AsyncDisposable {
  readonly url: string;
  /** Private key in PEM of the account that it accepts. */
  readonly privateKey: string;
  readonly pushed: Pushed[];
  /** Tokens of the sign-in that were issued (FCM), or those that were presented (APNs). */
  readonly tokens: string[];
  mood: Mood;
  /** Called with each push; the answer waits for its end. */
  onPush: (pushed: Pushed) => void | Promise<void>;
}
const PEM = { type: 'pkcs8', format: 'pem' } as const;

function claimsOf(jwt: string, key: KeyObject, alg: string): Record<string, unknown> | null {
  const [head = '', claims = '', signature = ''] = jwt.split('.');
  const read = (text: string) =>
    JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;
  const good = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  return good && read(head)['alg'] === alg ? { ...read(head), ...read(claims) } : null;
}
async function bodyOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
const listen = (server: http.Server | http2.Http2Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
  });

const FCM_CODES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'SENDER_ID_MISMATCH',
  404: 'UNREGISTERED',
  429: 'QUOTA_EXCEEDED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};
/** FCM v1 with the token endpoint of Google's OAuth 2.0 server at `/token`. */
export async function startFcm(project = 'offhook-test'): Promise<PushService> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = createPublicKey(privateKey);
  const server = http.createServer((request, response) => {
    const answer = (status: number, value: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    void bodyOf(request).then(async (text) => {
      if (request.url === '/token') {
        const form = new URLSearchParams(text);
        const claims = claimsOf(form.get('assertion') ?? '', key, 'RS256');
        const fits =
          form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
          claims?.['aud'] === `${service.url}/token` &&
          claims['scope'] === 'https://www.googleapis.com/auth/firebase.messaging';
        if (!fits) return answer(400, { error: 'invalid_grant' });
        service.tokens.push(`ya29.${service.tokens.length + 1}`);
        return answer(200, { access_token: service.tokens.at(-1), expires_in: 3599, token_type: 'Bearer' });
      }
      const error = (status: number, message = 'no', more: readonly object[] = []): void => {
        const details = [
          { '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: FCM_CODES[status] },
          ...more,
        ];
        answer(status, { error: { code: status, status: FCM_CODES[status], message, details } });
      };
      if (request.url !== `/v1/projects/${project}/messages:send`) return answer(404, {});
      if (request.headers.authorization !== `Bearer ${service.tokens.at(-1)}`) return error(401);
      const { message } = JSON.parse(text) as { message: Record<string, unknown> };
      const pushed = {
        token: String(message['token']),
        body: message,
        headers: request.headers,
        at: performance.now(),
      };
      service.pushed.push(pushed);
      await service.onPush(pushed);
      if (service.mood === 'silent') return undefined;
      if (service.mood === 'bad token')
        return error(400, 'The registration token is not a valid FCM registration token');
      if (service.mood === 'bad value') {
        const message = "Invalid value at 'message.data[0].value' (TYPE_STRING), 12";
        const fieldViolations = [{ field: 'message.data[0].value', description: message }];
        return error(400, message, [
          { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations },
        ]);
      }
      if (service.mood !== 'works') return error(service.mood);
      return answer(200, { name: `projects/${project}/messages/1` });
    });
  });
  const service: PushService = {
    url: await listen(server),
    privateKey: privateKey.export(PEM).toString(),
    pushed: [],
    tokens: [],
    mood: 'works',
    onPush: () => {},
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return service;
}

const APNS_REASONS: Readonly<Record<number, string>> = {
  400: 'BadDeviceToken',
  403: 'InvalidProviderToken',
  410: 'Unregistered',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
};
/** APNs over HTTP/2 without TLS. */
export async function startApns(
  team = 'TEAM123456',
  keyId = 'KEY1234567',
  { privateKey }: { privateKey: KeyObject } = generateKeyPairSync('ec', { namedCurve: 'P-256' }),
): Promise<PushService> {
  const key = createPublicKey(privateKey);
  const server = http2.createServer();
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const answer = (status: number, reason?: string): void => {
      stream.respond({ ':status': status });
      stream.end(reason === undefined ? '' : JSON.stringify({ reason }));
    };
    void bodyOf(stream).then(async (text) => {
      const jwt = String(headers.authorization).replace(/^bearer /, '');
      const claims = claimsOf(jwt, key, 'ES256');
      if (claims?.['iss'] !== team || claims['kid'] !== keyId) return answer(403, 'InvalidProviderToken');
      const [, token = ''] = /^\/3\/device\/([0-9a-f]+)$/.exec(String(headers[':path'])) ?? [];
      if (headers['apns-topic'] === undefined) return answer(400, 'MissingTopic');
      service.tokens.push(jwt);
      const body = JSON.parse(text) as Record<string, unknown>;
      const pushed = { token, body, headers, at: performance.now() };
      service.pushed.push(pushed);
      await service.onPush(pushed);
      if (service.mood === 'silent') return undefined;
      if (service.mood === 'works') return answer(200);
      const status = typeof service.mood === 'number' ? service.mood : 400;
      return answer(status, APNS_REASONS[status]);
    });
  });
  const service: PushService = {
    url: await listen(server),
    privateKey: privateKey.export(PEM).toString(),
    pushed: [],
    tokens: [],
    mood: 'works',
    onPush: () => {},
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
  return service;
}
