import assert from 'node:assert/strict';
import { test } from 'node:test';
import { channelId, nodeId } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { CallVerbs, PlacedCall } from '../../../ports/engine-verbs.ts';
import type { ActionFields } from '../ami/codec.ts';
import { encodeAction } from '../ami/codec.ts';
import { callActions } from './calls.ts';

const node = nodeId('ast1');
const id = (raw: string) => channelId(node, raw);
const A = id('1795287986.10');
const B = id('1795287986.11');
/** Content on the wire: action, id and fields, every one through the codec. */
function wire(answer: { ok: boolean; message: string } = { ok: true, message: '' }) {
  const sent: [name: string, fields: ActionFields, id: string | undefined][] = [];
  const verbs = callActions(
    () =>
      ({
        action: async (name: string, fields: ActionFields, options: { action_id?: string }) => {
          encodeAction(name, fields, options.action_id ?? 'x');
          sent.push([name, fields, options.action_id]);
          return answer;
        },
      }) as never,
  );
  return { sent, verbs };
}
const placed: PlacedCall = {
  pair: [id('oh-1-1795287986.1'), id('oh-1-1795287986.2')],
  extension: '1003',
  device: 'webrtc',
  number: '1004',
  ring_seconds: 20,
  part: { does: 'call', caller_number: '1003', limit_seconds: 60 },
};
const options = { action_id: 'op-1' };

test('ami calls - a call is placed through fixed contexts, with both ids of its pair', async () => {
  const { sent, verbs } = wire();
  await verbs.placeCall(placed, options);
  assert.deepEqual(sent, [
    [
      'Originate',
      {
        Channel: 'Local/1004@place-call/n',
        Context: 'placed-pair',
        Exten: 's',
        Priority: '1',
        Timeout: '25000',
        Async: 'true',
        ChannelId: 'oh-1-1795287986.1',
        OtherChannelId: 'oh-1-1795287986.2',
        Variable: [
          '_OFFHOOK_FOR=1003',
          '_OFFHOOK_DEVICES=devices-webrtc',
          '_OFFHOOK_RING=20',
          '_OFFHOOK_DOES=call',
          '_OFFHOOK_PAIR=oh-1-1795287986.2',
          '_OFFHOOK_FROM=1003',
          '_OFFHOOK_LIMIT=60',
        ],
      },
      'op-1',
    ],
  ]);
  sent.length = 0;
  await verbs.placeCall({ ...placed, device: null, part: { does: 'barge', channel: A, session_id: 7 } });
  const [, fields] = sent[0]!;
  assert.equal(fields['Channel'], 'Local/1004@place-listen/n');
  assert.deepEqual(fields['Variable'], [
    '_OFFHOOK_FOR=1003',
    '_OFFHOOK_DEVICES=devices',
    '_OFFHOOK_RING=20',
    '_OFFHOOK_DOES=barge',
    '_OFFHOOK_PAIR=oh-1-1795287986.2',
    '_OFFHOOK_CHANNEL=1795287986.10',
    '_OFFHOOK_SESSION=7',
  ]);
});

test('ami calls - each verb is one template; the last of several actions has the id of the operation', async () => {
  const { sent, verbs } = wire();
  const said = async (work: Promise<void>) => {
    await work;
    return sent.splice(0).map(([name, fields, action]) => `${name} ${JSON.stringify(fields)} ${action}`);
  };
  assert.deepEqual(await said(verbs.hangup(A, options)), [
    'Hangup {"Channel":"1795287986.10","Cause":"16"} op-1',
  ]);
  assert.deepEqual(await said(verbs.blindTransfer(A, '1005', options)), [
    'BlindTransfer {"Channel":"1795287986.10","Context":"reach","Exten":"1005"} op-1',
  ]);
  assert.deepEqual(await said(verbs.consult(A, '1005', '1001', options)), [
    'Setvar {"Channel":"1795287986.10","Variable":"TRANSFER_CONTEXT","Value":"reach"} op-1-1',
    'Setvar {"Channel":"1795287986.10","Variable":"TRANSFER_EXTEN","Value":"1005"} op-1-2',
    'Setvar {"Channel":"1795287986.10","Variable":"_OFFHOOK_CONSULT","Value":"1001"} op-1-3',
    'PlayDTMF {"Channel":"1795287986.10","Digit":"D","Receive":"true"} op-1',
  ]);
  assert.deepEqual(
    [
      ...(await said(verbs.swapConsult(A, options))),
      ...(await said(verbs.completeConsult(A, options))),
      ...(await said(verbs.cancelConsult(A, options))),
    ],
    [
      'PlayDTMF {"Channel":"1795287986.10","Digit":"C","Receive":"true"} op-1',
      'PlayDTMF {"Channel":"1795287986.10","Digit":"B","Receive":"true"} op-1',
      'CancelAtxfer {"Channel":"1795287986.10"} op-1',
    ],
  );
  assert.deepEqual(await said(verbs.hold(A, [B], options)), [
    'Setvar {"Channel":"1795287986.11","Variable":"OFFHOOK_HELD_BY","Value":"1795287986.10"} op-1-1',
    'PlayDTMF {"Channel":"1795287986.10","Digit":"A","Receive":"true"} op-1',
  ]);
  assert.deepEqual(await said(verbs.retrieve([A, B], options)), [
    'Setvar {"Channel":"1795287986.10","Variable":"OFFHOOK_HELD_BY","Value":""} op-1',
    'Setvar {"Channel":"1795287986.11","Variable":"OFFHOOK_HELD_BY","Value":""} op-1-1',
  ]);
  assert.deepEqual(await said(verbs.park(A, '1003-web', options)), [
    'Park {"Channel":"1795287986.10","TimeoutChannel":"PJSIP/1003-web-0"} op-1',
  ]);
  assert.deepEqual(await said(verbs.digit(A, '#', options)), [
    'PlayDTMF {"Channel":"1795287986.10","Digit":"#","Receive":"true"} op-1',
  ]);
  assert.deepEqual(await said(verbs.startRecording(A, 'op-1', options)), [
    'MixMonitor {"Channel":"1795287986.10","File":"op-1.wav"} op-1',
  ]);
  assert.deepEqual(await said(verbs.stopRecording(A, options)), [
    'StopMixMonitor {"Channel":"1795287986.10"} op-1',
  ]);
  assert.deepEqual(await said(verbs.pauseRecording(A, true, options)), [
    'MixMonitorMute {"Channel":"1795287986.10","Direction":"both","State":"1"} op-1',
  ]);
  assert.deepEqual(await said(verbs.pauseRecording(A, false, options)), [
    'MixMonitorMute {"Channel":"1795287986.10","Direction":"both","State":"0"} op-1',
  ]);
});

test('ami calls - a plus is for a number that is called, not for our own', async () => {
  const { sent, verbs } = wire();
  await verbs.placeCall({ ...placed, number: '+493012' });
  await verbs.blindTransfer(A, '+493012');
  assert.deepEqual(
    [sent[0]?.[1]['Channel'], sent[1]?.[1]['Exten']],
    ['Local/+493012@place-call/n', '+493012'],
  );
  await assert.rejects(verbs.placeCall({ ...placed, extension: '+1003' }), { code: 'invalid_request' });
});

test('ami calls - nothing that is no digit or id is ever put on the wire', async () => {
  const { sent, verbs } = wire();
  const evil = [
    '',
    '1\r\n\r\nAction: Command',
    '1\n',
    '1\0',
    '1004@x',
    '1&Local/1',
    '1,2',
    '１',
    '../x',
    '*97',
    '1+',
    '+',
    '++1',
  ];
  const tries: ((bad: string) => Promise<void>)[] = [
    (bad) => verbs.placeCall({ ...placed, number: bad }),
    (bad) => verbs.placeCall({ ...placed, extension: bad }),
    (bad) => verbs.placeCall({ ...placed, part: { does: 'call', caller_number: bad, limit_seconds: null } }),
    (bad) => verbs.blindTransfer(A, bad),
    (bad) => verbs.consult(A, bad, null),
    (bad) => verbs.consult(A, '1005', bad),
    (bad) => verbs.digit(A, bad),
    (bad) => verbs.startRecording(A, bad),
    (bad) => verbs.park(A, bad),
  ];
  for (const [i, attempt] of tries.entries()) {
    for (const bad of evil) {
      const before = sent.length;
      await attempt(bad).catch((error: unknown) => {
        assert.ok(error instanceof ServiceError && error.code === 'invalid_request', `${i} ${bad}`);
      });
      const on = sent.slice(before).filter(([name]) => name !== 'Setvar');
      assert.deepEqual(on, [], `${i} ${JSON.stringify(bad)}`);
    }
  }
  const channels: ((bad: never) => Promise<void>)[] = [
    (bad) => verbs.hangup(bad),
    (bad) => verbs.hold(A, [bad]),
    (bad) => verbs.hold(bad, [B]),
    (bad) => verbs.placeCall({ ...placed, pair: [bad, B] }),
    (bad) => verbs.placeCall({ ...placed, part: { does: 'listen', channel: bad, session_id: 7 } }),
  ];
  sent.length = 0;
  for (const attempt of channels) {
    for (const bad of ['ast1:', 'ast1:x\r\ny', 'ast1:PJSIP/1003-1', 'ast1:/.*/', 'ast1:a b', 'ast1:1,w']) {
      await assert.rejects(
        attempt(bad as never),
        (e) => e instanceof ServiceError && e.code === 'invalid_request',
        bad,
      );
    }
  }
  assert.deepEqual(sent, []);
  for (const ring_seconds of [0, -1, 1.5, Number.NaN, 1e9]) {
    await assert.rejects(verbs.placeCall({ ...placed, ring_seconds }));
  }
  assert.deepEqual(sent, []);
});

test('ami calls - a refusal has the engine’s own words', async () => {
  const { verbs } = wire({ ok: false, message: 'No such channel' });
  const all: (keyof CallVerbs)[] = ['hangup', 'swapConsult', 'cancelConsult', 'stopRecording'];
  for (const verb of all) {
    await assert.rejects(
      (verbs[verb] as CallVerbs['hangup'])(A),
      (e) => e instanceof ServiceError && e.code === 'engine_refused' && e.message === 'No such channel',
      verb,
    );
  }
});
