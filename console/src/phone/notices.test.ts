import '../../test/english-words.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PhoneCall } from './phone-state.ts';

class Refusing {
  static readonly permission = 'granted';
  constructor() {
    throw new TypeError('Illegal constructor. Use ServiceWorkerRegistration.showNotification() instead.');
  }
}
const page = { hidden: true, title: 'Desk' };
Object.assign(globalThis, { document: page, Notification: Refusing });
const { beginNotices } = await import('./notices.ts');

test('phone - a browser that shows no notice from a page, as on Android, still reports the ringing call', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const call = { id: 'call-1', state: 'incoming', number: '1006', name: '', placed: null } as PhoneCall;
  const notices = beginNotices();
  notices.show([call], true);
  assert.notEqual(page.title, 'Desk');
  notices.show([], true);
  assert.equal(page.title, 'Desk');
  notices.close();
});
