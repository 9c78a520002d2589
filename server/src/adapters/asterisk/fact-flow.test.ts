import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { Scene, chan, channel, member, snapshot } from '../../../test/support/model-scene.ts';
import { silent } from '../../core/log.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import { createVirtualClock } from '../memory/virtual-clock.ts';
import { FactFlow } from './fact-flow.ts';

type Body = EngineEvent extends infer E ? (E extends { at: number } ? Omit<E, 'at'> : never) : never;
const queue = 'support';
const ids = { queue, interface: 'Local/1002@queue-agent', caller: chan('1'), agent: chan('l') };
const nobody = { number: '', name: '' };
const CALL = [
  channel('1', { endpoint: 'trunk', state: 'up', dialled: '500' }),
  channel('l', { kind: 'local', pair: 'l', of: '1' }),
  channel('d', { endpoint: '1002', state: 'ringing', of: '1' }),
];

/**
 * A caller waits while 1002 rings, and the link breaks. At the next connect `meanwhile` happens after the channels were
 * listed and before the queues were. Returns the resulting events.
 */
async function reconnected(meanwhile: readonly Body[]): Promise<{ scene: Scene; news: DomainEvent[] }> {
  const scene = new Scene();
  scene.member(queue, '1002');
  for (const one of CALL) scene.send({ type: 'channel.created', channel: one });
  const caller = { queue, channel: chan('1'), position: 1, joined_at: scene.at, priority: null };
  scene.send({ type: 'queue.caller_joined', caller });
  scene.send({ type: 'offer.created', ...ids });
  scene.published.length = 0;
  const began_at = scene.at + 5_000;
  const clock = createVirtualClock(began_at + 20);
  const flow = new FactFlow({ clock, log: silent, most: 1_000, overflowed() {} });
  flow.hold();
  flow.begin();
  for (const fact of meanwhile) flow.receive({ ...fact, at: began_at + 10 } as EngineEvent);
  const queues = [{ name: queue, strategy: 'ringall', members: [member(queue, '1002')], callers: [] }];
  flow.settle({ snapshot: snapshot({ channels: CALL, queues }), began_at, why: 'connect', link: null });
  for (const event of await flow.take(new AbortController().signal))
    scene.published.push(...scene.model.step(event));
  const news = scene.published.filter(({ subject }) => subject === `queues/${queue}`);
  return { scene, news };
}
const left: Body = { type: 'queue.caller_left', queue, channel: chan('1') };

test('fact flow - a caller that is answered while the lists of a connect are read was answered, and its agent talks', async () => {
  const { scene, news } = await reconnected([
    { type: 'channel.state', id: chan('d'), state: 'up', caller: nobody, connected: nobody },
    { type: 'dial.ended', from: chan('1'), to: chan('l'), status: 'ANSWER' },
    left,
    { type: 'offer.accepted', ...ids, hold_seconds: 6, ring_seconds: 6 },
  ]);
  assert.deepEqual(
    news.map(({ type, data }) => [type, (data as { reason?: string }).reason]),
    [
      ['queue.caller_left', 'answered'],
      ['offer.accepted', undefined],
    ],
  );
  assert.equal(scene.view.agent('1002')?.summary.state, 'talking');
});

test('fact flow - a caller that gives up while the lists of a connect are read has abandoned', async () => {
  const hungUp = ['l', 'd', '1'].map((id): Body => ({
    type: 'channel.hungup',
    id: chan(id),
    cause: 16,
    cause_text: '',
  }));
  const { scene, news } = await reconnected([
    { type: 'channel.ending', id: chan('1') },
    { type: 'queue.caller_abandoned', queue, channel: chan('1'), hold_seconds: 6, position: 1 },
    left,
    ...hungUp,
  ]);
  assert.deepEqual(news.map(({ type }) => type).toSorted(), ['offer.canceled', 'queue.caller_abandoned']);
  assert.deepEqual(scene.view.queue(queue)?.callers, []);
});
