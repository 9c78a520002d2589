import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mergePatch } from './merge-patch.ts';

/** Appendix A of RFC 7396. */
const CASES: readonly (readonly [original: string, patch: string, result: string])[] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];
test('merge patch - every case of RFC 7396', () => {
  for (const [original, patch, result] of CASES)
    assert.deepEqual(
      mergePatch(JSON.parse(original), JSON.parse(patch)),
      JSON.parse(result),
      `${original} with ${patch}`,
    );
});
test('merge patch - both inputs stay unchanged, and no name reaches a prototype', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (target, patch) => {
      const [before, wanted] = [JSON.stringify(target), JSON.stringify(patch)];
      mergePatch(target, patch);
      assert.deepEqual([JSON.stringify(target), JSON.stringify(patch)], [before, wanted]);
    }),
  );
  const merged = mergePatch(
    {},
    JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
  );
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  assert.equal(Object.getPrototypeOf(merged), Object.prototype);
});
