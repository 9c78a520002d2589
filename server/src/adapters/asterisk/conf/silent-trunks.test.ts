/** Routes with several trunks, on a real engine: how long a dead one is waited for, and calls for help that no trunk answers. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { callsAt, farAddress, invitesAt, silence } from '../../../../test/support/far-address.ts';
import type { FarAddress } from '../../../../test/support/far-address.ts';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { PASSWORD, company, outboundRoute, trunk } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';

/** Longer than another trunk would be waited for. */
const USUAL_MS = 15_000;
/** Most INVITEs to a dead trunk before the next one is called: of a wait of 5 s, and of 12 s. */
const [HELP, USUAL] = [4, 5];
/** `dead` has no far side in any test: the engine repeats an unanswered INVITE for half a minute, also to one that opens later. */
const HOSTS = { north: '127.0.0.2', south: '127.0.0.3', west: '127.0.0.4', dead: '127.0.0.5' } as const;
type Name = keyof typeof HOSTS;
const AT = {} as Record<Name, FarAddress>;
const way = (name: Name) => ({ trunk: name, strip: 0, prepend: '' });
let engine: TestEngine;
before(async () => {
  for (const name of Object.keys(HOSTS) as Name[]) AT[name] = await farAddress(HOSTS[name]);
  const route = (name: string, pattern: string, trunks: Name[], fields = {}) =>
    outboundRoute({ name, patterns: [pattern], class: 'emergency', trunks: trunks.map(way), ...fields });
  engine = await startTestEngine(
    company({
      trunks: (Object.keys(HOSTS) as Name[]).map((name) => trunk({ name, ...AT[name] })),
      outbound_routes: [
        route('help', '112', ['dead', 'west']),
        route('slow', '110', ['south', 'west']),
        route('only', '999', ['north']),
        route('refused', '111', ['west', 'north']),
        route('late', '118', ['south', 'west', 'north']),
        route('usual', '0.', ['dead', 'west'], { class: 'national' }),
      ],
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const desk = (number: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension: number, password: PASSWORD });
const far = (name: Name): Promise<Phone> =>
  openFarSide({ server: engine.server, extension: '+4915112345678', at: AT[name], cli: engine.cli });
/** The far side does not answer OPTIONS any more. */
async function fails(name: Name): Promise<void> {
  silence(AT[name]);
  await engine.cli(`pjsip qualify trunk-${name}`);
  await until(`${name} as Unavail`, async () =>
    new RegExp(`sip:${AT[name].host}:${AT[name].port} .* Unavail `).test(
      await engine.cli('pjsip show contacts'),
    ),
  );
}

test('conf/silent trunks - a trunk that died since its last OPTIONS costs a call a few seconds; one that rings keeps its call', async () => {
  await using from = await desk('1001');
  await using other = await desk('1002');
  await using south = await far('south');
  await using west = await far('west');
  const slow = await other.invite('110');
  const rings = await south.incoming(slow);
  rings.ring();
  await slow.ringing();
  for (const [number, most] of [
    ['112', HELP],
    ['030123', USUAL],
  ] as const) {
    const call = await from.invite(number);
    const there = await west.incoming(call);
    const sent = invitesAt(AT.dead);
    assert.equal(there.dialled, number);
    assert.ok(sent <= most, `${number} was sent ${sent} times to the trunk that died`);
    there.reject(486);
    await call.ended();
  }
  assert.equal(callsAt(AT.dead), 2);
  assert.equal(rings.state, 'ringing');
  await rings.answer();
  await slow.answered();
  await slow.hangup();
  await rings.ended();
  assert.equal(west.waiting, 0);
});

test('conf/silent trunks - a call for help is also sent to a trunk that does not answer OPTIONS, but not again to one that refused it', async () => {
  await using from = await desk('1001');
  await using west = await far('west');
  await fails('north');
  await using north = await openFarSide({
    server: engine.server,
    extension: '+4915112345678',
    at: AT.north,
  });
  const only = await from.invite('999');
  const there = await north.incoming(only);
  assert.equal(there.dialled, '999');
  await there.answer();
  await only.answered();
  await only.hangup();
  await there.ended();

  const call = await from.invite('111');
  (await west.incoming(call)).reject(403);
  (await north.incoming(call)).reject(404);
  await call.ended();
  assert.deepEqual([west.seen, north.seen], [1, 2]);
});

test('conf/silent trunks - a call for help waits for a trunk that is slow as long as it takes, if no other one carries it', async () => {
  await using from = await desk('1001');
  await using south = await far('south');
  await using west = await far('west');
  await fails('north');
  const call = await from.invite('118');
  const first = await south.incoming(call);
  (await west.incoming(call)).reject(403);
  await first.ended();
  const again = await south.incoming(call);
  await wait(USUAL_MS);
  assert.notEqual(again.state, 'ended');
  again.ring();
  await again.answer();
  await call.answered();
  await call.hangup();
  assert.deepEqual([south.seen, west.seen], [2, 1]);
});
