import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { REPOSITORY } from '../../server/test/support/sources.ts';
import { buildFirst } from './rig.ts';

const DIST = path.join(REPOSITORY, 'console/dist');

test('first load - the scripts of every page load no menu and no pop-up', async () => {
  await buildFirst();
  const html = await readFile(path.join(DIST, 'index.html'), 'utf8');
  const loaded = new Set(
    [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, file = '']) => file),
  );
  assert.ok(loaded.size > 0, html);
  for (const file of loaded) {
    const text = await readFile(path.join(DIST, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/(?:from|import)"\.\/([^"]+\.js)"/g))
      loaded.add(`assets/${name}`);
  }
  assert.deepEqual(
    [...loaded].filter((file) => file.includes('/overlays-')),
    [],
    [...loaded].join(', '),
  );
});
