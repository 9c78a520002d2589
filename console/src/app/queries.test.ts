import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { QueryObserver } from '@tanstack/react-query';
import { Queries } from './queries.ts';

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

test('console - what an event invalidates is read anew, also while the first read of it is under way', async () => {
  const queries = new Queries();
  const answers = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  let asked = 0;
  const seen = new QueryObserver(queries, {
    queryKey: ['call'],
    queryFn: () => answers[asked++]!.promise,
    retry: false,
  });
  const end = seen.subscribe(() => undefined);
  assert.equal(asked, 1);
  const again = queries.invalidateQueries({ queryKey: ['call'] });
  answers[0]!.reject(new Error('not found'));
  answers[1]!.resolve('as after the event');
  await again;
  assert.equal(seen.getCurrentResult().data, 'as after the event');
  assert.equal(asked, 2);
  end();
});
test('console - many events do not keep a first read from its answer', async () => {
  const queries = new Queries();
  const answer = Promise.withResolvers<string>();
  const seen = new QueryObserver(queries, {
    queryKey: ['ring'],
    queryFn: () => answer.promise,
    retry: false,
  });
  const end = seen.subscribe(() => undefined);
  const events = [1, 2, 3].map(() => queries.invalidateQueries({ queryKey: ['ring'] }));
  answer.resolve('read');
  await Promise.all(events);
  assert.equal(seen.getCurrentResult().data, 'read');
  end();
});
