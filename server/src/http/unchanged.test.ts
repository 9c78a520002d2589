import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import { hostFixture, rawExchange } from '../../test/support/host-fixture.ts';
import { matchesTag } from '../core/entity-tags.ts';
import { ServiceError } from '../core/errors.ts';
import { silent } from '../core/log.ts';
import type { Log } from '../core/log.ts';
import type { Authenticator, Caller } from '../ports/http.ts';
import type { HostOptions } from './host.ts';

/** Knows a caller at once, as the service does: `token-<level>`, and an API key without scopes. */
const authenticator: Authenticator = {
  authenticate(token) {
    const level = /^token-(user|agent|supervisor|admin)$/.exec(token)?.[1] as PersonLevel | undefined;
    const key =
      token === 'token-key' ? { id: 1, name: 'k', scopes: [], queues: null, extensions: null } : null;
    if (level === undefined && key === null) return null;
    const caller: Caller = {
      session_id: 1,
      person_id: 1,
      extension: '1001',
      username: token,
      level: level ?? 'supervisor',
      expires_at: 4_000_000_000_000,
      cookie: false,
      key,
    };
    return caller;
  },
};
/** Shows each request in the log, which only the framework's chain does. */
const debugging: Log = { ...silent, child: () => debugging, isLevelEnabled: () => true };
const TAG = '"7"';

async function rig(t: TestContext, options: Partial<HostOptions> = {}) {
  const host = await hostFixture({
    authenticator,
    lacksFactor: ({ level }) => level === 'agent',
    ...options,
  });
  t.after(() => host.close());
  const asked: string[] = [];
  for (const [path, level] of [
    ['/api/v1/list', 'user'],
    ['/api/v1/lists', 'admin'],
  ] as const)
    host.app.get(path, { config: { level, etag: 'held', held: () => TAG } }, (request, reply) => {
      asked.push(path);
      if (matchesTag(request.headers['if-none-match'], TAG)) {
        reply.notModified(TAG);
        return reply;
      }
      return reply.header('etag', TAG).send({ list: [] });
    });
  const gate = Promise.withResolvers<void>();
  host.app.get('/api/v1/slow', { config: { level: 'user' } }, async () => {
    await gate.promise;
    return { slow: true };
  });
  const { port } = await host.listen({ host: '127.0.0.1', port: 0 });
  return { host, port, asked, gate };
}
const RIGHT = ['Host: x', 'Authorization: Bearer token-user', `If-None-Match: ${TAG}`];
const bytes = (line: string, headers: readonly string[]): Buffer =>
  Buffer.from(`${line}\r\n${headers.join('\r\n')}\r\n\r\n`, 'latin1');
/** What must be the same by either way. */
const comparable = (text: string): string =>
  text
    .replaceAll(/^date: .*$/gim, 'date')
    .replaceAll(/[0-9a-f]{8}-[0-9a-z]+/g, 'made')
    .split('\r\n\r\n')
    .map((part, i) => (i === 0 ? part.toLowerCase().split('\r\n').toSorted().join('\n') : part))
    .join('\n\n');

const header = (...values: readonly string[]) => fc.constantFrom(...values);
const anyRequest = fc.record({
  line: fc.oneof(
    { weight: 4, arbitrary: fc.constant('GET /api/v1/list HTTP/1.1') },
    header(
      'GET /api/v1/lists HTTP/1.1',
      'GET /api/v1/list HTTP/1.0',
      'GET /api/v1/list?limit=1 HTTP/1.1',
      'GET /api/v1/list?token=1 HTTP/1.1',
      'GET /api/v1/List HTTP/1.1',
      'GET http://x/api/v1/list HTTP/1.1',
      'HEAD /api/v1/list HTTP/1.1',
      'POST /api/v1/list HTTP/1.1',
    ),
  ),
  host: fc.oneof(
    { weight: 6, arbitrary: fc.constant(['Host: x']) },
    fc.constantFrom(
      [],
      ['host: pbx.example.com:443'],
      ['Host: a b'],
      ['Host: x', 'Host: x'],
      ['Host: x:99999'],
    ),
  ),
  authorization: fc.oneof(
    { weight: 4, arbitrary: fc.constant(['AUTHORIZATION: bearer token-user']) },
    fc.constantFrom(
      [],
      ['Authorization: Bearer token-admin'],
      ['Authorization: Bearer token-agent'],
      ['Authorization: Bearer token-key'],
      ['Authorization: Bearer token-nobody'],
      ['Authorization: Basic dG9rZW4='],
      ['Authorization: Bearer token-user', 'Authorization: Bearer token-admin'],
      ['Cookie: offhook_session=token-user'],
    ),
  ),
  tag: fc.oneof(
    { weight: 4, arbitrary: fc.constant([`if-none-match: ${TAG}`]) },
    fc.constantFrom(
      [],
      ['If-None-Match: "8"'],
      ['If-None-Match: *'],
      [`If-None-Match: W/${TAG}`],
      [`If-None-Match: "8", ${TAG}`],
      ['If-None-Match: "8"', `If-None-Match: ${TAG}`],
    ),
  ),
  more: fc.subarray([
    'Origin: https://crm.example.com',
    'Origin: https://elsewhere.example.com',
    'X-Request-Id: mine-1',
    'X-Request-Id: not this one',
    'Content-Length: 0',
    'Transfer-Encoding: gzip',
    'Expect: 100-continue',
    'Upgrade: h2c',
    'Accept: */*',
  ]),
  first: fc.nat(8),
});

test('unchanged - a request has the same answer by the short way as by the whole chain', async (t) => {
  for (const corsOrigins of [[], ['https://crm.example.com']]) {
    const config = { corsOrigins, publicUrl: '', trustProxy: [] };
    const short = await rig(t, { config });
    const whole = await rig(t, { config, log: debugging });
    let shorter = 0;
    await fc.assert(
      fc.asyncProperty(anyRequest, async ({ line, host, authorization, tag, more, first }) => {
        const all = [...host, ...authorization, ...tag, ...more];
        const turned = [...all.slice(first % (all.length + 1)), ...all.slice(0, first % (all.length + 1))];
        const request = bytes(line, [...turned, 'Connection: close']);
        const before = short.asked.length;
        const [ours, theirs] = await Promise.all([
          rawExchange(short.port, request),
          rawExchange(whole.port, request),
        ]);
        assert.equal(comparable(ours.text), comparable(theirs.text), request.toString());
        if (ours.text.startsWith('HTTP/1.1 304') && short.asked.length === before) shorter += 1;
      }),
      { numRuns: 400 },
    );
    assert.ok(shorter > 20, `only ${shorter} requests took the short way`);
    assert.equal(await answered(short), await answered(whole));
  }
});
/** The counts of answers, which are the same by either way. */
const answered = async ({ host }: Awaited<ReturnType<typeof rig>>): Promise<string> =>
  await host.metrics.registry.getSingleMetricAsString('offhook_http_requests_total');

test('unchanged - another tag, or a tag that cannot be read, takes the chain', async (t) => {
  let tag = (): string => TAG;
  const host = await hostFixture({ authenticator });
  t.after(() => host.close());
  host.app.get('/api/v1/list', { config: { level: 'user', held: () => tag() } }, () => ({ list: [] }));
  const { port } = await host.listen({ host: '127.0.0.1', port: 0 });
  const status = async (): Promise<string> => {
    const request = bytes('GET /api/v1/list HTTP/1.1', [...RIGHT, 'Connection: close']);
    return (await rawExchange(port, request)).text.slice(9, 12);
  };
  assert.equal(await status(), '304');
  tag = () => '"8"';
  assert.equal(await status(), '200');
  tag = () => {
    throw new Error('unreadable');
  };
  assert.equal(await status(), '200');
});

test('unchanged - a node that must not answer and a service that stops answer no read', async (t) => {
  let leads = true;
  const fence = (): void => {
    if (!leads) throw new ServiceError('overloaded', 'another node may lead');
  };
  const { host, port } = await rig(t, { fence });
  const status = async (): Promise<string> => {
    const request = bytes('GET /api/v1/list HTTP/1.1', [...RIGHT, 'Connection: close']);
    return (await rawExchange(port, request)).text.slice(9, 12);
  };
  assert.equal(await status(), '304');
  leads = false;
  assert.equal(await status(), '503');
  leads = true;
  host.drain();
  assert.equal(await status(), '503');
});

test('unchanged - the short answer waits for the slow one before it on the connection', async (t) => {
  const { port, gate } = await rig(t);
  const both = rawExchange(port, [
    bytes('GET /api/v1/slow HTTP/1.1', RIGHT),
    bytes('GET /api/v1/list HTTP/1.1', [...RIGHT, 'Connection: close']),
  ]);
  setImmediate(() => gate.resolve());
  const { text } = await both;
  assert.deepEqual(text.match(/HTTP\/1\.1 \d{3}/g), ['HTTP/1.1 200', 'HTTP/1.1 304']);
});

test('unchanged - only a read of a fixed path by someone signed in tells its tag', async (t) => {
  const host = await hostFixture();
  t.after(() => host.close());
  const held = (): string => TAG;
  assert.throws(
    () => host.app.get('/api/v1/a', { config: { level: 'public', held } }, () => ({})),
    /a tag needs a GET/,
  );
  assert.throws(
    () => host.app.get('/api/v1/:a', { config: { level: 'user', held } }, () => ({})),
    /a tag needs a GET/,
  );
});
