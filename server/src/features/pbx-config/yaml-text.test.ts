import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { toYaml } from './yaml-text.ts';

test('yaml - any value reads back the same, whatever YAML meaning its texts have', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      'yes',
      'no',
      'null',
      '~',
      'true',
      '1001',
      '0x1f',
      '1e3',
      '- a',
      '#x',
      'a: b',
      '*a',
      '&a',
      '!!int 1',
      '08:30',
      '<<',
      '...',
      '---',
      '',
      ' x ',
      'a\nb',
      "it's",
      '"',
      '\u2028',
      '\ud800',
    ),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      texts,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('tree')),
      fc.dictionary(
        texts.filter((name) => name !== '__proto__'),
        tie('tree'),
      ),
    ),
  }));
  fc.assert(
    fc.property(fc.array(tree, { minLength: 1 }), (items) => {
      const value = { items };
      assert.deepEqual(
        parse(toYaml(value), { schema: 'core', maxAliasCount: 0 }),
        JSON.parse(JSON.stringify(value)),
      );
    }),
    { numRuns: 300 },
  );
});
