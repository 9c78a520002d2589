import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from './errors.ts';
import { parseForm } from '../http/body.ts';
import { checkJson } from './json-check.ts';

const refused = (text: string, what: RegExp): void =>
  assert.throws(
    () => checkJson(text),
    (e) => e instanceof ServiceError && what.test(e.message),
    text,
  );

test('json check - every document that JSON.stringify writes passes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), fc.nat(3), (value, indent) => {
      checkJson(JSON.stringify(value, null, indent));
    }),
  );
});
test('json check - a key twice in one object is refused wherever the object stands', () => {
  fc.assert(
    fc.property(
      // This one is refused by a rule of its own.
      fc.string().filter((key) => key !== '__proto__'),
      fc.jsonValue({ maxDepth: 3 }),
      fc.array(fc.boolean(), { maxLength: 8 }),
      (key, value, path) => {
        const pair = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
        const around = path.reduce(
          (text, list) => (list ? `[1,${text}]` : `{"x":${text}}`),
          `{${pair},${pair}}`,
        );
        refused(around, /twice/);
      },
    ),
  );
});
test('json check - the same key spelt with escapes is the same key', () => {
  refused('{"password":1,"pass\\u0077ord":2}', /twice/);
  refused('{"a\\"b":1,"a\\u0022b":2}', /twice/);
});
test('json check - half a character is refused, wherever it stands; a whole one is none', () => {
  for (const half of ['\\ud83d', '\\uDE00', '\\ude00\\ud83d', 'a\\n\\ud800b']) {
    refused(`{"a":["${half}"]}`, /unpaired UTF-16/);
    refused(`{"${half}":1}`, /unpaired UTF-16/);
  }
  checkJson('{"a":"\\ud83d\\ude00","b":"\\\\ud83d","c":"\\n"}');
});
test('json check - equal keys in different objects, and equal values, are no duplicates', () => {
  checkJson('{"a":{"a":1},"b":[{"a":1},{"a":1}],"c":"a","d":["a","a"]}');
  checkJson('{"a":"b","b":"a"}');
});
test('json check - 32 levels pass, 33 do not, and a megabyte of brackets costs no stack', () => {
  checkJson('['.repeat(32) + ']'.repeat(32));
  refused('['.repeat(33), /at most 32 levels deep/);
  refused('{"a":'.repeat(33), /at most 32 levels deep/);
  refused('['.repeat(1_000_000), /at most 32 levels deep/);
});
test('json check - text that is no JSON never breaks it', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', 'a') }),
      (text) => {
        try {
          checkJson(text);
        } catch (error) {
          assert.ok(error instanceof ServiceError);
        }
      },
    ),
  );
});
test('form - decodes what URLSearchParams writes', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string({ unit: 'grapheme' })),
      (fields) => {
        fc.pre(!Object.hasOwn(fields, '__proto__'));
        assert.deepEqual({ ...parseForm(new URLSearchParams(fields).toString()) }, { ...fields });
      },
    ),
  );
});
test('form - a field twice, broken escapes and __proto__ are refused', () => {
  for (const text of ['a=1&a=2', 'a=1&%61=2', 'a=%zz', 'a=%ff', '__proto__=1']) {
    assert.throws(() => parseForm(text), ServiceError, text);
  }
});
