import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Session, SessionState } from 'sip.js';
import { reinvite, untilEnded } from './sip-requests.ts';

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

test('phone - work whose error ends the session rejects with it; work that the end leaves open is over', async () => {
  const listeners = new Set<(state: SessionState) => void>();
  const session = {
    state: SessionState.Establishing,
    stateChange: {
      addListener: (one: (state: SessionState) => void) => listeners.add(one),
      removeListener: (one: (state: SessionState) => void) => listeners.delete(one),
    },
  } as unknown as Session;
  const end = (): void => listeners.forEach((one) => one(SessionState.Terminated));
  const failing = Promise.resolve().then(async () => {
    end();
    await Promise.resolve();
    throw new Error('no path');
  });
  await assert.rejects(untilEnded(session, failing), { message: 'no path' });
  const open = untilEnded(session, new Promise(() => undefined));
  end();
  await open;
  assert.equal(listeners.size, 0);
});
