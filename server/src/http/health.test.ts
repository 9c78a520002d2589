import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { hostFixture, rawExchange } from '../../test/support/host-fixture.ts';
import { silent } from '../core/log.ts';
import { addOperations } from './operations.ts';
import { healthOperations, listenMetrics, readiness } from './health.ts';
import type { Check, HealthOptions } from './health.ts';
import type { Host } from './host.ts';

let host: Host;
let metricsPort: number;
let closeMetrics: () => Promise<void>;
let engine = true;
let disk: Check['run'] = () => Promise.resolve({ ok: true, detail: '5 GB free' });
before(async () => {
  host = await hostFixture();
  const options: HealthOptions = {
    metrics: host.metrics,
    engineUp: () => engine,
    checks: [
      {
        name: 'engine',
        run: () => Promise.resolve({ ok: engine, detail: engine ? 'up' : 'refused: wrong secret' }),
      },
      { name: 'disk', run: () => disk() },
    ],
  };
  addOperations(host.app, [healthOperations(options)]);
  await host.app.ready();
  const listener = await listenMetrics({ host: '127.0.0.1', port: 0 }, options, silent);
  metricsPort = listener.port;
  closeMetrics = () => listener.close();
});
after(async () => {
  await closeMetrics();
  await host.close();
});
const admin = { authorization: 'Bearer token-admin' };
const get = async (path: string, headers = {}) => {
  const response = await host.app.inject({ url: path, headers });
  return { status: response.statusCode, body: response.json() as unknown };
};

test('health - the process answers, with the state of the engine', async () => {
  engine = false;
  assert.deepEqual(await get('/healthz'), { status: 200, body: { status: 'ok', engine: 'down' } });
  engine = true;
  assert.deepEqual(await get('/healthz'), { status: 200, body: { status: 'ok', engine: 'up' } });
});
test('health - ready is 200 or 503 in short words; details are for Admin', async () => {
  engine = true;
  assert.deepEqual(await get('/readyz'), {
    status: 200,
    body: { status: 'ready', checks: { engine: 'ok', disk: 'ok' } },
  });
  engine = false;
  const short = { status: 'not_ready', checks: { engine: 'failing', disk: 'ok' } };
  for (const headers of [
    {},
    { authorization: 'Bearer token-supervisor' },
    { authorization: 'Bearer wrong' },
  ]) {
    assert.deepEqual(await get('/readyz', headers), { status: 503, body: short });
  }
  assert.deepEqual(await get('/readyz', admin), {
    status: 503,
    body: { ...short, details: { engine: 'refused: wrong secret', disk: '5 GB free' } },
  });
  engine = true;
});
test('health - a check that throws or never answers is failing, not the service', async () => {
  disk = () => Promise.reject(new Error('statfs failed'));
  assert.equal((await get('/readyz')).status, 503);
  disk = () => new Promise(() => {});
  assert.deepEqual(((await get('/readyz', admin)).body as { details: object }).details, {
    engine: 'up',
    disk: 'no answer in 2 s',
  });
  disk = () => Promise.resolve({ ok: true, detail: '5 GB free' });
});
test('health - a check that is not needed may fail: it is shown, and the service stays ready', async () => {
  const run = () => Promise.resolve({ ok: false, detail: 'connection refused' });
  const late = await readiness([{ name: 'records', needed: false, run }]);
  assert.deepEqual(late, {
    status: 'ready',
    checks: { records: 'failing' },
    details: { records: 'connection refused' },
  });
  assert.equal((await readiness([{ name: 'records', run }])).status, 'not_ready');
});
test('metrics - for Admin only, by route and never by a client’s text', async () => {
  await host.app.inject('/secret-path-of-somebody');
  await host.app.inject('/healthz');
  for (const level of ['user', 'agent', 'supervisor']) {
    const response = await host.app.inject({
      url: '/metrics',
      headers: { authorization: `Bearer token-${level}` },
    });
    assert.equal(response.statusCode, 403);
  }
  assert.equal((await host.app.inject('/metrics')).statusCode, 401);
  const { body, headers } = await host.app.inject({ url: '/metrics', headers: admin });
  assert.match(String(headers['content-type']), /^text\/plain/);
  assert.match(body, /offhook_http_requests_total\{route="\/healthz",method="GET",status="200"\} [1-9]/);
  assert.match(body, /offhook_http_requests_total\{route="none",method="other",status="404"\} 1/);
  assert.match(body, /nodejs_eventloop_lag_seconds/);
  assert.equal(/secret-path|token-/.test(body), false);
});
test('metrics listener - the same without sign-in, on loopback, but not under a foreign host name', async () => {
  const ask = (path: string, host = `127.0.0.1:${metricsPort}`, method = 'GET') =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const request = http.request(
        { port: metricsPort, host: '127.0.0.1', path, method, headers: { host } },
        (response) => {
          let body = '';
          response.on('data', (chunk) => (body += chunk));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
        },
      );
      request.on('error', reject);
      request.end();
    });
  assert.match((await ask('/metrics')).body, /offhook_http_requests_total/);
  assert.deepEqual(JSON.parse((await ask('/readyz')).body), {
    status: 'ready',
    checks: { engine: 'ok', disk: 'ok' },
    details: { engine: 'up', disk: '5 GB free' },
  });
  assert.equal((await ask('/healthz')).status, 200);
  assert.equal((await ask('/')).status, 404);
  assert.equal((await ask('/metrics', 'evil.example.com')).status, 404);
  assert.equal((await ask('/metrics', undefined, 'POST')).status, 405);
  assert.match((await rawExchange(metricsPort, 'nonsense\r\n\r\n')).text, /^HTTP\/1\.1 400 /);
});
