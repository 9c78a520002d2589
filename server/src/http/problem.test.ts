import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { shownPath } from './problem.ts';

const shown = (url: string, params: object, originalUrl: string): string =>
  shownPath({ params, routeOptions: { url }, originalUrl } as FastifyRequest);

test('problem - a log has no part of a path that opens something', () => {
  assert.equal(
    shown('/provision/:token/:file', { token: 's', file: 'f' }, '/provision/s/f'),
    '/provision/:token/:file',
  );
  const directory = '/api/v1/phonebook/phones/:token/:file';
  assert.equal(shown(directory, { token: 's', file: 'f' }, '/api/v1/phonebook/phones/s/f?q=1'), directory);
  const object = '/api/v1/config/phones/:key';
  assert.equal(
    shown(object, { key: 'desk' }, '/api/v1/config/phones/desk?x=1'),
    '/api/v1/config/phones/desk',
  );
});
