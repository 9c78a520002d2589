import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lagOf } from './lag-detail.ts';

test('health page - the lag of the journal is read, and any other text is none', () => {
  assert.deepEqual(lagOf('{"held":2,"error":null}'), { held: 2, error: null });
  for (const text of ['', 'SQLite', '{', '{"held":2,"err', '{ENOENT}: no such file'])
    assert.equal(lagOf(text), null, text);
});
