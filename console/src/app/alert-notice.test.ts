import '../../test/english-words.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Alert } from '@offhook/contract/alerts.ts';

Object.assign(globalThis, { document: { hidden: false } });
const { notifications, notificationsStore } = await import('@mantine/notifications');
const { showAlert } = await import('./alert-notice.ts');

const time = '2026-11-29T12:00:00.000Z';
const refused = (extension: string): Alert =>
  ({
    type: 'call.refused',
    data: { extension, number: '0301234', reason: 'calls', call_limit: 'few', refused_at: time },
  }) as unknown as Alert;
const emergency = {
  type: 'call.emergency',
  data: {
    call_id: 'ast1:1.1',
    extension: '1008',
    name: null,
    number: '112',
    location: 'Gate house',
    callback_number: null,
    called_at: time,
  },
} as unknown as Alert;

test('alerts - open notices of refused calls hide neither an emergency call nor the failure of an action', async () => {
  notificationsStore.setState({ ...notificationsStore.getState(), limit: 4 });
  for (const extension of ['1001', '1002', '1003', '1004', '1005'])
    await showAlert(refused(extension), false);
  notifications.show({ id: 'failure', message: 'It was refused' });
  await showAlert(emergency, false);
  const shown = notificationsStore.getState().notifications.map(({ id }) => id);
  assert.deepEqual(shown.slice(0, 2), ['emergency ast1:1.1', 'failure']);
  assert.equal(shown.length, 4);
});
