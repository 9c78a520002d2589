/** A phone that wants its calls rung elsewhere (302), on a real engine. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { farAddress } from '../../../../test/support/far-address.ts';
import type { FarAddress } from '../../../../test/support/far-address.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { recordedIn } from '../../../../test/support/call-records.ts';
import { celFile } from './instance.ts';
import {
  PASSWORD,
  company,
  outboundRoute,
  parkingLot,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import { until } from '../../../../test/support/until.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';

let engine: TestEngine;
let at: FarAddress;
before(async () => {
  at = await farAddress('127.0.0.2');
  engine = await startTestEngine(
    company({
      extensions: company().extensions.map((e) => ({
        ...e,
        voicemail: false,
        forward_outside: e.extension === '1003',
      })),
      parking_lots: [parkingLot({ timeout_seconds: 10 })],
      feature_codes: FEATURE_CODES,
      trunks: [trunk({ name: 'north', ...at, codecs: ['alaw', 'ulaw'], outbound_number: '+49305550' })],
      outbound_routes: [
        outboundRoute({
          name: 'out',
          patterns: ['0X!'],
          trunks: [{ trunk: 'north', strip: 1, prepend: '+49' }],
        }),
        outboundRoute({ name: 'help', class: 'emergency', patterns: ['112'], trunks: [{ trunk: 'north' }] }),
      ],
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });

/** Forwards that were looked at before. */
let seen = 0;
/** Where calls were forwarded to since then, once there are `count`: records are written a moment after phones know. */
async function forwards(count: number): Promise<string[]> {
  const fresh = await until(`${count} forwards in the records`, () => {
    const all = recordedIn(nodeId('ast1'), celFile(engine.instance)).flatMap((r) =>
      r.type === 'forward' ? [`${r.endpoint} ${r.facts.target}`] : [],
    );
    return all.length >= seen + count && all.slice(seen);
  });
  seen += fresh.length;
  return fresh;
}

test('conf/forward - a phone sends its calls to another extension; the caller stays on its own channel', async () => {
  await using caller = await phone('1001');
  await using owner = await phone('1002');
  await using other = await phone('1008');
  const call = await caller.invite('1002');
  (await owner.incoming()).redirect('1008');
  const there = await other.incoming();
  assert.equal(there.party.number, '1001');
  there.ring();
  await call.ringing();
  await there.answer();
  await call.answered();
  there.play('tone');
  await call.hears();
  await call.hangup();
  assert.deepEqual(await forwards(1), ['1001 1008']);
  const gone = await until('the end of the ring', () =>
    recordedIn(nodeId('ast1'), celFile(engine.instance)).find(
      (r) => r.type === 'hangup' && r.endpoint === '1002',
    ),
  );
  assert.deepEqual([gone.facts.cause, gone.facts.source], [23, gone.channel_name]);
});

test('conf/forward - a phone cannot forward to a context, a technology or a code, nor outside without the right', async () => {
  await using outside = await openFarSide({ server: engine.server, extension: '+4915', at, cli: engine.cli });
  await using caller = await phone('1001');
  await using owner = await phone('1002');
  for (const to of [
    'PJSIP/0900%40trunk-north',
    'Local/601%40services',
    'Local/1001%40placed-listen',
    '1001%40placed-listen',
    '*22',
    '600',
    '701',
    '1099',
    '0301234',
    '1002',
  ]) {
    const call = await caller.invite('1002');
    (await owner.incoming()).redirect(to);
    // To itself it rings again, until it has been sent round often enough.
    for (let more = 0; to === '1002' && more < 5; more++) (await owner.incoming()).redirect(to);
    await call.ended();
    assert.equal(call.status, 486, to);
  }
  assert.equal(outside.seen, 0);
  // The requested destination is recorded even if the rules refuse it.
  assert.equal((await forwards(15)).length, 15);
});

test('conf/forward - who may forward outside does, over a route', async () => {
  await using outside = await openFarSide({ server: engine.server, extension: '+4915', at, cli: engine.cli });
  await using caller = await phone('1001');
  await using owner = await phone('1003');
  const call = await caller.invite('1003');
  (await owner.incoming()).redirect('0301234');
  const there = await outside.incoming();
  assert.deepEqual([there.dialled, there.party.number], ['+49301234', '+49305550']);
  await there.answer();
  await call.answered();
  await there.hangup();
  await call.ended();
  assert.deepEqual(await forwards(1), ['1001 0301234']);
});

test('conf/forward - no call is forwarded to an emergency number, by a phone or by a code', async () => {
  await using outside = await openFarSide({ server: engine.server, extension: '+4915', at, cli: engine.cli });
  await using caller = await phone('1001');
  await using owner = await phone('1003');
  const call = await caller.invite('1003');
  (await owner.incoming()).redirect('112');
  await until('the end of the call', () => call.state === 'ended' || outside.seen > 0);
  assert.deepEqual([outside.seen, call.status], [0, 486]);
  assert.deepEqual(await forwards(1), ['1001 112']);
  for (const code of ['*72', '*90', '*92'])
    assert.equal(await engine.dial(owner, `${code}112`), 'im-sorry', code);
});

test('conf/forward - *72 leads calls elsewhere until *73, only where a number leads somewhere', async () => {
  await using caller = await phone('1001');
  await using owner = await phone('1002');
  await using other = await phone('1008');
  for (const number of ['1002', '1099', '600', '0301234'])
    assert.equal(await engine.dial(owner, `*72${number}`), 'im-sorry', number);
  assert.equal(await engine.dial(owner, '*721008'), 'auth-thankyou');
  const call = await caller.invite('1002');
  const there = await other.incoming();
  await there.answer();
  await call.answered();
  await call.hangup();
  assert.deepEqual([owner.seen, await forwards(1)], [0, ['1001 1008']]);
  assert.equal(await engine.dial(owner, '*73'), 'auth-thankyou');
  assert.equal(await engine.dial(owner, '*73'), 'auth-thankyou', 'a repeat is a success');
  const back = await caller.invite('1002');
  (await owner.incoming()).reject(486);
  await back.ended();
  assert.equal(back.status, 486);
});

test('conf/forward - neither the call of a queue nor one that comes back from parking is led elsewhere by a phone', async () => {
  await using caller = await phone('1001');
  await using agent = await phone('1006');
  await using other = await phone('1008');
  const waiting = await caller.invite('500');
  await waiting.answered();
  (await agent.incoming()).redirect('1008');
  const taken = await agent.incoming();
  await taken.answer();
  taken.play('tone');
  await waiting.hears();
  await waiting.hangup();
  assert.equal(other.seen, 0);

  const call = await caller.invite('1006');
  const talk = await agent.incoming();
  await talk.answer();
  await call.answered();
  await talk.bridged();
  await talk.transfer('700');
  (await agent.incoming()).redirect('Local/601%40services');
  await until('the call to be parked again', async () =>
    (await engine.cli('parking show default')).includes('PJSIP/1001-'),
  );
  await call.hangup();
  const begun = (await engine.records()).filter(
    (l) => l.startsWith('"CHAN_START"') && l.includes('"Local/601'),
  );
  assert.deepEqual(begun, []);
});

test('conf/forward - nothing of all this left a warning', async () => {
  assert.deepEqual(await engine.warnings(), []);
});
