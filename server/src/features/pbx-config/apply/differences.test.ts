import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileDiff } from './differences.ts';

const sections = (from: number, count: number): string =>
  Array.from({ length: count }, (_, i) => `[${from + i}](phone)\ncallerid = "Person ${from + i}"\n`).join('');

test('applies - the diff of a file with too many changes ends soon, because it blocks the service', (t) => {
  const [some, more] = [sections(1000, 1000), sections(1000, 6000)];
  const mixed = sections(20_000, 1500);
  for (const [before, after] of [
    [some, more],
    [more, some],
    [some, mixed],
  ] as const) {
    for (const msOfRound of [0, 1]) {
      let rounds = 0;
      const { mock } = t.mock.method(Date, 'now', () => (rounds += 1) * msOfRound);
      assert.deepEqual(fileDiff('pjsip_endpoints.conf', before, after), { diff: null, truncated: true });
      mock.restore();
      assert.ok(rounds < (msOfRound === 0 ? 5_000 : 200), `${rounds} rounds of the comparison`);
    }
  }
});

test('applies - the difference of a few lines in a large file is shown', (t) => {
  // A comparison that the machine let wait would be cut off.
  t.mock.method(Date, 'now', () => 0);
  const file = sections(1000, 5000);
  const { diff, truncated } = fileDiff('a.conf', file, file.replace('Person 3000', 'Zoe'));
  assert.equal(truncated, false);
  assert.match(diff!, /^-callerid = "Person 3000"$/m);
  assert.match(diff!, /^\+callerid = "Zoe"$/m);
});
