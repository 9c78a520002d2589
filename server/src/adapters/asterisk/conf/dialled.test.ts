/** Dials every code and number with characters that separate in the dialplan, on a real engine. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { channelId, nodeId } from '@offhook/contract/ids.ts';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { IncomingCall, Phone, PhoneCall } from '../../../../test/support/phone.ts';
import { farAddress } from '../../../../test/support/far-address.ts';
import type { FarAddress } from '../../../../test/support/far-address.ts';
import { openTransport, randomTag } from '../phone/transport.ts';
import type { SipTransport } from '../phone/transport.ts';
import { methodOf, statusOf } from '../phone/message.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import { callActions } from '../actions/calls.ts';
import type { AmiConnection } from '../ami/connection.ts';
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

let carrierAt: FarAddress;
const GROUP: Readonly<Record<string, string | null>> = { '1007': 'back', '1008': null };
const node = nodeId('ast1');
let engine: TestEngine;
let actions: AmiConnection;
const stop = new AbortController();
before(async () => {
  carrierAt = await farAddress('127.0.0.2');
  engine = await startTestEngine(
    company({
      feature_codes: FEATURE_CODES.map((code) =>
        code.id === 'forward_busy.on' ? { ...code, moved: { from: '*90', to: '#90' } } : code,
      ),
      extensions: company().extensions.map((e) =>
        extension(e.extension, {
          voicemail: false,
          forward_outside: true,
          pickup_everywhere: e.extension === '1009',
          pickup_group: GROUP[e.extension] === undefined ? 'front' : GROUP[e.extension]!,
        }),
      ),
      trunks: [trunk({ name: 'north', ...carrierAt })],
      inbound_routes: [
        inboundRoute({ name: 'desk', trunk: 'north', to: { kind: 'extension', key: '1002' } }),
      ],
      outbound_routes: [
        outboundRoute({
          name: 'out',
          position: 1,
          patterns: ['0X.', '+X.'],
          class: 'national',
          trunks: [{ trunk: 'north', strip: 0, prepend: '' }],
        }),
      ],
    }),
  );
  actions = await engine.ami(stop.signal);
});
after(async () => {
  stop.abort();
  await engine?.[Symbol.asyncDispose]();
});
const phone = (number: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension: number, password: PASSWORD });
/** Rings a person's own device to listen to `channel`. */
async function ringToListen(supervisor: Phone, channel: string): Promise<IncomingCall> {
  const id = `oh-${randomTag()}-1`;
  await callActions(() => actions).placeCall({
    pair: [channelId(node, `${id}.1`), channelId(node, `${id}.2`)],
    extension: supervisor.extension,
    device: null,
    number: '1002',
    ring_seconds: 60,
    part: { does: 'listen', channel: channelId(node, channel), session_id: 1 },
  });
  const ringing = await supervisor.incoming();
  ringing.ring();
  return ringing;
}

/** Leaves out the hyphen, which the engine ignores in a number: `100-1` is 1001. */
const SPECIAL = '&@,|^(){}$"\\;%\'`<>[]=!?:~ /.a'.split('');
/** Prefixes of each feature code, and of numbers of every other kind. */
const beginnings = (): string[] => [
  ...FEATURE_CODES.flatMap((c) => c.patterns.map((p) => /^_?([*#]+[0-9]*)/.exec(p)![1]!)),
  '#90',
  '100',
  '600',
  '700',
  '70',
  '05',
  '+49',
];
/** Targets that an accepted separator would reach: a placed call, a ringing extension, a place of the dialplan. */
const TARGETS = ['s', 'ownring', '1002', '1002@internal', 's@internal', '1', 'PJSIP/1002'];
const combinations = (): string[] => [
  ...new Set([
    ...beginnings().flatMap((begin) =>
      SPECIAL.flatMap((c) => [
        `${begin}1${c}${TARGETS[(begin.length * 7 + c.charCodeAt(0)) % TARGETS.length]!}`,
        `${begin}${c}1`,
        `${begin}1${c}`,
      ]),
    ),
    ...TARGETS.flatMap((t) => SPECIAL.map((c) => `**1${c}${t}`)),
    '**1-s',
    '**1&1@ctx',
    '**1&s',
    '**s',
    '**ownring',
    '**1&ownring@internal',
    '**1&ownring@place-call',
    '**${EXTEN}',
    '**1${SHELL(id)}',
    '**$[1+1]',
    '**1&1002@PICKUPMARK',
    's',
    'ownring',
    'h',
    'i',
    't',
    'PJSIP_1002',
    '1002,2',
    '1002&1003',
    '05"&PJSIP/1003',
    '05\\&PJSIP/1003',
    '*721"&1003',
  ]),
];
/** Numbers dialled while one call rings. */
const PORTION = 200;
const dialAll = async (from: Phone, numbers: readonly string[]): Promise<Map<string, PhoneCall>> => {
  const calls = new Map<string, PhoneCall>();
  const rest = [...numbers];
  const worker = async (): Promise<void> => {
    for (let number = rest.shift(); number !== undefined; number = rest.shift()) {
      const call = await from.invite(number);
      calls.set(number, call);
      await call.ended();
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return calls;
};

test('conf/dialled - no code and no number with a character that separates picks up, hears or rings anything', async () => {
  await using attacker = await phone('1007');
  await using caller = await phone('1001');
  await using victim = await phone('1002');
  await using third = await phone('1003');
  await using supervisor = await phone('1006');
  await using carrier = await openFarSide({
    server: engine.server,
    extension: '+49301',
    at: carrierAt,
    cli: engine.cli,
  });
  const talk = await caller.invite('1003');
  const answered = await third.incoming();
  await answered.answer();
  await talk.answered();
  const [line] = /^PJSIP\/1003-.*$/m.exec(await engine.cli('core show channels concise'))!;
  const id = line.split('!').at(-1)!;
  const ring = async () => {
    const own = await ringToListen(supervisor, id);
    const call = await caller.invite('1002');
    const ringing = await victim.incoming();
    ringing.ring();
    await call.ringing();
    return { own, call, ringing };
  };
  type Rung = Awaited<ReturnType<typeof ring>>;
  const stillRings = ({ own, call, ringing }: Rung): void => {
    assert.equal(ringing.state, 'ringing', 'the call that rings at 1002');
    assert.equal(call.state, 'ringing');
    assert.equal(own.state, 'ringing', 'the device that is rung for a supervisor to listen');
  };
  const all = combinations();
  const calls = new Map<string, PhoneCall>();
  let rung = await ring();
  let rounds = 1;
  // By portions: on a busy machine the engine gives a ring up before all numbers are dialled.
  for (;;) {
    for (const [number, call] of await dialAll(attacker, all.splice(0, PORTION))) calls.set(number, call);
    stillRings(rung);
    if (all.length === 0) break;
    rung.own.reject();
    await Promise.all([rung.call.hangup(), rung.own.ended(), rung.ringing.ended()]);
    rung = await ring();
    rounds += 1;
  }
  const reached = [...calls].filter(
    ([number, c]) => c.times.answered > 0 && !/^(\*72|#90|\*92)?[*#+0-9]*$/.test(number),
  );
  assert.deepEqual(
    reached.map(([number]) => number),
    [],
    'answered',
  );
  assert.deepEqual([supervisor.seen, victim.seen], [rounds, rounds]);
  assert.equal(carrier.seen, 0, 'nothing went out');
  assert.equal(third.seen, 1);
  const weird = [...calls].filter(([number]) => !/^[*#+0-9]*$/.test(number));
  assert.ok(weird.length > 1000);
  assert.deepEqual(
    weird.filter(([, c]) => c.status < 400).map(([number, c]) => `${number} ${c.status}`),
    [],
  );
  // By transfer too.
  const sent = await attacker.invite('600');
  await sent.answered();
  for (const number of ['**1&s', '**1&ownring', '**1002,1', '1002&1003'])
    await sent.transfer(number).catch(() => {});
  stillRings(rung);
  const stored = await engine.cli('database show offhook/1007');
  assert.doesNotMatch(stored, /[&",\\@|^(){}$]/);
});

test('conf/dialled - a directed pick-up takes what rings in the own group, a supervisor what rings anywhere', async () => {
  await using caller = await phone('1001');
  await using victim = await phone('1002');
  await using back = await phone('1007');
  await using nobody = await phone('1008');
  await using colleague = await phone('1004');
  await using boss = await phone('1009');
  const rung = async (): Promise<[PhoneCall, IncomingCall]> => {
    const call = await caller.invite('1002');
    const ringing = await victim.incoming();
    ringing.ring();
    await call.ringing();
    return [call, ringing];
  };
  const [first, ringing] = await rung();
  for (const stranger of [back, nobody]) assert.equal(await engine.dial(stranger, '**1002'), 'im-sorry');
  assert.equal(ringing.state, 'ringing');
  const taken = await colleague.invite('**1002');
  await Promise.all([taken.answered(), first.answered(), ringing.ended()]);
  await taken.hangup();
  await first.ended();
  const [second, again] = await rung();
  const by_boss = await boss.invite('**1002');
  await Promise.all([by_boss.answered(), second.answered(), again.ended()]);
  await by_boss.hangup();
  await second.ended();
});

test('conf/dialled - a number from a trunk with a character that separates reaches nobody', async () => {
  await using victim = await phone('1002');
  await using carrier = await openFarSide({
    server: engine.server,
    extension: '+49301',
    at: carrierAt,
    cli: engine.cli,
  });
  for (const c of SPECIAL) {
    const call = await carrier.invite(`+4930${c}1`);
    await call.ended();
    assert.ok(call.status >= 400, `${c}: ${call.status}`);
  }
  assert.equal(victim.seen, 0);
  const good = await carrier.invite('+4930');
  await (await victim.incoming()).answer();
  await good.answered();
  await good.hangup();
});

test('conf/dialled - the address that a phone registers leads to that phone only', async () => {
  await using caller = await phone('1001');
  await using victim = await phone('1003');
  let rung = 0;
  const transport: SipTransport = await openTransport({
    server: engine.server,
    username: '1007',
    password: PASSWORD,
    onRequest(m) {
      if (methodOf(m) === 'ACK') return;
      rung += 1;
      transport.reply(m, { status: 486, reason: 'Busy Here', tag: 'gone' });
    },
  });
  try {
    const at = `${engine.server.host}:${engine.server.port}`;
    const sent = transport.send(
      {
        callId: randomTag(),
        local: `<sip:1007@${at}>;tag=${randomTag()}`,
        remote: `<sip:1007@${at}>`,
        target: `sip:${at}`,
        cseq: 0,
      },
      'REGISTER',
      { headers: [['contact', `<${transport.contact};x="&PJSIP/1003&y">`]] },
    );
    assert.equal(statusOf(await sent.response), 200);
    const call = await caller.invite('1007');
    await call.ended();
    assert.ok(rung > 0);
    assert.equal(victim.seen, 0);
  } finally {
    await transport.close();
  }
});
