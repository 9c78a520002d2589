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

test('container - npm start, the image and the benchmarks start the service with the same flags', async () => {
  const flagsIn = async (file: string, place: RegExp): Promise<readonly string[]> => {
    const text = await readFile(path.join(REPOSITORY, file), 'utf8');
    return [...(place.exec(text)?.[1] ?? '').matchAll(/--[a-z0-9-]+(?:=\d+)?/g)].map(([flag]) => flag);
  };
  const start = await flagsIn('scripts/start.mjs', /^const SERVICE_FLAGS = \[([^\]]+)\]/m);
  assert.ok(start.length > 0);
  assert.deepEqual(await flagsIn('Containerfile', /^ENTRYPOINT \["node", ([^\]]+)\]/m), start);
  assert.deepEqual(await flagsIn('bench/lib.ts', /^export const SERVICE_FLAGS = \[([^\]]+)\]/m), start);
});
