import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientFrame } from '@offhook/contract/stream.ts';
import { z } from 'zod';
import { checkInput } from './check-input.ts';
import { ServiceError } from './errors.ts';

const detailOf = (schema: z.ZodType, value: unknown): string => {
  try {
    checkInput(schema, value, 'body');
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, 'invalid_request');
    return error.message;
  }
  return 'taken';
};

test('check input - a refusal names the field, the rule and what would be taken', () => {
  const schema = z.strictObject({
    name: z.string().min(1).max(4).optional(),
    level: z.enum(['user', 'agent']).optional(),
    list: z.array(z.int()).min(1).max(3).optional(),
    key: z
      .string()
      .regex(/^[a-z]+$/)
      .optional(),
    either: z.union([z.string(), z.int()]).optional(),
    nested: z.strictObject({ must: z.boolean() }).optional(),
  });
  const cases: [unknown, string][] = [
    [5, 'body: expected an object, received a number'],
    [{ foo: 1 }, 'foo: unknown field'],
    [{ nested: {} }, 'nested.must: is missing'],
    [{ nested: { must: true, more: 1 } }, 'nested.more: unknown field'],
    [{ name: '' }, 'name: must not be empty'],
    [{ name: 'abcde' }, 'name: must have at most 4 characters'],
    [{ level: 'boss' }, 'level: must be one of "user", "agent"'],
    [{ list: [] }, 'list: must not be empty'],
    [{ list: ['x'] }, 'list.0: expected a number, received a string'],
    [{ list: [1, 2, 3, 4] }, 'list: must have at most 3 entries, has 4'],
    [{ key: 'A' }, 'key: must have the form /^[a-z]+$/'],
    [{ either: null }, 'either: expected a string, received null, or expected a number, received null'],
    [{ name: 5, foo: 1 }, 'name: expected a string, received a number; foo: unknown field'],
  ];
  for (const [value, detail] of cases) assert.equal(detailOf(schema, value), detail);
});
test('check input - a list that is too long is refused before any of it is looked at', () => {
  let looked = 0;
  const element = z.unknown().refine(() => (looked += 1) > 0);
  const schema = z.strictObject({ changes: z.array(element).max(25_000).default([]) });
  const changes = Array.from({ length: 1_000_000 }, () => ({}));
  assert.equal(detailOf(schema, { changes }), 'changes: must have at most 25000 entries, has 1000000');
  assert.equal(looked, 0);
});
test('check input - what is no topic is told which there are', () => {
  assert.match(
    detailOf(ClientFrame, { op: 'subscribe', id: 1, topics: ['nope'] }),
    /^topics\.0: must be a topic; topics are presence, calls, .*<queue>/,
  );
});
