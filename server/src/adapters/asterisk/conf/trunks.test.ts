/** Calls over trunks, on a real engine: what comes in, what goes out, what is let through, and what is not. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { until } from '../../../../test/support/until.ts';
import { farAddress } from '../../../../test/support/far-address.ts';
import type { FarAddress } from '../../../../test/support/far-address.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import { MOST_LAYERS } from '../../../routing/routes.ts';
import type { Site } from '../../../ports/site.ts';
import {
  PASSWORD,
  company,
  extension,
  inboundRoute,
  outboundRoute,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';

const HOSTS = { north: '127.0.0.2', south: '127.0.0.3', west: '127.0.0.4' } as const;
type Name = keyof typeof HOSTS;
const AT = {} as Record<Name, FarAddress>;
const way = (name: string, strip = 0, prepend = '') => ({ trunk: name, strip, prepend });
const to = (key: string) => ({ kind: 'extension' as const, key });
const ALL = ['emergency', 'local', 'national', 'mobile', 'international', 'premium'] as const;

function site(): Partial<Site> {
  const { extensions } = company();
  const changed = {
    '1001': { call_permission: ALL.filter((c) => c !== 'international' && c !== 'premium') },
    '1002': { caller_id: '+49305552' },
    '1003': { caller_id: '+49305553', forward_outside: true },
    '1004': { call_permission: [] },
  };
  return {
    feature_codes: FEATURE_CODES,
    extensions: extensions.map((e) =>
      extension(e.extension, { voicemail: false, ...changed[e.extension as keyof typeof changed] }),
    ),
    trunks: [
      trunk({
        name: 'north',
        ...AT.north,
        outbound_number: '+49305550',
        show_extensions: true,
        max_calls: null,
      }),
      trunk({ name: 'south', ...AT.south, max_calls: 1 }),
      trunk({
        name: 'west',
        ...AT.west,
        outbound_number: '+49305559',
        max_calls: null,
      }),
    ],
    inbound_routes: [
      inboundRoute({ name: 'desk', trunk: 'north', number: '+493055501', to: to('1001') }),
      inboundRoute({ name: 'desk-vip', number: '+493055501', caller: '+4930999', to: to('1002') }),
      inboundRoute({ name: 'block', number: '+4930555', prefix: true, to: to('1003') }),
      inboundRoute({ name: 'block-north', trunk: 'north', number: '+4930555', prefix: true, to: to('1002') }),
      inboundRoute({
        name: 'queue',
        trunk: 'north',
        number: '500',
        to: { kind: 'queue', key: 'support' },
      }),
      inboundRoute({
        name: 'transit',
        trunk: 'north',
        number: '+44',
        prefix: true,
        to: { kind: 'trunk', key: 'west', strip: 1, prepend: '00' },
      }),
      inboundRoute({
        name: 'loop',
        number: '999',
        prefix: true,
        to: { kind: 'trunk', key: 'west' },
      }),
      inboundRoute({
        name: 'closed',
        number: '+4930555444',
        to: { kind: 'hang_up', reason: 'busy' },
      }),
    ],
    outbound_routes: [
      // The engine itself would take the more specific pattern of the two.
      outboundRoute({
        name: 'all',
        position: 10,
        patterns: ['0.'],
        class: 'national',
        trunks: [way('north', 1, '+49'), way('west', 1, '+49')],
      }),
      outboundRoute({ name: 'late', position: 20, patterns: ['0800X.'], trunks: [way('west')] }),
      outboundRoute({
        name: 'abroad',
        position: 5,
        patterns: ['00Z.', '+.'],
        class: 'international',
        trunks: [way('west')],
      }),
      outboundRoute({ name: 'tight', position: 30, patterns: ['8XXX'], trunks: [way('south'), way('west')] }),
      outboundRoute({ name: 'one', position: 40, patterns: ['7XXXX'], trunks: [way('south')] }),
      outboundRoute({ name: 'house', position: 1, patterns: ['1XXX', '1XXX!'], trunks: [way('west')] }),
      outboundRoute({
        name: 'help',
        position: 9_000,
        patterns: ['0112', '112'],
        class: 'emergency',
        trunks: [way('south'), way('west')],
      }),
    ],
  };
}
let engine: TestEngine;
before(async () => {
  for (const name of Object.keys(HOSTS) as Name[]) AT[name] = await farAddress(HOSTS[name]);
  engine = await startTestEngine(company(site()));
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (number: string, name?: string): Promise<Phone> =>
  registerPhone({
    server: engine.server,
    extension: number,
    password: PASSWORD,
    ...(name === undefined ? {} : { name }),
  });
const far = (name: Name, number = '+4915112345678'): Promise<Phone> =>
  openFarSide({
    server: engine.server,
    extension: number,
    at: AT[name],
    cli: engine.cli,
  });
/** Dials, lets the far side refuse it, and tells what it was given. */
async function reaches(desk: Phone, number: string, there: Phone): Promise<string> {
  const call = await desk.invite(number);
  const incoming = await there.incoming(call);
  incoming.reject(486);
  await call.ended();
  assert.equal(call.status, 486, number);
  return `${incoming.dialled} as ${incoming.party.number}`;
}
async function status(from: Phone, number: string): Promise<number> {
  const call = await from.invite(number);
  await call.ended();
  return call.status;
}

test('conf/routes - a number of the trunk reaches the extension its route names, with the caller as received', async () => {
  await using outside = await far('north');
  await using desk = await phone('1001');
  const call = await outside.invite('+493055501');
  const incoming = await desk.incoming();
  assert.equal(incoming.party.number, '+4915112345678');
  await incoming.answer();
  await call.answered();
  call.play('tone');
  incoming.play('tone');
  await Promise.all([call.hears(), incoming.hears()]);
  await call.hangup();
  await incoming.ended();
});

test('conf/routes - the number decides before the caller, the caller before the trunk', async () => {
  await using north = await far('north');
  await using vip = await far('south', '+4930999123');
  await using one = await phone('1001');
  await using two = await phone('1002');
  await using three = await phone('1003');
  for (const [from, number, at] of [
    [north, '+493055501', one],
    [vip, '+493055501', two],
    // Not the caller of the route for the whole number: the next that is for the number decides.
    [vip, '+4930555', three],
    [north, '+493055577', two],
  ] as const) {
    const call = await from.invite(number);
    (await at.incoming()).reject(486);
    await call.ended();
    assert.equal(call.status, 486);
  }
  assert.equal(await status(north, '+4930555444'), 486, 'a route that ends the call');
});

test('conf/routes - the position decides, not which pattern is closer; emergency numbers go first', async () => {
  await using north = await far('north');
  await using west = await far('west');
  await using south = await far('south');
  await using desk = await phone('1005');
  assert.equal(await reaches(desk, '0301234567', north), '+49301234567 as +49305550');
  assert.equal(await reaches(desk, '0800123', north), '+49800123 as +49305550');
  assert.equal(await reaches(desk, '0044207946000', west), '0044207946000 as +49305559');
  assert.equal(await reaches(desk, '+44207946000', west), '+44207946000 as +49305559');
  assert.equal(await reaches(desk, '0112', south), '0112 as 1005');
  assert.equal(await reaches(desk, '1999', west), '1999 as +49305559');
});

test('conf/routes - a pattern that holds numbers of the house does not take them', async () => {
  await using west = await far('west');
  await using desk = await phone('1005');
  await using other = await phone('1001');
  const call = await desk.invite('1001');
  (await other.incoming()).reject(486);
  await call.ended();
  assert.equal(await status(desk, '1006'), 480, 'not registered');
  assert.equal(west.seen, 0);
});

test('conf/routes - what an extension may not call is refused, emergency numbers never', async () => {
  await using west = await far('west');
  await using north = await far('north');
  await using south = await far('south');
  await using some = await phone('1001');
  await using none = await phone('1004');
  assert.equal(await status(some, '0044207946000'), 403);
  assert.equal(await reaches(some, '030123', north), '+4930123 as +49305550');
  assert.equal(await status(none, '030123'), 403);
  assert.equal(await reaches(none, '112', south), '112 as 1004');
  assert.equal(west.seen, 0);
});

test('conf/routes - who transfers or forwards is asked for the permission, not who is sent there', async () => {
  await using west = await far('west');
  await using north = await far('north');
  await using south = await far('south');
  await using some = await phone('1001');
  await using three = await phone('1003');
  const call = await north.invite('+493055501');
  const incoming = await some.incoming();
  await incoming.answer();
  await call.answered();
  await incoming.bridged();
  await incoming.transfer('0044207946000');
  await call.ended();
  assert.equal(west.seen, 0, 'not allowed to 1001');

  const second = await south.invite('+493055509');
  const there = await three.incoming();
  await there.answer();
  await second.answered();
  await there.bridged();
  await there.transfer('0044207946000');
  const given = await west.incoming();
  assert.equal(given.party.number, '+49305559');
  given.reject(486);
  await second.ended();

  // 1003 has a number of its own, and this trunk shows it.
  const third = await south.invite('+493055509');
  const ringing = await three.incoming();
  ringing.redirect('030777');
  const forwarded = await north.incoming();
  assert.deepEqual([forwarded.dialled, forwarded.party.number], ['+4930777', '+49305553']);
  forwarded.reject(486);
  await third.ended();
});

test('conf/routes - a phone cannot choose the number it is shown with', async () => {
  await using north = await far('north');
  await using west = await far('west');
  const liar = await registerPhone({
    server: engine.server,
    extension: '+4917012345',
    username: '1002',
    password: PASSWORD,
  });
  try {
    assert.equal(await reaches(liar, '030123', north), '+4930123 as +49305552');
    assert.equal(await reaches(liar, '0044207', west), '0044207 as +49305559');
  } finally {
    await liar[Symbol.asyncDispose]();
  }
});

test('conf/routes - the next trunk is taken where one cannot carry the call, not where the number refuses it', async () => {
  await using west = await far('west');
  await using desk = await phone('1005');
  {
    await using north = await far('north');
    for (const refusal of [503, 500, 403]) {
      const call = await desk.invite('030123');
      (await north.incoming()).reject(refusal);
      const next = await west.incoming();
      assert.deepEqual([next.dialled, next.party.number], ['+4930123', '+49305559']);
      next.reject(486);
      await call.ended();
      assert.equal(call.status, 486);
    }
    for (const refusal of [486, 603, 404, 480]) {
      const call = await desk.invite('030123');
      (await north.incoming()).reject(refusal);
      await call.ended();
      assert.ok(call.status >= 400);
      assert.equal(west.waiting, 0, String(refusal));
    }
  }
});

test('conf/routes - a call for help takes the next trunk after any refusal, unless the number is busy', async () => {
  await using south = await far('south');
  await using west = await far('west');
  await using desk = await phone('1005');
  for (const refusal of [403, 404, 480, 484, 603]) {
    const call = await desk.invite('112');
    (await south.incoming()).reject(refusal);
    const next = await west.incoming();
    assert.equal(next.dialled, '112', String(refusal));
    next.reject(486);
    await call.ended();
    assert.equal(call.status, 486);
  }
  assert.equal(await reaches(desk, '112', south), '112 as 1005');
  assert.equal(west.waiting, 0, 'busy');
});

test('conf/routes - a trunk carries as many calls as it may, both ways, and the next trunk takes over', async () => {
  await using south = await far('south');
  await using west = await far('west');
  await using desk = await phone('1005');
  await using other = await phone('1006');
  await using three = await phone('1003');
  const first = await desk.invite('8001');
  const taken = await south.incoming();
  await taken.answer();
  await first.answered();
  assert.equal(await reaches(other, '8002', west), '8002 as +49305559');
  assert.equal(await status(other, '70000'), 503, 'no other trunk');
  assert.equal(await status(south, '+493055509'), 503, 'in is counted too');
  const urgent = await other.invite('112');
  (await south.incoming()).reject(486);
  await urgent.ended();
  await first.hangup();
  await taken.ended();
  await engine.idle();
  const inward = await south.invite('+493055509');
  await (await three.incoming()).answer();
  await inward.answered();
  assert.equal(await reaches(other, '8002', west), '8002 as +49305559');
  await inward.hangup();
  await engine.idle();
  // Two at the same moment: never both.
  const before = south.seen;
  const both = await Promise.all([desk.invite('70001'), other.invite('70002')]);
  await Promise.race(both.map((call) => call.ended().catch(() => {})));
  assert.ok(south.seen <= before + 1, String(south.seen - before));
  await Promise.all(both.map((call) => call.hangup()));
});

test('conf/routes - from trunk to trunk the caller stays who it is, and a circle ends', async () => {
  await using outside = await far('north');
  await using other = await far('west');
  const call = await outside.invite('+44207946000');
  const there = await other.incoming();
  assert.deepEqual([there.dialled, there.party.number], ['0044207946000', '+4915112345678']);
  await there.answer();
  await call.answered();
  there.play('tone');
  await call.hears();
  await call.hangup();
  await there.ended();

  const first = await outside.invite('99955');
  const ways: { hangup(): Promise<void> }[] = [];
  for (;;) {
    const again = await other.incoming();
    ways.push(again);
    const back = await other.invite(again.dialled);
    ways.push(back);
    await until('another round or the end', () => other.waiting > 0 || back.state === 'ended');
    if (other.waiting === 0) break;
    assert.ok(ways.length < 100, 'it goes round and round');
  }
  assert.equal(ways.length, 40);
  await first.hangup();
});

test('conf/routes - nothing of the house is reached from outside but what a route names', async () => {
  await using outside = await far('north');
  await using intruder = await far('south');
  await using desk = await phone('1001');
  for (const number of [
    '1001',
    '*97',
    '*22',
    '600',
    '701',
    '0301234567',
    '**1001',
    's',
    'held-by',
    '+4930111',
  ])
    for (const from of [outside, intruder])
      assert.equal(await status(from, number), 404, `${from.extension} ${number}`);
  assert.ok((await status(outside, '+44207@x&Local/601@services&PJSIP/1')) >= 400);
  for (const number of [
    '0301@x&Local/1001@people&PJSIP/1',
    '0${SHELL(id)}',
    '0"1',
    '03-0123',
    '0,1',
    '0)]',
    '00x',
    '+49;x=1',
    '0１２',
  ])
    assert.ok((await status(desk, number)) >= 400, number);
  assert.deepEqual([desk.seen, intruder.seen, outside.seen], [0, 0, 0]);
});

test('conf/routes - the last of as many layers as a site may have is still looked into', async () => {
  const routes = Array.from({ length: MOST_LAYERS }, (_, i) =>
    outboundRoute({
      name: `r${i}`,
      position: i,
      patterns: [i + 1 < MOST_LAYERS ? '90!' : '9!'],
      trunks: [way('west')],
    }),
  );
  await engine.write(company({ ...site(), outbound_routes: routes }));
  await engine.cli('dialplan reload');
  await using west = await far('west');
  await using desk = await phone('1005');
  assert.equal(await reaches(desk, '95', west), '95 as +49305559');
});

test('conf/routes - nothing of all this left a warning', async () => {
  // Where two calls take the last place of a trunk at one moment, the engine remarks on the way each is ended.
  const both = /Abnormal 'Gosub\(over-trunk,/;
  assert.deepEqual(
    (await engine.warnings()).filter((line) => !both.test(line)),
    [],
  );
});
