import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSources } from '../../../server/test/support/sources.ts';
import { QueryObserver } from '@tanstack/react-query';
import { Queries } from './queries.ts';

test('console - each key of the cache is read in one function, so that no page gets the data of another', async () => {
  const places = new Map<string, string[]>();
  for (const { path: file, text } of await readSources(['console/src'], /\.tsx?$/)) {
    const constants = new Map(
      [...text.matchAll(/^(?:export )?const (\w+) = ('[^']*');$/gm)].map(([, name = '', value = '']) => [
        name,
        value,
      ]),
    );
    for (const [, key = ''] of text.matchAll(/queryKey: (\[[^\]]*\]),\s*queryFn/g)) {
      const names = key
        .replaceAll(/\b[A-Za-z]\w*(?=[,\]])/g, (name) => constants.get(name) ?? name)
        .replaceAll(/\b[a-z]\w*(?:\.\w+)*(?=[,\]])/g, '_');
      places.set(names, [...(places.get(names) ?? []), file]);
    }
  }
  assert.ok(places.size > 20, 'the keys are found');
  assert.deepEqual(
    [...places].filter(([, files]) => files.length > 1),
    [],
  );
});

test('console - an invalidated query is read again, also during its first read', async () => {
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
test('console - frequent events do not delay the answer of a first read', async () => {
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
