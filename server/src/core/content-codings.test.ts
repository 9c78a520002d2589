import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptedCoding } from './content-codings.ts';

for (const [header, coding] of [
  [undefined, undefined],
  ['', undefined],
  ['identity', undefined],
  ['deflate, gzip;q=0.5', 'gzip'],
  ['gzip ; q=0.5, BR', 'br'],
  ['br;q=0, gzip ;q=0.001', 'gzip'],
  ['br; q=0.000,gzip;q=0', undefined],
  ['brotli, x-gzip, gzip-9', undefined],
  ['br;level=5;q=0', undefined],
  ['br;q=high', undefined],
] as const)
  test(`content codings - ${header ?? 'no header'}`, () =>
    assert.equal(acceptedCoding(header, ['br', 'gzip']), coding));
