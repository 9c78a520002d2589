import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { Scene, call, chan, site, types } from '../../test/support/model-scene.ts';

const ofType = <T extends DomainEvent['type']>(events: readonly DomainEvent[], type: T) =>
  events.filter((e): e is Extract<DomainEvent, { type: T }> => e.type === type);

/** 1001 dials 1002 and talks to it. */
function talking(scene: Scene): void {
  scene.created('1', { endpoint: '1001', state: 'dialing', dialled: '1002' });
  scene.created('2', { endpoint: '1002-web', of: '1' });
  scene.send({ type: 'dial.begun', from: chan('1'), to: chan('2'), dialled: '1002' });
  scene.state('2', 'ringing');
  scene.state('2', 'up');
  scene.state('1', 'up');
  scene.enter('b', '2');
  scene.enter('b', '1');
}

test('pbx calls - a plain call is started, rings, is answered once and ends once', () => {
  const scene = new Scene();
  talking(scene);
  const [live] = scene.view.calls();
  assert.equal(live?.answered_at, scene.at);
  assert.deepEqual(
    live?.legs.map((l) => [l.extension, l.endpoint, l.state, l.party.name]),
    [
      ['1001', '1001', 'connected', 'Person 1001'],
      ['1002', '1002-web', 'connected', 'Person 1002'],
    ],
  );
  scene.leave('b', '1');
  scene.hangup('1');
  scene.leave('b', '2');
  assert.equal(scene.view.calls()[0]?.legs.length, 1);
  scene.hangup('2');
  assert.deepEqual(types(scene.published), [
    'call.started',
    'call.ringing',
    'call.answered',
    'call.left',
    'call.ended',
  ]);
  const [started] = ofType(scene.published, 'call.started');
  assert.equal(started?.data.dialled, '1002');
  assert.equal(started?.data.leg.extension, '1001');
  assert.equal(ofType(scene.published, 'call.answered')[0]?.data.leg.extension, '1002');
  const [ended] = ofType(scene.published, 'call.ended');
  assert.deepEqual([ended?.data.reason, ended?.data.cause], ['hangup', 16]);
  assert.deepEqual(scene.view.calls(), []);
});

const left = (events: readonly DomainEvent[]): string[] =>
  ofType(events, 'call.left').map(({ data }) => `${data.leg.extension} ${data.reason} ${data.cause}`);

test('pbx calls - reason of a left leg: its device ended the ring, another answered, the caller gave up, or its time was over', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '300' });
  const ring = (id: string, endpoint: string): void => {
    scene.created(id, { endpoint, of: '1' });
    scene.state(id, 'ringing');
  };
  const dialEnded = (to: string, status: string) =>
    scene.send({ type: 'dial.ended', from: chan('1'), to: chan(to), status });
  const declines = (id: string, cause: number): void => {
    scene.send({ type: 'channel.ending', id: chan(id) });
    dialEnded(id, 'NOANSWER');
    scene.hangup(id, cause);
  };
  ring('2', '1002');
  declines('2', 17);
  ring('3', '1003');
  dialEnded('3', 'NOANSWER');
  dialEnded('3', 'CANCEL');
  scene.hangup('3', 0);
  for (const [id, cause] of [
    ['4', 21],
    ['14', 1],
    ['24', 38],
    ['34', 18],
  ] as const) {
    ring(id, '1002');
    declines(id, cause);
  }
  ring('5', '1002-web');
  dialEnded('5', 'CANCEL');
  scene.hangup('5', 26);
  ring('6', '1002');
  dialEnded('6', 'CANCEL');
  scene.hangup('6', 0);
  ring('7', '1004');
  scene.state('7', 'up');
  dialEnded('7', 'ANSWER');
  scene.enter('b', '7');
  scene.enter('b', '1');
  scene.hangup('7', 16);
  assert.deepEqual(left(scene.published), [
    '1002 busy 17',
    '1003 no_answer 0',
    '1002 rejected 21',
    '1002 failed 1',
    '1002 congestion 38',
    '1002 unreachable 18',
    '1002 answered_elsewhere 26',
    '1002 canceled 0',
    '1004 hangup 16',
  ]);
  assert.deepEqual(
    scene.view.calls()[0]?.legs.map((l) => l.extension),
    ['1001'],
  );
  scene.hangup('1');
  assert.equal(scene.published.at(-1)?.type, 'call.ended');
});

test('pbx calls - a leg whose channel becomes a half of a pair has left', () => {
  const scene = new Scene();
  talking(scene);
  const half = { ...scene_channel('2'), name: 'half', kind: 'local' as const, pair: 'p' };
  scene.send({ type: 'channel.renamed', id: chan('2'), channel: half });
  assert.equal(scene.view.calls()[0]?.legs.length, 1);
  scene.hangup('2');
  assert.deepEqual(left(scene.published), ['1002 hangup null']);
});

test('pbx calls - the cause of a call is its first leg’s', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '1002' });
  scene.created('2', { endpoint: '1002', of: '1' });
  scene.hangup('1', 17);
  scene.hangup('2', 26);
  assert.equal(ofType(scene.published, 'call.ended')[0]?.data.cause, 17);
});

test('pbx calls - an internal pair is no leg, its halves belong to one call, and legs meet across it', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: 'trunk', state: 'up', caller: { number: '0305550', name: 'Ann' } });
  scene.created('2', { kind: 'local', pair: 'p', of: '1', state: 'down' });
  scene.created('3', { kind: 'local', pair: 'p', of: '3', state: 'down' });
  scene.created('4', { endpoint: '1002', of: '3' });
  assert.deepEqual(types(scene.published), ['call.started'], 'the far half is linked before its leg appears');
  scene.state('4', 'ringing');
  assert.equal(scene.view.calls().length, 1);
  assert.equal(scene.view.calls()[0]?.legs.length, 2);
  scene.state('4', 'up');
  scene.enter('inner', '4');
  scene.enter('inner', '3');
  assert.equal(ofType(scene.published, 'call.answered').length, 0, 'one leg and a pair is no conversation');
  scene.enter('outer', '2');
  scene.enter('outer', '1');
  assert.equal(ofType(scene.published, 'call.answered')[0]?.data.leg.extension, '1002');
  assert.equal(scene.view.calls()[0]?.legs[0]?.party.name, 'Ann');
  const beside = (passing: boolean, ...channels: string[]) => ({
    leg: chan('1'),
    channels: channels.map(chan),
    passing,
  });
  assert.deepEqual(scene.view.beside(chan('4')), beside(true, '3'));
  // Optimised away: the pair goes, the leg moves over.
  scene.leave('inner', '4');
  scene.enter('outer', '4');
  assert.deepEqual(scene.view.beside(chan('4')), beside(true, '2', '1'));
  scene.hangup('2');
  scene.hangup('3');
  assert.deepEqual(scene.view.beside(chan('4')), beside(false, '1'));
  assert.equal(scene.view.calls()[0]?.legs.length, 2);
  scene.hangup('1');
  scene.hangup('4');
  assert.deepEqual(types(scene.published), [
    'call.started',
    'call.ringing',
    'call.answered',
    'call.left',
    'call.ended',
  ]);
});

test('pbx calls - an internal pair keeps its call open while legs come and go', () => {
  const scene = new Scene();
  scene.created('1', { kind: 'local', pair: 'p' });
  scene.created('2', { kind: 'local', pair: 'p', of: '1' });
  assert.deepEqual(scene.published, []);
  scene.created('3', { endpoint: '1001', of: '1' });
  scene.hangup('3');
  scene.created('4', { endpoint: '1002', of: '1' });
  scene.hangup('4');
  scene.hangup('1');
  assert.deepEqual(types(scene.published), ['call.started', 'call.left'], 'the other leg has no event');
  scene.hangup('2');
  assert.deepEqual(types(scene.published), ['call.started', 'call.left', 'call.ended']);
});

test('pbx calls - a call linked to an unpublished one keeps its own id', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001' });
  scene.created('2', { kind: 'local', pair: 'p' });
  scene.send({ type: 'channel.linked', id: chan('1'), call: call('2') });
  assert.deepEqual(
    scene.view.calls().map((c) => c.id),
    [call('1')],
  );
  scene.hangup('1');
  assert.deepEqual(types(scene.published), ['call.started', 'call.left'], 'the pair keeps it open');
  scene.hangup('2');
  assert.equal(ofType(scene.published, 'call.ended')[0]?.data.call_id, call('1'));
});

test('pbx calls - a helper is in no call, and one call less with it is no end', () => {
  const scene = new Scene();
  scene.created('9', { kind: 'other' });
  scene.enter('b', '9');
  scene.hangup('9');
  assert.deepEqual(scene.published, []);
});

test('pbx calls - a service that the engine answers itself is an answered call', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '600', state: 'dialing' });
  scene.state('1', 'up');
  assert.equal(scene.view.calls()[0]?.legs[0]?.state, 'connected');
  scene.hangup('1');
  assert.deepEqual(types(scene.published), ['call.started', 'call.answered', 'call.ended']);
});

test('pbx calls - a number that plays something first is not answered until two legs meet', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '500', state: 'dialing' });
  scene.state('1', 'up');
  assert.deepEqual(types(scene.published), ['call.started']);
});

test('pbx calls - hold and retrieve are each published once', () => {
  const scene = new Scene();
  talking(scene);
  scene.published.length = 0;
  scene.send({ type: 'channel.held', id: chan('1'), held: true });
  scene.send({ type: 'channel.held', id: chan('1'), held: true });
  assert.equal(scene.view.calls()[0]?.legs[0]?.state, 'held');
  scene.send({ type: 'channel.held', id: chan('1'), held: false });
  assert.deepEqual(types(scene.published), ['call.held', 'call.retrieved']);
});

test('pbx calls - a hold ends with the held side once the holder talks to another person, without an event of the engine', () => {
  for (const talksOn of [true, false]) {
    const scene = new Scene();
    talking(scene);
    scene.published.length = 0;
    scene.send({ type: 'channel.held', id: chan('1'), held: true });
    if (talksOn) {
      scene.created('3', { endpoint: '1003', of: '1', state: 'up' });
      scene.enter('consult', '3');
      scene.enter('consult', '1');
      assert.equal(scene.view.leg(chan('1'))?.state, 'held');
    }
    scene.hangup('2');
    assert.equal(scene.view.leg(chan('1'))?.held, !talksOn);
    scene.hangup('1');
    const holds = types(scene.published).filter((type) => /held|retrieved/.test(type));
    assert.deepEqual(holds, talksOn ? ['call.held', 'call.retrieved'] : ['call.held']);
  }
});

test('pbx calls - a blind transfer stays one call', () => {
  const scene = new Scene();
  talking(scene);
  const transfer = {
    type: 'transfer.blind',
    by: chan('2'),
    transferee: chan('1'),
    to: '1003',
    succeeded: true,
  } as const;
  scene.send(transfer);
  scene.send(transfer, scene.at);
  scene.hangup('2');
  scene.created('3', { endpoint: '1003', of: '1' });
  scene.state('3', 'ringing');
  scene.state('3', 'up');
  scene.enter('c', '3');
  scene.enter('c', '1');
  scene.hangup('1');
  scene.hangup('3');
  assert.deepEqual(types(scene.published), [
    'call.started',
    'call.ringing',
    'call.answered',
    'call.transferred',
    'call.left',
    'call.ringing',
    'call.joined',
    'call.party_changed',
    'call.left',
    'call.ended',
  ]);
  const [party] = ofType(scene.published, 'call.party_changed');
  assert.deepEqual([party?.data.leg.extension, party?.data.party.extension], ['1001', '1003']);
  assert.deepEqual(left(scene.published), ['1002 transferred 16', '1001 hangup 16']);
  const [moved] = ofType(scene.published, 'call.transferred');
  assert.deepEqual([moved?.data.kind, moved?.data.by, moved?.data.to], ['blind', '1002', '1003']);
});

for (const linkedFirst of [true, false]) {
  test(`pbx calls - an attended transfer leaves one call, the other ends merged (${linkedFirst ? 'linked' : 'told'} first)`, () => {
    const scene = new Scene();
    talking(scene);
    scene.created('5', { endpoint: '1002-web', dialled: '1003' });
    scene.created('6', { endpoint: '1003', of: '5' });
    scene.state('6', 'up');
    scene.enter('c', '6');
    scene.enter('c', '5');
    assert.equal(scene.view.calls().length, 2);
    const linked = () => scene.send({ type: 'channel.linked', id: chan('6'), call: call('1') });
    if (linkedFirst) linked();
    scene.send({
      type: 'transfer.attended',
      first: chan('2'),
      second: chan('5'),
      first_call: call('1'),
      second_call: call('5'),
      to: '1003',
      succeeded: true,
    });
    if (!linkedFirst) linked();
    scene.hangup('2');
    scene.hangup('5');
    scene.enter('b', '6');
    assert.deepEqual(
      scene.view.calls().map((c) => [c.id, c.legs.map((l) => l.extension)]),
      [[call('1'), ['1001', '1003']]],
    );
    // A channel that still names the old call belongs to the merged one.
    scene.created('7', { endpoint: '1004', of: '5' });
    scene.hangup('7');
    scene.hangup('1');
    scene.hangup('6');
    const ended = ofType(scene.published, 'call.ended');
    assert.deepEqual(
      ended.map((e) => [e.data.call_id, e.data.reason, e.data.merged_into]),
      [
        [call('5'), 'merged', call('1')],
        [call('1'), 'hangup', null],
      ],
    );
    const [moved] = ofType(scene.published, 'call.transferred');
    assert.deepEqual(
      [moved?.data.call_id, moved?.data.by, moved?.data.merged_call_id],
      [call('1'), '1002', call('5')],
    );
    assert.equal(ofType(scene.published, 'call.started').length, 2);
    assert.deepEqual(left(scene.published), ['1002 transferred 16', '1002 transferred 16', '1001 hangup 16']);
    assert.ok(ofType(scene.published, 'call.left').every((e) => e.data.call_id === call('1')));
  });
}

test('pbx calls - a pickup joins the call that rang; the channel gets another device', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001', dialled: '1002' });
  scene.created('2', { endpoint: '1002', of: '1' });
  scene.state('2', 'ringing');
  scene.created('3', { endpoint: '1003', dialled: '*8' });
  scene.send({ type: 'channel.picked_up', by: chan('3'), target: chan('2') });
  scene.send({
    type: 'channel.renamed',
    id: chan('2'),
    channel: { ...scene_channel('2'), name: '1003-x', endpoint: '1003', state: 'up' },
  });
  scene.hangup('3');
  scene.enter('b', '2');
  scene.enter('b', '1');
  assert.deepEqual(
    scene.view.calls()[0]?.legs.map((l) => l.extension),
    ['1001', '1003'],
  );
  scene.hangup('1');
  scene.hangup('2');
  assert.deepEqual(types(scene.published), [
    'call.started',
    'call.ringing',
    'call.started',
    'call.ended',
    'call.transferred',
    'call.left',
    'call.answered',
    'call.left',
    'call.ended',
  ]);
  const [moved] = ofType(scene.published, 'call.transferred');
  assert.deepEqual([moved?.data.by, moved?.data.to], ['1003', '1002']);
});
const scene_channel = (id: string) => ({
  id: chan(id),
  call: call('1'),
  name: 'n',
  kind: 'endpoint' as const,
  endpoint: null,
  pair: null,
  state: 'down' as const,
  caller: { number: '', name: '' },
  connected: { number: '', name: '' },
  dialled: '',
  created_at: 0,
});

test('pbx calls - parked and taken back by another', () => {
  const scene = new Scene();
  talking(scene);
  scene.published.length = 0;
  scene.leave('b', '1');
  scene.enter('lot', '1', true);
  scene.send({ type: 'channel.parked', id: chan('1'), slot: '701', lot: 'default' });
  scene.send({ type: 'channel.parked', id: chan('1'), slot: '701', lot: 'default' });
  scene.hangup('2');
  assert.equal(scene.view.calls()[0]?.legs[0]?.state, 'parked');
  scene.created('3', { endpoint: '1003', dialled: '701', state: 'up' });
  scene.send({ type: 'channel.unparked', id: chan('1'), slot: '701', reason: 'retrieved' });
  scene.leave('lot', '1');
  scene.enter('c', '3');
  scene.send({ type: 'channel.linked', id: chan('3'), call: call('1') });
  scene.enter('c', '1');
  assert.deepEqual(
    scene.view.calls().map((c) => c.legs.map((l) => [l.extension, l.state])),
    [
      [
        ['1001', 'connected'],
        ['1003', 'connected'],
      ],
    ],
  );
  assert.deepEqual(types(scene.published), [
    'call.parked',
    'parking.slot_occupied',
    'call.left',
    'call.started',
    'parking.slot_freed',
    'call.ended',
    'call.party_changed',
  ]);
  assert.equal(ofType(scene.published, 'call.parked')[0]?.data.slot, '701');
});

test('pbx calls - a party that meets others in a conference is answered and keeps its own call', () => {
  const scene = new Scene();
  for (const [id, endpoint] of [
    ['1', '1001'],
    ['2', '1002'],
    ['3', '1003'],
  ] as const) {
    scene.created(id, { endpoint, state: 'up', dialled: '650' });
    scene.enter('conf', id);
  }
  assert.deepEqual(types(scene.published), [
    'call.started',
    'call.started',
    'call.answered',
    'call.answered',
    'call.started',
    'call.answered',
  ]);
  assert.equal(scene.view.calls().length, 3);
});

test('pbx calls - facts under an id after its hangup are ignored', () => {
  const scene = new Scene();
  scene.hangup('1');
  scene.created('1', { endpoint: '1001' });
  scene.state('1', 'up');
  scene.enter('b', '1');
  assert.deepEqual(scene.published, []);
  assert.deepEqual(scene.view.calls(), []);
});

test('pbx calls - a leg that comes after its call ended is a new call with an id never used before', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001' });
  scene.hangup('1');
  scene.created('2', { endpoint: '1002', of: '1' });
  scene.created('3', { endpoint: '1003', of: '1' });
  assert.equal(scene.view.calls().length, 1);
  scene.hangup('2');
  scene.hangup('3');
  const started = ofType(scene.published, 'call.started').map((e) => e.data.call_id);
  assert.deepEqual(started, [call('1'), call('2')]);
  assert.deepEqual(
    ofType(scene.published, 'call.ended').map((e) => e.data.call_id),
    started,
  );
});

const who = (events: readonly DomainEvent[]) =>
  events.flatMap((e) =>
    'extensions' in e.data && 'direction' in e.data
      ? [[e.type, e.data.direction, e.data.extensions.join(' ')]]
      : [],
  );

test('pbx calls - every event of a call names all extensions that have or had a leg in it, and the caller', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: 'trunk', dialled: '1002', caller: { number: '0305550', name: 'Ann' } });
  scene.created('2', { endpoint: '1002', of: '1' });
  scene.state('2', 'ringing');
  scene.hangup('2');
  scene.created('3', { endpoint: '1001-web', of: '1' });
  scene.state('3', 'ringing');
  scene.state('3', 'up');
  scene.enter('b', '3');
  scene.enter('b', '1');
  scene.hangup('3');
  scene.hangup('1');
  assert.deepEqual(who(scene.published), [
    ['call.started', 'in', ''],
    ['call.ringing', 'in', '1002'],
    ['call.left', 'in', '1002'],
    ['call.ringing', 'in', '1001 1002'],
    ['call.answered', 'in', '1001 1002'],
    ['call.left', 'in', '1001 1002'],
    ['call.ended', 'in', '1001 1002'],
  ]);
  const ann = { number: '0305550', name: 'Ann' };
  assert.deepEqual(ofType(scene.published, 'call.ringing')[1]?.data.caller, ann);
  assert.deepEqual(ofType(scene.published, 'call.answered')[0]?.data.caller, ann);
});

test('pbx calls - the direction follows the endpoints that a call meets', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '1001' });
  scene.created('2', { endpoint: 'trunk', of: '1' });
  scene.state('2', 'ringing');
  scene.created('3', { endpoint: 'trunk', of: '3' });
  scene.created('4', { endpoint: 'trunk2', of: '3' });
  scene.state('4', 'ringing');
  scene.created('5', { endpoint: '1003', of: '3' });
  scene.state('5', 'ringing');
  assert.deepEqual(who(scene.published), [
    ['call.started', 'internal', '1001'],
    ['call.ringing', 'out', '1001'],
    ['call.started', 'in', ''],
    ['call.ringing', 'transit', ''],
    ['call.ringing', 'in', '1003'],
  ]);
});

test('pbx calls - a merged call is published to the people of both calls', () => {
  const scene = new Scene();
  talking(scene);
  scene.created('5', { endpoint: '1002-web', dialled: '1003' });
  scene.created('6', { endpoint: 'trunk', of: '5' });
  scene.created('7', { endpoint: '1003', of: '5' });
  scene.published.length = 0;
  scene.send({ type: 'channel.linked', id: chan('6'), call: call('1') });
  for (const id of ['1', '2', '5', '6', '7']) scene.hangup(id);
  assert.deepEqual(who(scene.published), [
    ['call.ended', 'out', '1002 1003'],
    ['call.left', 'out', '1001 1002 1003'],
    ['call.left', 'out', '1001 1002 1003'],
    ['call.left', 'out', '1001 1002 1003'],
    ['call.ended', 'out', '1001 1002 1003'],
  ]);
});

test('pbx calls - a phone that picks up, and one given to another person, belong to the call', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: 'trunk' });
  scene.created('2', { endpoint: '1002', of: '1' });
  scene.send({
    type: 'channel.renamed',
    id: chan('2'),
    channel: { ...scene_channel('2'), name: '1003-x', endpoint: '1003', state: 'up' },
  });
  scene.model.step(site(['1001', '1002', '1003', 'trunk']));
  scene.hangup('2');
  scene.hangup('1');
  assert.deepEqual(who(scene.published).at(-1), ['call.ended', 'in', '1002 1003 trunk']);
});
