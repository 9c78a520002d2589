import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileDiff } from './differences.ts';

const sections = (from: number, count: number): string =>
  Array.from({ length: count }, (_, i) => `[${from + i}](phone)\ncallerid = "Person ${from + i}"\n`).join('');

test('applies - the diff of a file with too many changes ends soon, because it blocks the service', () => {
  const [some, more] = [sections(1000, 1000), sections(1000, 6000)];
  const mixed = sections(20_000, 1500);
  for (const [before, after] of [
    [some, more],
    [more, some],
    [some, mixed],
  ] as const) {
    const began = process.cpuUsage();
    assert.deepEqual(fileDiff('pjsip_endpoints.conf', before, after), { diff: null, truncated: true });
    const ms = process.cpuUsage(began).user / 1000;
    assert.ok(ms < 5_000, `${ms} ms of the event loop`);
  }
});

test('applies - the difference of a few lines in a large file is shown', () => {
  const file = sections(1000, 5000);
  const { diff, truncated } = fileDiff('a.conf', file, file.replace('Person 3000', 'Zoe'));
  assert.equal(truncated, false);
  assert.match(diff!, /^-callerid = "Person 3000"$/m);
  assert.match(diff!, /^\+callerid = "Zoe"$/m);
});
