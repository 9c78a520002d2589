import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import type { Operation } from '@offhook/contract/operation.ts';
import { contacts } from '@offhook/contract/operations/contacts.ts';
import { GROUPS } from '@offhook/contract/operations/groups.ts';
import { history } from '@offhook/contract/operations/history.ts';
import { stream } from '@offhook/contract/operations/stream.ts';
import { inputValidator } from '../src/core/check-input.ts';
import { ServiceError } from '../src/core/errors.ts';

const reading = Object.values({ ...GROUPS, contacts, history, stream })
  .flatMap((group) => Object.values(group) as Operation[])
  .flatMap(({ path, query }) => (query instanceof z.ZodObject ? [{ path, query }] : []));
const SO_LONG = 'x'.repeat(20_000);
const VALUES: readonly unknown[] = [
  '',
  'x',
  '-1',
  '1e3',
  '0x10',
  '99999',
  '9'.repeat(30),
  '2026-01-01',
  '2026-01-01t00:00:00z',
  '2026-02-30T00:00:00Z',
  "1'--",
  '__proto__',
  '\0',
  SO_LONG,
];
/** The refusal of one query; null if it is accepted. */
function refusalOf(query: z.ZodType, value: object): string | null {
  const result = inputValidator({ schema: query, httpPart: 'querystring' })(value);
  if (!('error' in result)) return null;
  assert.ok(result.error instanceof ServiceError, String(result.error));
  assert.equal(result.error.code, 'invalid_request');
  return result.error.message;
}

test('refused values - each parameter of each operation names itself and what is allowed, in one sentence', () => {
  let refused = 0;
  for (const { path, query } of reading)
    for (const name of Object.keys(query.shape)) {
      for (const value of VALUES) {
        const message = refusalOf(query.partial(), { [name]: value });
        if (message === null) continue;
        refused += 1;
        const where = `${path}?${name}=${String(value).slice(0, 30)}: ${message}`;
        assert.match(message, new RegExp(`^${name}(\\.0)?: (must|expected|names|not) `), where);
        assert.ok(!message.includes(`; ${name}: `), where);
        assert.doesNotMatch(message, /Invalid|must have the form|whole number$|NaN|undefined/, where);
        assert.ok(message.length < 300, where);
      }
      assert.equal(
        refusalOf(query.partial(), { [name]: ['1', '2'] }),
        `${name}: occurs twice; send it once`,
        path,
      );
    }
  assert.ok(refused > 500, String(refused));
});
test('refused values - an unknown parameter is refused, with the name that it is like', () => {
  let strict = 0;
  for (const { path, query } of reading) {
    const known = Object.keys(query.shape);
    const typo = `${known[0]}s`;
    const refusal = refusalOf(query.partial(), { [typo]: '1' });
    // Files of phones and the paths of existing apps ignore parameters that they do not know.
    if (known.includes(typo) || refusal === null) continue;
    strict += 1;
    assert.equal(refusal, `${typo}: unknown field; did you mean ${known[0]}?`, path);
    const proto = Object.defineProperty({}, '__proto__', { value: '1', enumerable: true });
    assert.match(refusalOf(query.partial(), proto) ?? 'accepted', /^__proto__: unknown field/, path);
  }
  assert.ok(strict > 20, String(strict));
});
