import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { SITE } from './site-tables.ts';

const SERVER = path.resolve(import.meta.dirname, '..');

test('site tables - every feature that stores something is named, so that a move leaves none behind', () => {
  const stored = fs
    .globSync('{features,http,boot}/**/*.ts', { cwd: SERVER })
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) =>
      [...fs.readFileSync(path.join(SERVER, file), 'utf8').matchAll(/\.migrate\('([\w-]+)'/g)].map(
        ([, feature = '']) => feature,
      ),
    );
  // The table of the move itself stays where it is.
  const wanted = new Set(stored.filter((feature) => feature !== 'move'));
  assert.ok(wanted.size > 20, `found only ${wanted.size}`);
  const different = [...wanted, ...Object.keys(SITE)].filter(
    (feature) => !wanted.has(feature) || !Object.hasOwn(SITE, feature),
  );
  assert.deepEqual(different, [], `correct the rows of SITE in boot/site-tables.ts: ${different.join(', ')}`);
});
