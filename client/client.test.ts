import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { until } from '../server/test/support/until.ts';
import { OffhookError, createClient } from './client.ts';

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}
/** A server with scripted answers that records its requests. */
async function serve(t: TestContext, answer: (request: IncomingMessage, body: string) => Answer) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? '-'}`);
      const { status, body, headers } = answer(request, text);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}
const problem = (status: number, code: string): Answer => ({
  status,
  body: {
    type: `/docs/errors#${code}`,
    title: code,
    status,
    detail: `why ${code}`,
    code,
    success: false,
    error: code,
  },
});
const contacts = { success: true, total: 0, as_of: '2026-01-01T00:00:00.000Z', stale: false, contacts: [] };

test('client - a session that ended is renewed once for all requests that met its end, and they are repeated', async (t) => {
  const notified: (string | null)[] = [];
  const { base, asked } = await serve(t, ({ url, headers }) => {
    if (url === '/api/mobile/refresh.php') return { status: 200, body: { success: true, token: 'new' } };
    return headers.authorization === 'Bearer new'
      ? { status: 200, body: contacts }
      : problem(401, 'not_authenticated');
  });
  const client = createClient({ base, token: 'old', onToken: (token) => notified.push(token) });
  const replies = await Promise.all([
    client.contacts(),
    client.contacts({ q: 'zoë & co' }),
    client.contacts(),
  ]);
  assert.deepEqual(replies, [contacts, contacts, contacts]);
  assert.equal(asked.filter((line) => line === 'GET /api/mobile/refresh.php Bearer old').length, 1);
  assert.ok(asked.includes('GET /api/mobile/contacts.php?q=zo%C3%AB+%26+co Bearer new'));
  assert.deepEqual(notified, ['new']);
});

test('client - by cookie, a request that learns late of the session’s end finds it renewed and renews nothing', async (t) => {
  let renewals = 0;
  const late = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (request.url === '/api/mobile/refresh.php') {
      renewals += 1;
      answer(200, { success: true, token: `t${renewals}` });
    } else if (renewals === 0) {
      const ended = problem(401, 'not_authenticated').body;
      if (request.url?.endsWith('q=late') === true) void late.promise.then(() => answer(401, ended));
      else answer(401, ended);
    } else answer(200, contacts);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient({ base, session: 'cookie' });
  const slow = client.contacts({ q: 'late' });
  // Its request is on its way before the one that renews.
  await new Promise<void>((resolve) => server.once('request', () => resolve()));
  await client.contacts();
  late.resolve();
  await slow;
  assert.equal(renewals, 1);
});

test('client - a session that cannot be renewed is reported as over', async (t) => {
  const notified: (string | null)[] = [];
  const { base, asked } = await serve(t, () => problem(401, 'not_authenticated'));
  const client = createClient({ base, token: 'old', onToken: (token) => notified.push(token) });
  await assert.rejects(client.history(), { name: 'OffhookError', status: 401, code: 'not_authenticated' });
  assert.deepEqual(notified, [null]);
  assert.equal(client.token, null);
  assert.equal(asked.length, 2, 'one request and one renewal');
});

test('client - a renewal that a proxy refuses does not end the session', async (t) => {
  const notified: (string | null)[] = [];
  const { base, asked } = await serve(t, ({ url = '' }) =>
    url.includes('refresh')
      ? { status: 401, body: '<html>sign in</html>' }
      : problem(401, 'not_authenticated'),
  );
  const client = createClient({ base, token: 'old', onToken: (token) => notified.push(token) });
  await assert.rejects(client.history(), { status: 401, code: 'no_answer' });
  assert.deepEqual([notified, client.token, asked.length], [[], 'old', 2]);
});

test('client - an error carries its code, its problem and when to come back', async (t) => {
  const { base } = await serve(t, () => ({
    ...problem(503, 'engine_unavailable'),
    headers: { 'retry-after': '5' },
  }));
  const client = createClient({ base, token: 'x' });
  await assert.rejects(client.agent({ action: 'pause' }), (error) => {
    assert.ok(error instanceof OffhookError);
    assert.deepEqual([error.status, error.code, error.retry_after], [503, 'engine_unavailable', 5]);
    assert.equal(error.message, 'why engine_unavailable');
    return true;
  });
});

test('client - an answer that is not the service’s is an error of its own', async (t) => {
  const { base } = await serve(t, () => ({ status: 502, body: '<html>bad gateway</html>' }));
  await assert.rejects(createClient({ base }).ping(), { status: 502, code: 'no_answer', problem: null });
});

test('client - the caller’s signal ends a request', async (t) => {
  const { base } = await serve(t, () => ({ status: 200, body: contacts }));
  await assert.rejects(
    createClient({ base, token: 'x' }).contacts({}, AbortSignal.abort(new Error('enough'))),
    {
      message: 'enough',
    },
  );
});

/** A client whose session has ended; `renewal` answers its renewals, which give the token `new`. */
function expired(t: TestContext, renewal: (signal: RequestInit['signal']) => Promise<Response>) {
  t.mock.method(globalThis, 'fetch', (url: URL, { headers, signal }: RequestInit) => {
    if (url.pathname === '/api/mobile/refresh.php') return renewal(signal);
    const isNew = new Headers(headers).get('authorization') === 'Bearer new';
    const { status, body } = isNew ? { status: 200, body: contacts } : problem(401, 'not_authenticated');
    return Promise.resolve(Response.json(body, { status }));
  });
  return createClient({ base: 'http://127.0.0.1', token: 'old' });
}

test('client - a request that is aborted during a renewal ends alone: the others get the new session', async (t) => {
  const renewed = Promise.withResolvers<Response>();
  let renewals = 0;
  const client = expired(t, (signal) => {
    renewals += 1;
    signal?.addEventListener('abort', () => renewed.reject(signal.reason as Error));
    return renewed.promise;
  });
  const stop = new AbortController();
  const first = client.contacts({}, stop.signal);
  const second = client.contacts();
  await until('the renewal', () => renewals === 1);
  stop.abort(new Error('enough'));
  await assert.rejects(first, { message: 'enough' });
  renewed.resolve(Response.json({ success: true, token: 'new' }));
  assert.deepEqual(await second, contacts);
  assert.equal(client.token, 'new');
  assert.equal(renewals, 1);
});

test('client - a renewal that hangs is aborted once no request waits for it, and the next request sends another', async (t) => {
  let renewals = 0;
  const client = expired(t, (signal) => {
    renewals += 1;
    if (renewals === 2) return Promise.resolve(Response.json({ success: true, token: 'new' }));
    const { promise, reject } = Promise.withResolvers<Response>();
    signal!.addEventListener('abort', () => reject(signal!.reason as Error));
    return promise;
  });
  const stop = new AbortController();
  const first = client.contacts({}, stop.signal);
  await until('the renewal', () => renewals === 1);
  stop.abort(new Error('enough'));
  await assert.rejects(first, { message: 'enough' });
  assert.deepEqual(await client.contacts(), contacts);
  assert.equal(renewals, 2);
});

test('client - a request that ends while its answer arrives rejects with the reason of the end', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let status = 200;
  t.mock.method(globalThis, 'fetch', (_url: URL, { signal }: RequestInit) => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"success":'));
        signal?.addEventListener('abort', () => controller.error(signal.reason));
      },
    });
    return Promise.resolve(new Response(body, { status }));
  });
  // setImmediate is not mocked.
  const begun = (): Promise<void> => new Promise<void>((resolve) => setImmediate(resolve));
  const client = createClient({ base: 'http://127.0.0.1', token: 'x' });
  for (status of [200, 503]) {
    const stop = new AbortController();
    const stopped = client.contacts({}, stop.signal);
    await begun();
    stop.abort(new Error('enough'));
    await assert.rejects(stopped, { message: 'enough' }, `status ${status}`);
    const late = client.contacts();
    await begun();
    t.mock.timers.tick(30_000);
    await assert.rejects(late, { name: 'TimeoutError' }, `status ${status}`);
  }
});

test('client - a wrong password is sent once, and does not end the session', async (t) => {
  const notified: (string | null)[] = [];
  const { base, asked } = await serve(t, ({ url }) =>
    url === '/api/mobile/refresh.php'
      ? { status: 200, body: { success: true, token: 'new' } }
      : problem(401, url?.endsWith('/confirm') ? 'otp_required' : 'invalid_credentials'),
  );
  const client = createClient({ base, token: 'old', onToken: (token) => notified.push(token) });
  await assert.rejects(client.session.changePassword('wrong', 'next password'), {
    code: 'invalid_credentials',
  });
  await assert.rejects(client.session.beginOtp('wrong'), { code: 'invalid_credentials' });
  await assert.rejects(client.session.confirm('right'), { code: 'otp_required' });
  assert.deepEqual(
    asked.map((line) => line.split(' ')[1]),
    ['/api/v1/session/password', '/api/v1/session/otp', '/api/v1/session/confirm'],
  );
  assert.deepEqual(notified, []);
});

test('client - a new password starts a new session, also for a request that meets the end of the old one', async (t) => {
  let changed: (() => void) | undefined;
  let over = false;
  const notified: (string | null)[] = [];
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    request.resume();
    if (request.url === '/api/v1/session/password')
      changed = () => answer(200, { success: true, token: 'new' });
    else if (request.headers.authorization === 'Bearer new') answer(200, contacts);
    else {
      over = true;
      answer(401, problem(401, 'not_authenticated').body);
    }
    // The answer to the change comes after another request failed because the session is over.
    if (over) {
      setImmediate(() => {
        changed?.();
        changed = undefined;
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient({ base, token: 'old', onToken: (token) => notified.push(token) });
  const [, list] = await Promise.all([
    client.session.changePassword('right', 'next password'),
    client.contacts(),
  ]);
  assert.deepEqual(list, contacts);
  assert.deepEqual(notified, ['new']);
  assert.equal(client.token, 'new');
});

test('client - a change without an answer in time may have been done; a read was only not answered', async (t) => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient({ base, token: 'x', timeout_ms: 50 });
  await assert.rejects(client.presence.set({ personal: 'away' }), { code: 'outcome_unknown' });
  await assert.rejects(client.contacts(), { name: 'TimeoutError' });
});

/** A server that accepts requests and never answers, as behind a dead connection. */
function deadConnections(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sent: string[] = [];
  t.mock.method(globalThis, 'fetch', (url: URL, { method = 'GET', signal }: RequestInit) => {
    sent.push(`${method} ${url.pathname}`);
    return new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
    });
  });
  /** The error of a request after `ms` of mocked time. */
  async function after(ms: number, asked: Promise<unknown>): Promise<string> {
    let outcome = 'waits';
    asked.catch((error: Error) => {
      outcome = error instanceof OffhookError ? error.code : error.name;
    });
    t.mock.timers.tick(ms);
    // setImmediate is not mocked.
    await new Promise<void>((resolve) => setImmediate(resolve));
    return outcome;
  }
  return { sent, after };
}

test('client - a change that a person waits for is aborted after its own limit, the sign-in too, and sent once', async (t) => {
  const { sent, after } = deadConnections(t);
  const client = createClient({ base: 'http://127.0.0.1', token: 'x', change_timeout_ms: 10_000 });
  for (const begin of [
    () => client.login({ username: '1003', password: 'x' }),
    () => client.logout(),
    () => client.session.confirm('x'),
    () => client.agents.pause('1003'),
    () => client.calls.hangup('a:1'),
    () => client.config.remove('queues', 'support'),
    () => client.hideCalls(['a:1']),
  ]) {
    const asked = begin();
    assert.equal(await after(9_999, asked), 'waits');
    assert.equal(await after(1, asked), 'outcome_unknown');
  }
  assert.equal(sent.length, 7, 'nothing is sent twice');
});

test('client - reads, and work that takes long, keep the longer limit', async (t) => {
  const { after } = deadConnections(t);
  const client = createClient({ base: 'http://127.0.0.1', token: 'x', change_timeout_ms: 10_000 });
  for (const [begin, outcome] of [
    [() => client.contacts(), 'TimeoutError'],
    [() => client.config.apply(), 'outcome_unknown'],
    [() => client.config.restore(1), 'outcome_unknown'],
    [() => client.config.change([]), 'outcome_unknown'],
    [() => client.exports.remove(1), 'outcome_unknown'],
    [() => client.webhooks.test(1), 'outcome_unknown'],
  ] as const) {
    const asked = begin();
    assert.equal(await after(29_999, asked), 'waits');
    assert.equal(await after(1, asked), outcome);
  }
  const large = client.config.change([{ op: 'delete', kind: 'queue', key: 'x'.repeat(1_638_400) }]);
  assert.equal(await after(129_999, large), 'waits', 'its size takes 100 s at the lowest rate');
  assert.equal(await after(10, large), 'outcome_unknown');
  const upload = client.uploadSound(new Blob(['x']));
  assert.equal(await after(600_000, upload), 'waits', 'an upload lasts as long as it lasts');
});

test('client - a change whose answer began and stopped has an unknown outcome', async (t) => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"success":');
  }).listen(0, '127.0.0.1');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient({ base, token: 'x', timeout_ms: 30_000, change_timeout_ms: 200 });
  await assert.rejects(client.agents.pause('1003'), { code: 'outcome_unknown' });
});

test('client - a request that needs a confirmation is repeated once after it, and only then', async (t) => {
  let confirmed = false;
  const { base, asked } = await serve(t, ({ url }) => {
    if (url === '/api/v1/session/confirm') {
      confirmed = true;
      return { status: 200, body: { success: true, confirmed_until: '2026-01-01T00:00:00.000Z' } };
    }
    return confirmed ? { status: 200, body: { success: true } } : problem(403, 'confirmation_required');
  });
  const what: string[] = [];
  let answer = false;
  const client = createClient({
    base,
    token: 'one',
    async onConfirm(path) {
      what.push(path);
      if (answer) await client.session.confirm('right');
      return answer;
    },
  });
  await assert.rejects(client.apiKeys.revoke(1), { code: 'confirmation_required' });
  answer = true;
  await client.apiKeys.revoke(1);
  assert.deepEqual(what, ['/api/v1/api-keys/1', '/api/v1/api-keys/1']);
  assert.equal(asked.filter((line) => line.startsWith('DELETE')).length, 3);
  confirmed = false;
  const silent = createClient({ base, token: 'one' });
  await assert.rejects(silent.apiKeys.revoke(1), { code: 'confirmation_required' });
});
