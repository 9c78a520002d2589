import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { REPOSITORY, readSources } from './support/sources.ts';

test('container - the image has every folder of the repository that the service loads or reads', async () => {
  const [image, ignored] = await Promise.all(
    ['Containerfile', '.dockerignore'].map((name) => readFile(path.join(REPOSITORY, name), 'utf8')),
  );
  const read = new Set(['contract', 'server']);
  for (const { path: file, text } of await readSources(['server/src'], /(?<!\.test)\.ts$/))
    for (const [, up = ''] of text.matchAll(/import\.meta\.dirname, '((?:\.\.\/)+[a-z]+)/g)) {
      const [folder = ''] = path.join(path.dirname(file), up).split('/');
      read.add(folder);
    }
  assert.ok(read.has('connectors') && read.has('phones'), [...read].join(', '));
  for (const folder of read) {
    assert.match(image!, new RegExp(`^COPY (?:--from=\\S+ \\S+|${folder}) ${folder}(?:$|/)`, 'm'));
    assert.match(ignored!, new RegExp(`^!${folder}$`, 'm'));
  }
});
