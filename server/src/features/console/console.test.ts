import assert from 'node:assert/strict';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';
import { consoleRoutes } from './routes.ts';

const SCRIPT = 'document.title = "built";\n'.repeat(20);
let folder: string;
let site: Site;
before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-console-'));
  await mkdir(path.join(folder, 'assets'));
  await writeFile(path.join(folder, 'assets/index-a1.js'), SCRIPT);
  await writeFile(path.join(folder, 'assets/index-a1.js.gzip'), gzipSync(SCRIPT));
  await writeFile(
    path.join(folder, 'index.html'),
    '<meta nonce="OFFHOOK_NONCE"><script src="/assets/index-a1.js" nonce="OFFHOOK_NONCE"></script>',
  );
  const file = { url: '/assets/index-a1.js', type: 'text/javascript', etag: '"e1"', codings: ['gzip'] };
  const built = { pages: ['/', '/wallboard/:board'], files: [file] };
  await writeFile(path.join(folder, 'console.json'), JSON.stringify(built));
  site = await siteFixture({ routes: (app) => consoleRoutes(app, { folder }) });
});
after(async () => {
  await site.close();
  await rm(folder, { recursive: true });
});
const get = (url: string, headers = {}) => site.host.app.inject({ url, headers });

test('console - a page is the document with a nonce of its own, and nothing else may be written into it', async () => {
  const [first, second] = [await get('/'), await get('/wallboard/7')];
  const nonce = /nonce="([^"]+)"/.exec(first.body)?.[1] ?? '';
  assert.match(nonce, /^[\w-]{22}$/);
  const policy = String(first.headers['content-security-policy']);
  assert.ok(policy.includes(`style-src 'self' 'nonce-${nonce}'`), policy);
  assert.match(policy, /default-src 'none'; script-src 'self';/);
  assert.doesNotMatch(policy, /unsafe|\*/);
  assert.doesNotMatch(first.body, /OFFHOOK_NONCE/);
  assert.equal(first.headers['cache-control'], 'no-store');
  assert.notEqual(first.body, second.body);
});
test('console - a file is sent as small as the client takes it, once for ever', async () => {
  const url = '/assets/index-a1.js';
  const plain = await get(url);
  assert.equal(plain.body, SCRIPT);
  assert.match(String(plain.headers['cache-control']), /immutable/);
  const small = await get(url, { 'accept-encoding': 'deflate, gzip;q=0.5' });
  assert.equal(small.headers['content-encoding'], 'gzip');
  assert.deepEqual(small.rawPayload, gzipSync(SCRIPT));
  assert.equal((await get(url, { 'accept-encoding': 'gzip;q=0' })).headers['content-encoding'], undefined);
  assert.equal((await get(url, { 'accept-encoding': 'GZIP' })).headers['content-encoding'], 'gzip');
  for (const known of ['"e1"', 'W/"e1"', '"e0", W/"e1"', '*'])
    assert.equal((await get(url, { 'if-none-match': known })).statusCode, 304, known);
  for (const other of ['"e0"', '"e1"x', 'e1'])
    assert.equal((await get(url, { 'if-none-match': other })).statusCode, 200, other);
});
test('console - what is not in the list of the build is not there', async () => {
  for (const url of [
    '/index.html',
    '/console.json',
    '/assets',
    '/assets/index-a1.js.gzip',
    '/wallboard',
    '/wallboard/7/8',
  ]) {
    assert.equal((await get(url)).statusCode, 404, url);
  }
});
