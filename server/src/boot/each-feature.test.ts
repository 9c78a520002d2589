import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachFeature } from './each-feature.ts';

test('features - one that fails keeps no event from the others, nor later ones from itself', () => {
  const seen: string[] = [];
  const logged: object[] = [];
  const feature = (name: string) => ({
    name,
    onEvent(event: string) {
      seen.push(`${name} ${event}`);
      if (name === 'first' && event === 'a') throw new Error('broken');
    },
  });
  const features = [feature('first'), feature('last')];
  const log = { error: (fields: object) => void logged.push({ ...fields, err: null }) };
  for (const event of ['a', 'b']) eachFeature(features, log, event, (one) => one.onEvent(event));
  assert.deepEqual(seen, ['first a', 'last a', 'first b', 'last b']);
  assert.deepEqual(logged, [{ err: null, feature: 'first', on: 'a' }]);
});
