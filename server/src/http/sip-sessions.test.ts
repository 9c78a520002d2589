import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SipCalls, SipCredentials, SipGrant } from '../ports/sip.ts';
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
  const calls: SipCalls = { mayTalk: () => false, endOver: () => Promise.resolve() };
  const end = (connection: object): void => void ended.push(connection);
  const sessions = createSipSessions({ credentials, calls, end, portOf: () => 5060 });
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

test('sip sessions - with a session end the calls over its connections, also over a closed one, until the engine did it', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let endSession: (session: number) => void = () => assert.fail('nobody listens');
  let session_id = 1;
  const credentials: SipCredentials = {
    prove: () => ({ session_id, secret: 'secret' }),
    endsAt: () => Infinity,
    onSessionEnded: (listener) => ((endSession = listener), () => undefined),
  };
  const asked: (readonly [readonly string[], readonly number[]])[] = [];
  let talks = false;
  let isAway = true;
  const calls: SipCalls = {
    mayTalk: () => talks,
    async endOver(devices, ports) {
      asked.push([[...devices], [...ports]]);
      if (isAway) throw new Error('away');
    },
  };
  interface Connection {
    readonly port: number;
  }
  const sessions = createSipSessions<Connection>({
    credentials,
    calls,
    end: (connection) => sessions.closed(connection),
    portOf: ({ port }) => port,
  });
  const connect = (port: number): Connection => {
    const connection = { port };
    void sessions.rewrite(connection, REGISTER);
    return connection;
  };
  sessions.closed(connect(1001));
  const talking = connect(1002);
  talks = true;
  sessions.closed(talking);
  connect(1003);
  session_id = 2;
  connect(2001);
  endSession(1);
  const first = [['1008-web'], [1002, 1003]] as const;
  assert.deepEqual(asked, [first], 'neither one that closed without a call nor one of another session');
  const sweep = async (): Promise<void> => {
    t.mock.timers.tick(5_000);
    await new Promise((resolve) => setImmediate(resolve));
  };
  await sweep();
  isAway = false;
  await sweep();
  await sweep();
  assert.deepEqual(asked, [first, first, first], 'asked again until the engine did it');
  sessions.close();
});
