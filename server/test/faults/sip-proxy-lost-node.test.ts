/** Calls that ring through the SIP proxy while the engine of their node dies: they end, and no others. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SECRET, prepareCompany } from '../support/company.ts';
import { registerPhone } from '../support/phone.ts';
import type { IncomingCall, Phone, PhoneCall } from '../support/phone.ts';
import { sipProxyFor } from '../support/sip-proxy.ts';
import type { TestSipProxy } from '../support/sip-proxy.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';
import { freeze } from '../support/steps.ts';
import { until } from '../support/until.ts';

describe('sip proxy lost node', () => {
  const stack = new AsyncDisposableStack();
  let proxy: TestSipProxy;
  let site: Site;
  let caller: Phone;
  let called: Phone;
  before(async () => {
    proxy = stack.use(await sipProxyFor(() => [site]));
    site = stack.use(
      await startSite({
        env: { OFFHOOK_SIP_PROXY: `${proxy.sip.host}:${proxy.sip.port}` },
        prepare: prepareCompany({ people: ['2001', '2002'] }),
      }),
    );
    await proxy.start();
    caller = await desk('2001');
    called = await desk('2002');
  });
  after(() => stack.disposeAsync());
  const desk = async (extension: string): Promise<Phone> =>
    stack.use(await registerPhone({ server: proxy.sip, extension, password: SECRET }));
  async function ring(): Promise<{ readonly out: PhoneCall; readonly incoming: IncomingCall }> {
    const out = await caller.invite('2002');
    const incoming = await called.incoming(out);
    incoming.ring();
    await out.ringing();
    return { out, incoming };
  }
  async function bothEnd({ out, incoming }: Awaited<ReturnType<typeof ring>>): Promise<number> {
    const began = performance.now();
    await until('both calls to end', () => out.state === 'ended' && incoming.state === 'ended', {
      ms: 60_000,
      seen: () => ({ out: out.state, incoming: incoming.state, lines: proxy.lines.slice(-10) }),
    });
    assert.equal(out.status, 503);
    return Math.round(performance.now() - began);
  }
  /** A killed engine has not stored registrations of its last second, so the phones register again. */
  async function talkAgain(): Promise<void> {
    await until('the engine to be ready', async () => (await fetch(`${site.base}/readyz`)).ok, {
      ms: 60_000,
    });
    await caller.register();
    await called.register();
    const { out, incoming } = await ring();
    await incoming.answer();
    await out.answered();
    await out.bridged();
    await out.hangup();
    await incoming.ended();
  }

  test('sip proxy lost node - the engine is killed: phone and caller end, and the next call is made', async (t) => {
    const rings = await ring();
    process.kill(site.enginePid()!, 'SIGKILL');
    t.diagnostic(`ended after ${await bothEnd(rings)} ms`);
    await talkAgain();
  });
  test('sip proxy lost node - the engine hangs: phone and caller end', async (t) => {
    const rings = await ring();
    const pid = site.enginePid()!;
    await freeze(pid);
    try {
      t.diagnostic(`ended after ${await bothEnd(rings)} ms`);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await talkAgain();
  });
});
