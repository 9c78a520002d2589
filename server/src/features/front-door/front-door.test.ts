import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { ERRORS } from '@offhook/contract/errors.ts';
import { EVENT_DATA } from '@offhook/contract/events.ts';
import { Ping } from '@offhook/contract/session.ts';
import { siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';

let site: Site;
before(async () => {
  site = await siteFixture({
    config: { siteTitle: '<b>Test & "Co"</b>' } as object,
  });
});
after(() => site.close());
const get = (url: string, headers = {}) => site.host.app.inject({ url, headers });

test('front door - names are text, nothing is inline, and everything a page uses is there', async () => {
  for (const url of ['/docs/errors', '/docs/events']) {
    const { body, headers } = await get(url);
    assert.equal(body.includes('<b>'), false, url);
    assert.match(body, /&lt;b&gt;Test &amp; &quot;Co&quot;/, url);
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /default-src 'none'; script-src 'self';/, url);
    assert.doesNotMatch(policy, /unsafe-(?:inline|eval)/, url);
    assert.equal(
      /<script(?![^>]*\bsrc=)|<style|\son\w+=|style="|javascript:/i.test(body),
      false,
      `${url} has something inline`,
    );
    for (const [, link] of body.matchAll(/(?:src|href)="(\/[^"#]*)/g)) {
      const linked = await get(link!);
      assert.ok([200, 503].includes(linked.statusCode), `${url} → ${link}: ${linked.statusCode}`);
    }
    assert.equal(
      /https?:\/\/(?!localhost)/.test(body.replaceAll('http://www.w3.org', '')),
      false,
      `${url} needs the network`,
    );
  }
});
test('front door - files have a type, a tag and answer 304', async () => {
  for (const [url, type] of [
    ['/favicon.ico', 'image/svg+xml'],
    ['/favicon.svg', 'image/svg+xml'],
    ['/front-door.css', 'text/css; charset=utf-8'],
  ] as const) {
    const first = await get(url);
    assert.equal(first.headers['content-type'], type, url);
    assert.ok(first.rawPayload.length > 200, url);
    const again = await get(url, { 'if-none-match': first.headers.etag });
    assert.equal(again.statusCode, 304, url);
    assert.equal(again.body, '');
  }
  for (const url of [
    '/docs/',
    '/docs/../package.json',
    '/docs/index.html',
    '/front-door.css.map',
    '/assets/docs.js',
  ]) {
    assert.equal((await get(url)).statusCode, 404, url);
  }
});
test('front door - every error code has its place on the page its type points to', async () => {
  const { body } = await get('/docs/errors');
  for (const [code, row] of Object.entries(ERRORS)) {
    assert.ok(body.includes(`id="${code}"`), code);
    assert.ok(body.includes(row.title.replaceAll("'", '&#39;')), code);
  }
});
test('front door - every event has its place on the page, with its topics', async () => {
  const { body } = await get('/docs/events');
  for (const type of Object.keys(EVENT_DATA)) assert.ok(body.includes(`id="${type}"`), type);
  assert.match(body, /calls, calls\/mine/);
});
test('ping - the body real clients look at before they sign in', async () => {
  const body = Ping.parse((await get('/api/mobile/ping.php')).json());
  assert.equal(body.site_title, '<b>Test & "Co"</b>');
  assert.equal(body.server_time, Math.floor(site.clock.now() / 1000));
});
test('site - every registered path with every other method is 405 with Allow, and its neighbours are 404', async () => {
  const methods = http.METHODS.filter((m) => m !== 'CONNECT');
  for (const entry of site.host.table.entries()) {
    const url = entry.path.replace(':id', '7');
    for (const method of methods) {
      const response = await site.host.app.inject({ method: method as 'GET', url });
      if (entry.methods.has(method)) assert.ok(![404, 405].includes(response.statusCode), `${method} ${url}`);
      else {
        assert.equal(response.statusCode, 405, `${method} ${url}`);
        assert.equal(response.headers.allow, [...entry.methods.keys()].toSorted().join(', '));
      }
    }
    for (const neighbour of [`${url}/`, `${url}x`, `${url}/x`, `${url};x`, url.toUpperCase()]) {
      if (neighbour === '//' || site.host.table.find(neighbour) !== undefined) continue;
      const response = await site.host.app.inject({ method: 'GET', url: neighbour });
      assert.equal(response.statusCode, 404, neighbour);
    }
  }
});
