import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Session, SessionState } from 'sip.js';
import { reinvite } from './sip-requests.ts';

/** A session whose exchange answers re-INVITEs with these statuses, one after the other. */
function sessionWith(statuses: readonly number[]) {
  let sent = 0;
  const session = Object.assign(Object.create(Session.prototype) as Session, {
    _state: SessionState.Established,
    _stateEventEmitter: { addListener: () => undefined, removeListener: () => undefined },
    invite(options: Parameters<Session['invite']>[0]) {
      const statusCode = statuses[sent];
      sent += 1;
      const response = { message: { statusCode, hasHeader: () => true } } as never;
      const delegate = options!.requestDelegate!;
      if (statusCode === 200) delegate.onAccept?.(response);
      else delegate.onReject?.(response);
      return Promise.resolve();
    },
  });
  return { session, sent: () => sent };
}

test('phone - a re-INVITE that met one of the exchange is repeated after a moment, and no other refusal is', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const glare = sessionWith([491, 200]);
  const held = reinvite(glare.session, {});
  await new Promise(setImmediate);
  assert.equal(glare.sent(), 1, 'not repeated at once');
  t.mock.timers.tick(2_000);
  await held;
  assert.equal(glare.sent(), 2);
  const refused = sessionWith([488, 200]);
  await assert.rejects(reinvite(refused.session, {}), { message: '488' });
  assert.equal(refused.sent(), 1);
});
