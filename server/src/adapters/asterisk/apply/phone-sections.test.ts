import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedAndBeside } from './phone-sections.ts';

const file = (...sections: readonly (readonly [name: string, text: string])[]): string =>
  `; a file\n#include shared.conf\n${sections.map(([name, text]) => `[${name}](sip)\n${text}\n`).join('')}`;
const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const all = names.map((name) => [name, 'x = 1'] as const);

test('apply/phone-sections - with a changed, new or removed section come those beside it, and both ends of the file', () => {
  const changed = all.map(([name, text]) => [name, name === 'd' ? 'x = 2' : text] as const);
  assert.deepEqual([...changedAndBeside(file(...changed), file(...all))].sort(), ['a', 'c', 'd', 'e', 'g']);
  const without = all.filter(([name]) => name !== 'c');
  assert.deepEqual([...changedAndBeside(file(...without), file(...all))].sort(), ['a', 'b', 'c', 'd', 'g']);
  assert.deepEqual([...changedAndBeside(file(...all), file(...without))].sort(), ['a', 'b', 'c', 'd', 'g']);
  assert.deepEqual([...changedAndBeside(file(...all), file(...all))].sort(), ['a', 'g']);
  assert.deepEqual([...changedAndBeside(file(), '')], []);
});
