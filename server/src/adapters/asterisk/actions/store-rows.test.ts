import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/errors.ts';
import type { AmiConnection } from '../ami/connection.ts';
import { ListVoid } from '../ami/pending.ts';
import { phoneActions } from './phones.ts';
import { switchActions } from './switches.ts';

test('store rows - a list that is not whole is a refusal of the engine for whoever gave the command', async () => {
  const reported: object[] = [];
  const report = (fact: object): void => void reported.push(fact);
  const broken = (): AmiConnection =>
    ({
      action: () => Promise.resolve({ ok: true, message: '' }),
      list: () => Promise.reject(new ListVoid('DBGetTree: Complete, 1 rows came of 2')),
    }) as unknown as AmiConnection;
  const refused = (error: unknown): boolean =>
    error instanceof ServiceError &&
    error.code === 'engine_refused' &&
    /1 rows came of 2/.test(error.message);
  await assert.rejects(switchActions(broken, report).keepSwitch('night', 'closed'), refused);
  await assert.rejects(phoneActions(broken, report).signOutPhone('desk_1', 'administrator'), refused);
  assert.deepEqual(reported, [], 'nothing is known of the store');
});
