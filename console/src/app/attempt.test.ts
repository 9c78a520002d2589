import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OffhookError } from '@offhook/client';
import type { Problem } from '@offhook/contract/errors.ts';
import { createAttempt } from './attempt.ts';

const refusal = (status: number, code: Problem['code']): OffhookError =>
  new OffhookError(status, { code, status } as Problem, null);

test('attempt - only a repeat after a lost answer has the key of the first request', async () => {
  const attempt = createAttempt();
  const keys: string[] = [];
  const send = async (what: unknown, failure: Error | null = null): Promise<void> => {
    const sent = attempt(what, async ({ idempotency_key }) => {
      keys.push(idempotency_key);
      if (failure !== null) throw failure;
      return await Promise.resolve();
    });
    await (failure === null ? sent : assert.rejects(sent, failure));
  };
  const lost = new TypeError('network');
  await send({ name: 'a' }, lost);
  await send({ name: 'a' }, new OffhookError(502, null, null));
  await send({ name: 'a' }, refusal(504, 'node_no_answer'));
  await send({ name: 'a' });
  assert.equal(new Set(keys).size, 1);

  await send({ name: 'a' });
  await send({ name: 'a' }, refusal(409, 'limit_reached'));
  await send({ name: 'a' }, lost);
  await send({ name: 'b' }, lost);
  assert.equal(new Set(keys).size, 5, 'another creation, a refusal and other fields each have another key');
});
