import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

const SOURCES = path.join(import.meta.dirname, '..');

test('console - what is kept under a key is read in one place, so that no page finds what another one means by it', async () => {
  const places = new Map<string, string[]>();
  for await (const file of glob('**/*.{ts,tsx}', { cwd: SOURCES })) {
    const text = await readFile(path.join(SOURCES, file), 'utf8');
    for (const [, key = ''] of text.matchAll(/queryKey: (\[[^\]]*\]),\s*queryFn/g)) {
      const names = key.replaceAll(/\b[a-z]\w*(?:\.\w+)*(?=[,\]])/g, '_');
      places.set(names, [...(places.get(names) ?? []), file]);
    }
  }
  assert.ok(places.size > 20, 'the keys are found');
  assert.deepEqual(
    [...places].filter(([, files]) => files.length > 1),
    [],
  );
});
