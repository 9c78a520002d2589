import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { dialMatcher, layersOf, patternsMeet, shortestOf } from './dial-pattern.ts';

test('dial pattern - X, Z, N and the open ends match their sets', () => {
  const cases: [string, string, boolean][] = [
    ['0X', '05', true],
    ['0X', '0', false],
    ['0X', '055', false],
    ['0Z.', '0012', false],
    ['0Z.', '01', false],
    ['0Z.', '012', true],
    ['0N!', '01', false],
    ['0N!', '02', true],
    ['+49!', '+49', true],
    ['+49.', '+49', false],
    ['+49.', '0049', false],
  ];
  for (const [pattern, number, is] of cases)
    assert.equal(dialMatcher(pattern)(number), is, `${pattern} ${number}`);
  assert.deepEqual(['0X', '0!', '0.', '+'].map(shortestOf), [2, 1, 2, 1]);
});

test('dial pattern - codes meet if one dialled text matches both', () => {
  for (const [a, b, both] of [
    ['*22', '*22', true],
    ['*22', '*22X', false],
    ['*2X', '*22', true],
    ['*2Z', '*20', false],
    ['*7.', '*72', true],
    ['*72X.', '*72', false],
    ['**X.', '*8', false],
    ['#.', '*.', false],
  ] as const) {
    assert.equal(patternsMeet(a, b), both, `${a} ${b}`);
    assert.equal(patternsMeet(b, a), both, `${b} ${a}`);
  }
});

const patterns = fc
  .tuple(
    fc.array(fc.constantFrom('0', '1', '2', 'X', 'Z', 'N'), { minLength: 1, maxLength: 4 }),
    fc.constantFrom('', '.', '!'),
  )
  .map(([fixed, end]) => fixed.join('') + end);

test('dial pattern - two patterns meet exactly if some number matches both', () => {
  const numbers: string[] = [];
  for (let length = 1; length <= 6; length++)
    for (let i = 0; i < 3 ** length; i++) numbers.push(i.toString(3).padStart(length, '0'));
  fc.assert(
    fc.property(patterns, patterns, (a, b) => {
      const [one, two] = [dialMatcher(a), dialMatcher(b)];
      assert.equal(
        patternsMeet(a, b),
        numbers.some((n) => one(n) && two(n)),
      );
    }),
    { numRuns: 300 },
  );
});

test('dial pattern - a key that is no digit meets itself alone', () => {
  assert.equal(patternsMeet('*7', '*X'), true);
  assert.equal(patternsMeet('*7', '#7'), false);
  assert.equal(patternsMeet('*7', 'X7'), false);
});

test('dial pattern - the first layer that has a number has the first list that has it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(patterns, { minLength: 1, maxLength: 3 }), { maxLength: 8 }),
      fc.stringMatching(/^[0-3]{1,6}$/),
      (lists, number) => {
        const layers = layersOf(lists);
        const found = lists.flatMap((list, i) => (list.some((p) => dialMatcher(p)(number)) ? [i] : []));
        const [first] = found;
        for (const other of found.slice(1)) assert.ok(layers[first!]! < layers[other]!);
      },
    ),
  );
});

test('dial pattern - as many patterns as a site may have are laid in moments', () => {
  const lists = Array.from({ length: 20 }, (_, i) =>
    Array.from({ length: 100 }, (__, j) => `0${String(i * 100 + j).padStart(8, '0')}XX`),
  );
  const before = process.cpuUsage();
  assert.deepEqual(new Set(layersOf(lists)), new Set([0]));
  const took = process.cpuUsage(before).user / 1000;
  assert.ok(took < 4_000, `${took} ms of the event loop`);
});
