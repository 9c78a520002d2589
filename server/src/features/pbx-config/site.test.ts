import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PhoneConfig } from '@offhook/contract/config-phones.ts';
import { sharedPhones } from './site.ts';

test('pbx-config/shared-phones - a title longer than the engine shows is cut, not refused by every apply', () => {
  const titleOf = (title: string | null) =>
    sharedPhones([
      { ...PhoneConfig.parse({ name: 'lobby', vendor: 'yealink', shared: true }), title, id: 1 } as never,
    ])[0]!.title;
  assert.equal(titleOf(null), 'lobby');
  assert.equal(titleOf(`Lobby ${'x'.repeat(74)}`), `Lobby ${'x'.repeat(58)}`);
  assert.equal(titleOf(`${'Ж'.repeat(39)} Фойе`), 'Ж'.repeat(39));
});
