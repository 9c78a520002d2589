import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SipCredentials, SipGrant } from '../ports/sip.ts';
import { NO_RESPONSE } from './sip-digest.ts';
import { createSipSessions } from './sip-sessions.ts';

const REGISTER = Buffer.from(
  'REGISTER sip:x SIP/2.0\r\nAuthorization: Digest username="1008-web", realm="r", nonce="n", uri="sip:x", response="a"\r\n\r\n',
);

test('sip sessions - a connection that closed while its proof was looked up belongs to no session', async () => {
  const proof = Promise.withResolvers<SipGrant | null>();
  const credentials: SipCredentials = {
    prove: () => proof.promise,
    endsAt: () => Infinity,
    onSessionEnded(listener) {
      endSession = listener;
      return () => undefined;
    },
  };
  let endSession: (session: number) => void = () => assert.fail('nobody listens');
  const ended: object[] = [];
  const sessions = createSipSessions(credentials, (connection) => ended.push(connection));
  const [closed, open] = [{}, {}];
  const rewritten = [sessions.rewrite(closed, REGISTER), sessions.rewrite(open, REGISTER)];
  sessions.closed(closed);
  proof.resolve({ session_id: 7, secret: 'secret' });
  const [toClosed, toOpen] = [String(await rewritten[0]), String(await rewritten[1])];
  assert.ok(toClosed.includes(NO_RESPONSE));
  assert.ok(!toOpen.includes(NO_RESPONSE));
  assert.deepEqual([sessions.isProven(closed), sessions.isProven(open)], [false, true]);
  endSession(7);
  assert.deepEqual(ended, [open]);
  sessions.close();
});
