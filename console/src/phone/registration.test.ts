import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmitterImpl, TransportState, UserAgent } from 'sip.js';
import type { Transport } from 'sip.js';
import { createRegistration } from './registration.ts';

/** A socket that is open; the test answers what is sent. */
class FakeTransport implements Transport {
  readonly protocol = 'WS';
  readonly stateChange = new EmitterImpl<TransportState>();
  readonly sent: string[] = [];
  state = TransportState.Connected;
  onConnect: Transport['onConnect'];
  onDisconnect: Transport['onDisconnect'];
  onMessage: Transport['onMessage'];
  isConnected = (): boolean => true;
  connect = (): Promise<void> => Promise.resolve();
  disconnect = (): Promise<void> => Promise.resolve();
  dispose = (): Promise<void> => Promise.resolve();
  send(message: string): Promise<void> {
    this.sent.push(message);
    return Promise.resolve();
  }
  /** Accepts the newest request for two minutes. */
  accept(): void {
    const lines = this.sent.at(-1)!.split('\r\n');
    const copied = lines.filter((line) => /^(Via|From|To|Call-ID|CSeq|Contact):/.test(line));
    this.onMessage?.(['SIP/2.0 200 OK', ...copied, 'Content-Length: 0', '', ''].join('\r\n'));
  }
}

test('phone - the refresh of a registration that meets a renewal without an answer is no error of the page', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const agent = new UserAgent({
    uri: UserAgent.makeURI('sip:1001-web@example.com')!,
    transportConstructor: FakeTransport,
    logBuiltinEnabled: false,
  });
  const transport = agent.transport as FakeTransport;
  const registration = createRegistration(agent, () => assert.fail('the registration was lost'));
  const first = registration.renew();
  transport.accept();
  await first;
  // SIP.js refreshes after 118.8 s.
  t.mock.timers.tick(117_000);
  const renewal = registration.renew();
  t.mock.timers.tick(2_000);
  transport.accept();
  await renewal;
  // A rejection that nobody handles fails the test by now.
  await new Promise(setImmediate);
  assert.equal(transport.sent.length, 2);
});
