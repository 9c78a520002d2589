import '../../test/english-words.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OffhookError } from '@offhook/client';

const { fieldsWith, linesOf } = await import('./field-errors.ts');

const refusal = (...paths: readonly string[]): OffhookError => {
  const problem = {
    type: '',
    title: '',
    status: 400,
    detail: '',
    code: 'invalid_request',
    success: false,
    error: '',
    errors: paths.map((path) => ({ path, detail: 'must be at most 120' })),
  } as const;
  return new OffhookError(400, problem, null);
};
const LABELS = { ring: 'Ring time', numbers: 'Numbers', 'layout.columns': 'Columns' };

test('field errors - an input shows the rule of its field and of the parts of its value', () => {
  const field = fieldsWith(refusal('ring', 'numbers.0.number'), LABELS);
  assert.deepEqual(field('ring'), { label: 'Ring time', error: 'Must be at most 120' });
  assert.equal(field('numbers').error, 'Must be at most 120');
  assert.equal(field('layout.columns').error, false);
  assert.equal(fieldsWith(new TypeError('no network'), LABELS)('ring').error, false);
});
test('field errors - the lines of a refusal have labels; none where a part of it has no input', () => {
  assert.deepEqual(linesOf(refusal('ring', 'numbers.0.number', 'numbers.1.number'), LABELS), [
    'Ring time: must be at most 120',
    'Numbers: must be at most 120',
  ]);
  assert.equal(linesOf(refusal('ring', 'more'), LABELS), null);
  assert.equal(linesOf(refusal('ringing'), LABELS), null);
  assert.equal(linesOf(refusal(), LABELS), null);
});
