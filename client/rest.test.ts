import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { CONFIG_KINDS } from '@offhook/contract/config-objects.ts';
import { createRest, queryOf } from './rest.ts';
import { contractDocument } from '../tools/contract-documents.ts';

/** Routes without a request of their own: other methods of the client, other transports, and probes. */
const ELSEWHERE = new Set([
  'POST /api/v1/session/logout',
  'POST /api/v1/stream/ticket',
  'GET /api/v1/stream',
  'GET /api/v1/recordings/{id}/audio',
  'GET /api/v1/exports/{id}/file',
  'GET /api/v1/phonebook/export',
  'POST /api/v1/phonebook/import',
  // For systems that know nothing of the client.
  'POST /api/v1/connectors/{id}/inbox',
  'GET /api/v1/phonebook/phones/{token}/{file}',
  'POST /api/v1/config/sounds',
  'GET /api/v1/config/sounds/{sound}',
  'POST /api/v1/config/languages/{language}',
  'GET /api/v1/events',
  'GET /api/v1/events/poll',
]);

/** Every kind of object of the configuration has the same paths, and one function for each. */
const OF_A_KIND = new RegExp(
  ` /api/v1/config/(?:${Object.values(CONFIG_KINDS)
    .map(({ path }) => path)
    .join('|')})(?!/\\{extension\\})(?=/|$)`,
);

/** Calls every function of the groups with plausible arguments; returns the requested routes, ids as names. */
function everyRequest(): string[] {
  const asked: string[] = [];
  const rest = createRest((method, address) => {
    asked.push(`${method} ${address.replace(/\?.*$/, '')}`);
    return Promise.resolve({} as never);
  });
  for (const group of Object.values(rest)) {
    const functions = typeof group === 'function' ? [group] : Object.values(group);
    for (const one of functions) (one as (...names: string[]) => unknown)('{a}', '{b}', '{c}');
  }
  return asked.map((line) => decodeURIComponent(line).replaceAll(/\{\w\}/g, '{}'));
}

test('rest - everything under /api/v1 has a function, and no function requests an unknown path', async () => {
  const document = await contractDocument<{ paths: Record<string, object> }>('openapi');
  const served = Object.entries(document.paths).flatMap(([address, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${address}`),
  );
  const wanted = served
    .filter((line) => line.includes(' /api/v1/') && !ELSEWHERE.has(line))
    .map((line) => line.replace(OF_A_KIND, ' /api/v1/config/{}').replaceAll(/\{\w+\}/g, '{}'));
  const kinds = Object.keys(CONFIG_KINDS).length;
  assert.equal(wanted.filter((line) => line === 'GET /api/v1/config/{}').length, kinds);
  assert.ok(wanted.length > 30);
  // A list and its filter by one extension are two functions of one path.
  const requested = new Set(everyRequest());
  const lacking = wanted.filter((line) => !requested.has(line));
  assert.deepEqual(
    lacking,
    [],
    `the client has no method for ${lacking.join(', ')}: see contract/operations/groups.ts and createRest in client/rest.ts`,
  );
  assert.deepEqual([...requested].toSorted(), [...new Set(wanted)].toSorted());
});

test('rest - path parts are encoded, and absent fields are not sent', async () => {
  const asked: unknown[][] = [];
  const rest = createRest((...args) => {
    asked.push(args);
    return Promise.resolve({} as never);
  });
  await rest.queues.moveCaller('su/pp', 'ast1:1.2', { position: 1 }, { idempotency_key: 'k' });
  await rest.webhooks.deliveries(7, { limit: 5, state: undefined });
  assert.deepEqual(asked, [
    ['POST', '/api/v1/queues/su%2Fpp/callers/ast1%3A1.2/move', { position: 1 }, { idempotency_key: 'k' }],
    ['GET', '/api/v1/webhooks/7/deliveries?limit=5', undefined, { signal: undefined }],
  ]);
  assert.equal(queryOf({ a: undefined }), '');
});

test('rest - the README lists each method by its group', async () => {
  const readme = await readFile(new URL('README.md', import.meta.url), 'utf8');
  for (const [group, methods] of Object.entries(createRest(() => Promise.reject(new Error('not sent'))))) {
    const row = readme.split('\n').find((line) => line.startsWith(`| \`${group}\``)) ?? readme;
    const names = typeof methods === 'function' ? [group] : Object.keys(methods);
    for (const name of names)
      assert.ok(row.includes(`\`${name}\``), `client/README.md: the row of ${group} lacks \`${name}\``);
  }
});
