/** Calls between two engines of a site: an internal pair with one half at each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bridgeId, callId, channelId, nodeId } from '@offhook/contract/ids.ts';
import {
  Scene,
  bridge,
  call,
  chan,
  channel,
  checkpointOf,
  node,
  snapshot,
} from '../../test/support/model-scene.ts';
import type { EngineChannel } from '../ports/engine-state.ts';
import { createModel } from './model.ts';

const B = nodeId('b');
const far = (id: string, more: Partial<EngineChannel> = {}): EngineChannel =>
  channel(id, { id: channelId(B, id), call: callId(B, '1.1'), ...more });
const half = (pair: string | null): Partial<EngineChannel> => ({ kind: 'local', endpoint: 'engine-x', pair });
const PAIR = chan('1.2') as string;

/** The steps of a call from 1001 to 1002 at the other engine, as each engine reports them. */
const near = {
  leg: { type: 'channel.created', channel: channel('1.1', { endpoint: '1001', dialled: '1002' }) },
  half: { type: 'channel.created', channel: channel('1.2', { of: '1.1', ...half(null) }) },
  named: { type: 'channel.renamed', id: chan('1.2'), channel: channel('1.2', { of: '1.1', ...half(PAIR) }) },
  met: [chan('1.1'), chan('1.2')].map(
    (id) => ({ type: 'bridge.entered', bridge: bridge('n'), id, holding: false }) as const,
  ),
} as const;
const there = {
  half: { type: 'channel.created', channel: far('1.1', half(null)) },
  named: { type: 'channel.renamed', id: channelId(B, '1.1'), channel: far('1.1', half(PAIR)) },
  leg: { type: 'channel.created', channel: far('1.2', { endpoint: '1002', state: 'ringing' }) },
  met: [channelId(B, '1.1'), channelId(B, '1.2')].map(
    (id) => ({ type: 'bridge.entered', bridge: bridgeId(B, 'f'), id, holding: false }) as const,
  ),
} as const;
const nobody = { number: '', name: '' };
const ups = [chan('1.1'), channelId(B, '1.2')].map(
  (id) => ({ type: 'channel.state', id, state: 'up', caller: nobody, connected: nobody }) as const,
);
const facts = (s: Scene): readonly string[] => s.published.map(({ type, subject }) => `${type} ${subject}`);
const gone = (id: ReturnType<typeof channelId>) =>
  ({ type: 'channel.hungup', id, cause: 16, cause_text: '' }) as const;

test('pbx engines - a call to another engine is one call with the legs of both, answered once', () => {
  const s = new Scene();
  for (const step of [near.leg, near.half, near.named, there.half, there.named, there.leg]) s.send(step);
  for (const step of [...ups, ...there.met, ...near.met]) s.send(step);
  const [one, ...more] = s.view.calls();
  assert.deepEqual(more, []);
  assert.equal(one!.id, call('1.1'));
  assert.deepEqual(
    one!.legs.map((leg) => leg.extension),
    ['1001', '1002'],
  );
  assert.equal(s.view.leg(chan('1.1'))!.state, 'connected');
  const { leg, passing } = s.view.beside(chan('1.1'))!;
  assert.deepEqual([leg, passing], [channelId(B, '1.2'), false], 'this pair stays');
  for (const id of [channelId(B, '1.2'), channelId(B, '1.1'), chan('1.2'), chan('1.1')]) s.send(gone(id));
  const told = facts(s).filter((one) => /^call\.(started|answered|ended)/.test(one));
  assert.deepEqual(
    told,
    ['started', 'answered', 'ended'].map((what) => `call.${what} calls/${call('1.1')}`),
  );
});

test('pbx engines - where the other engine is heard first, both are one call in the end, and it is answered', () => {
  const s = new Scene();
  for (const step of [there.half, there.named, there.leg, ...there.met]) s.send(step);
  for (const step of [near.leg, near.half, ...near.met, near.named]) s.send(step);
  assert.equal(s.view.calls().length, 1);
  assert.equal(s.view.calls()[0]!.id, call('1.1'), 'that of the calling half, as in the history');
  assert.deepEqual(
    s.view
      .calls()[0]!
      .legs.map((leg) => leg.extension)
      .toSorted((a, b) => Number(a) - Number(b)),
    ['1001', '1002'],
  );
  assert.notEqual(s.view.calls()[0]!.answered_at, null);
});

test('pbx engines - a lost link to another engine leaves the model live and its calls as they were', () => {
  const s = new Scene();
  for (const step of [near.leg, near.half, near.named, there.half, there.named, there.leg]) s.send(step);
  s.send({ type: 'engine.link', node: B, up: true, reason: '', boot_id: 'b' });
  s.send({ type: 'engine.link', node: B, up: false, reason: 'cut', boot_id: '' });
  assert.equal(s.view.live, true);
  assert.equal(s.view.calls()[0]!.legs.length, 2);
  assert.deepEqual(facts(s).slice(-2), ['engine.link_up engine/b', 'engine.link_down engine/b']);
  s.send({ type: 'engine.link', node, up: false, reason: 'cut', boot_id: '' });
  assert.equal(s.view.live, false);
  s.send({ type: 'engine.snapshot', why: 'resync', snapshot: snapshot({ node: B }) });
  assert.equal(s.view.live, false);
});

test('pbx engines - a snapshot shows the pair of a half that had none yet', () => {
  const s = new Scene();
  for (const step of [near.leg, near.half, near.named, there.half, there.leg]) s.send(step);
  assert.equal(s.view.calls().length, 2);
  s.send({
    type: 'engine.snapshot',
    why: 'resync',
    snapshot: snapshot({
      channels: [near.leg.channel, near.named.channel, there.named.channel, there.leg.channel],
    }),
  });
  assert.equal(s.view.calls().length, 1);
});

test('pbx engines - the same slot of two engines holds one call of each', () => {
  const s = new Scene();
  const other = channelId(B, '1.9');
  const legs = [
    near.leg.channel,
    far('1.9', { call: callId(B, '1.9'), endpoint: '1002', state: 'up', dialled: '1003' }),
  ];
  const rows = [chan('1.1'), other].map((id) => ({ channel: id, slot: '701', lot: 'default', since: 0 }));
  const bridged = [chan('1.1'), other].map((id) => ({ bridge: bridge('lot'), channel: id, holding: true }));
  for (const leg of legs) s.send({ type: 'channel.created', channel: leg });
  for (const { bridge: lot, channel: id } of bridged)
    s.send({ type: 'bridge.entered', bridge: lot, id, holding: true });
  for (const { channel: id, slot, lot } of rows) s.send({ type: 'channel.parked', id, slot, lot });
  const shown = (scene = s) => scene.view.parked().map((one) => `${one.node} ${one.slot} ${one.leg}`);
  const both = [`${node} 701 ${chan('1.1')}`, `b 701 ${other}`];
  assert.deepEqual(shown(), both);
  const before = s.published.length;
  s.send({
    type: 'engine.snapshot',
    why: 'resync',
    snapshot: snapshot({ channels: legs, bridged, parked: rows }),
  });
  assert.deepEqual([shown(), s.published.length], [both, before]);

  const journal = createModel();
  journal.committed(s.published);
  const model = createModel();
  model.restore(checkpointOf(journal), []);
  assert.deepEqual(shown(new Scene({ model, empty: true })), both);

  s.send(gone(other));
  assert.deepEqual(shown(), [both[0]]);
  const freed = s.published.flatMap((e) =>
    e.type === 'parking.slot_freed' ? [[e.data.node, e.data.leg_id]] : [],
  );
  assert.deepEqual(freed, [['b', other]]);
});
