/** A trunk with several servers, on a real engine: which one carries a call, and how long a dead one is waited for. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { callsAt, farAddress, invitesAt, silence } from '../../../../test/support/far-address.ts';
import type { FarAddress } from '../../../../test/support/far-address.ts';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { PASSWORD, company, outboundRoute, trunk } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';

/** Most INVITEs to a dead server before the next one is called: of a wait of 12 s. */
const FEW_SECONDS = 5;
let engine: TestEngine;
let [first, second]: FarAddress[] = [];
before(async () => {
  [first, second] = [await farAddress('127.0.0.2'), await farAddress('127.0.0.3')];
  engine = await startTestEngine(
    company({
      trunks: [
        trunk({
          name: 'carrier',
          host: 'carrier.example.com',
          srv: true,
          servers: [first, second].map(({ host, port }) => ({
            host: `${host}.example.com`,
            port,
            addresses: [host],
          })),
        }),
      ],
      outbound_routes: [
        outboundRoute({ name: 'all', patterns: ['0.'], class: 'national', trunks: [{ trunk: 'carrier' }] }),
      ],
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const desk = (): Promise<Phone> =>
  registerPhone({ server: engine.server, extension: '1001', password: PASSWORD });
const far = (at: FarAddress): Promise<Phone> =>
  openFarSide({ server: engine.server, extension: '+4915112345678', at, cli: engine.cli });
const shows = (at: FarAddress, word: 'Avail' | 'Unavail'): Promise<unknown> =>
  until(`${at.host} as ${word}`, async () =>
    new RegExp(`sip:${at.host}:${at.port} .* ${word} `).test(await engine.cli('pjsip show contacts')),
  );

test('conf/trunk servers - the first carries the calls; one that is out of order passes them on, one that refuses does not', async () => {
  await using from = await desk();
  await using one = await far(first!);
  await using two = await far(second!);
  const call = await from.invite('030123');
  const there = await one.incoming(call);
  await there.answer();
  await call.answered();
  await call.hangup();
  await there.ended();
  assert.equal(two.seen, 0);
  for (const status of [503, 500]) {
    const next = await from.invite('030123');
    (await one.incoming(next)).reject(status);
    const taken = await two.incoming(next);
    assert.equal(taken.dialled, '030123');
    await taken.answer();
    await next.answered();
    await taken.hangup();
    await next.ended();
  }
  const seen = two.seen;
  for (const status of [486, 403, 404, 603]) {
    const refused = await from.invite('030123');
    (await one.incoming(refused)).reject(status);
    await refused.ended();
  }
  assert.equal(two.seen, seen, 'the next server would answer the same');
});

test('conf/trunk servers - a first server that died since its last OPTIONS costs a call a few seconds, the next ones nothing', async () => {
  await using from = await desk();
  await using two = await far(second!);
  const call = await from.invite('030123');
  const there = await two.incoming(call);
  const sent = invitesAt(first!);
  there.reject(486);
  await call.ended();
  assert.equal(callsAt(first!), 1);
  assert.ok(sent <= FEW_SECONDS, `the first call was sent ${sent} times to the server that died`);
  await using stack = new AsyncDisposableStack();
  stack.defer(silence(first!).speak);
  await engine.cli('pjsip qualify trunk-carrier');
  await shows(first!, 'Unavail');
  const next = await from.invite('030123');
  (await two.incoming(next)).reject(486);
  await next.ended();
  assert.equal(callsAt(first!), 1, 'a server known as dead is not asked');
});
