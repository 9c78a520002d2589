import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { Problem } from '@offhook/contract/errors.ts';
import { useSite } from '../support/use-site.ts';

/** Paths promised by wire.md; the service's OpenAPI document lists the others. */
const PROMISED: Readonly<Record<string, string>> = {
  '/api/auth/login': 'POST',
  '/api/mobile/login.php': 'POST',
  '/api/mobile/ping.php': 'GET',
  '/api/mobile/refresh.php': 'GET',
  '/api/mobile/contacts.php': 'GET',
  '/api/mobile/history.php': 'GET',
  '/api/mobile/call_history.php': 'GET, POST',
  '/api/cc_actions/agent.php': 'POST',
  '/api/v1/session': 'GET',
  '/api/v1/session/logout': 'POST',
  '/api/v1/sessions': 'GET',
  '/healthz': 'GET',
  '/readyz': 'GET',
  '/metrics': 'GET',
  '/': 'GET',
  '/docs': 'GET',
};
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'REPORT'];
const UNKNOWN = [
  '/api',
  '/api/',
  '/api/mobile/nothing.php',
  '/api/mobile/contacts.php/',
  '/api/mobile/contacts.php/x',
  '/api/mobile/contacts.PHP',
  '/api/mobile/%63ontacts.php',
  '//api/mobile/contacts.php',
  '/api/mobile/../mobile/contacts.php',
  '/API/auth/login',
  '/api/auth/login/',
  '/api/auth/login%2f',
  '/index.html',
  '/.env',
  '/data/credentials.json',
  '/ws/x',
];

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}
/** Sends the path byte for byte; fetch would normalise it. */
async function ask(base: string, method: string, path: string, token?: string): Promise<Answer> {
  const { hostname, port } = new URL(base);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const request = http.request({ hostname, port, method, path, headers, agent: false });
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}
const codeOf = (answer: Answer): string => Problem.parse(JSON.parse(answer.body)).code;

describe('routes', () => {
  // The paths do not depend on an engine.
  const site = useSite({ wait: 'answers', empty: true });

  test('routes - every promised path takes exactly its methods; another one is 405 with Allow', async () => {
    const token = (await site().person('1001')).token;
    for (const [path, methods] of Object.entries(PROMISED)) {
      for (const method of METHODS.filter((m) => !methods.split(', ').includes(m))) {
        const answer = await ask(site().base, method, path, token);
        assert.equal(answer.status, 405, `${method} ${path}`);
        assert.equal(answer.headers.allow, methods, `Allow of ${method} ${path}`);
        if (method === 'HEAD') assert.equal(answer.body, '');
        else assert.equal(codeOf(answer), 'method_not_allowed');
      }
      for (const method of methods.split(', ')) {
        const { status } = await ask(site().base, method, path, token);
        assert.ok(status !== 404 && status !== 405, `${method} ${path} answered ${status}`);
      }
    }
  });

  test('routes - paths of the OpenAPI document are reachable by their methods only', async () => {
    const answer = await ask(site().base, 'GET', '/api/v1/openapi.json');
    assert.equal(answer.status, 200);
    const { paths } = JSON.parse(answer.body) as { paths: Record<string, Record<string, unknown>> };
    assert.ok(Object.keys(paths).length >= 8, `only ${Object.keys(paths).join(', ')}`);
    for (const path of Object.keys(PROMISED).filter((p) => p.startsWith('/api/'))) {
      assert.ok(path in paths, `${path} is not in the document`);
    }
    for (const [template, operations] of Object.entries(paths)) {
      const path = template.replaceAll(/\{[^}]+\}/g, '1');
      const listed = Object.keys(operations).map((m) => m.toUpperCase());
      for (const method of METHODS.filter((m) => !listed.includes(m))) {
        const { status, headers } = await ask(site().base, method, path);
        assert.equal(status, 405, `${method} ${path}`);
        assert.equal(headers.allow, listed.toSorted().join(', '), `Allow of ${path}`);
      }
    }
  });

  test('routes - an unknown path is 404 for every method, signed in or not', async () => {
    const token = (await site().person('1001')).token;
    for (const path of UNKNOWN) {
      for (const method of METHODS) {
        for (const as of [undefined, token]) {
          const answer = await ask(site().base, method, path, as);
          assert.equal(answer.status, 404, `${method} ${path} ${as ? 'signed in' : 'not signed in'}`);
          if (method !== 'HEAD') assert.equal(codeOf(answer), 'not_found');
        }
      }
    }
  });

  test('routes - without a session 401, and a token in the address is refused', async () => {
    for (const path of [
      '/api/mobile/contacts.php',
      '/api/mobile/history.php',
      '/api/v1/session',
      '/metrics',
    ]) {
      const answer = await ask(site().base, 'GET', path);
      assert.equal(answer.status, 401, path);
      assert.equal(codeOf(answer), 'not_authenticated');
    }
    const token = (await site().person('1001')).token;
    const answer = await ask(site().base, 'GET', `/api/mobile/contacts.php?token=${token}`);
    assert.equal(answer.status, 400);
    assert.equal(codeOf(answer), 'token_in_url');
  });
});
