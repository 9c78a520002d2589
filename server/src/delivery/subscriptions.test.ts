import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import fc from 'fast-check';
import { agentReady, linkDown, offer, presence, streamRig } from '../../test/support/stream-rig.ts';
import { until } from '../../test/support/until.ts';
import { EVERYONE, topicsOf } from '../rights/topics.ts';

test('stream - queues with a cursor beside one queue that came later', async (t) => {
  const rig = await streamRig(t);
  rig.commit(offer('support', '1003'), offer('sales', '1003'));
  const client = await rig.open('supervisor');
  client.send({ op: 'subscribe', id: 1, topics: ['queues/support'] });
  await client.next('subscribed');
  rig.commit(offer('support', '1003'), offer('sales', '1003'));
  await client.next('event');
  client.send({ op: 'subscribe', id: 2, topics: ['queues'], cursor: 0 });
  await client.next('resumed');
  assert.deepEqual(client.seqs(), [3, 1, 2, 4]);
});

test('stream - an older cursor for topics received already', async (t) => {
  const rig = await streamRig(t);
  rig.commit(offer('support', '1003'), offer('sales', '1003'), offer('sales', '1003'));
  const client = await rig.open('supervisor');
  for (const frame of [{}, { cursor: 2 }, { cursor: 1 }, { cursor: 1 }, { cursor: 0 }, { cursor: 3 }]) {
    client.send({ op: 'subscribe', id: 1, topics: ['queues'], ...frame });
    await client.next('subscribed');
    if ('cursor' in frame) await client.next('resumed');
  }
  rig.commit(offer('support', '1003'));
  await until('the live event', () => client.seqs().at(-1) === 4);
  assert.deepEqual(client.seqs(), [3, 2, 1, 4]);
});

test('stream - events for all readers follow a cursor too', async (t) => {
  const rig = await streamRig(t);
  rig.commit(linkDown(), agentReady('1003'), linkDown());
  const client = await rig.open('supervisor');
  client.send({ op: 'subscribe', id: 1, topics: ['presence'] });
  await client.next('subscribed');
  rig.commit(linkDown());
  await client.next('event');
  client.send({ op: 'subscribe', id: 2, topics: ['agents'], cursor: 1 });
  await client.next('resumed');
  assert.deepEqual(client.seqs(), [4, 2, 3]);
});

test('stream - an event of a noun without a topic reaches no client', async (t) => {
  const rig = await streamRig(t);
  const client = await rig.open('admin');
  const topics = [
    'presence',
    'calls',
    'parking',
    'history',
    'queues',
    'agents',
    'trunks',
    'config',
    'system',
  ];
  client.send({ op: 'subscribe', id: 1, topics });
  await client.next('subscribed');
  const forgotten = { ...linkDown(), type: 'gossip.heard' } as unknown as DomainEvent;
  rig.commit(forgotten, linkDown());
  await until('the event of a known noun', () => client.seqs().length > 0);
  client.send({ op: 'subscribe', id: 2, topics, cursor: 0 });
  await client.next('resumed');
  assert.deepEqual(
    client.seqs().filter((seq) => seq === 1),
    [],
  );
  assert.deepEqual(topicsOf(forgotten), []);
});

test('stream - `access` of a subscription differs once the rights of the person differ', async (t) => {
  const rig = await streamRig(t);
  const access = async (topic: string): Promise<string | undefined> => {
    await using client = await rig.open('agent');
    client.send({ op: 'subscribe', id: 1, topics: [topic], snapshot: true, cursor: 0 });
    return (await client.next('subscribed')).access;
  };
  const [queues, people] = [await access('queues'), await access('presence')];
  rig.directory.setQueues(rig.directory.queues().toReversed());
  assert.equal(await access('queues'), queues, 'the order of the queues is no right');
  rig.directory.setQueues(rig.directory.queues().filter(({ name }) => name !== 'sales'));
  assert.notEqual(await access('queues'), queues);
  assert.equal(await access('presence'), people);
});

const TOPICS = ['presence', 'presence/1005', 'queues', 'queues/support', 'queues/sales', 'agents'];
/** An agent receives its own events and those of its queues. */
const NAMES: Readonly<Record<string, (topic: string) => readonly string[]>> = {
  supervisor: (topic) => [topic],
  agent: (topic) => {
    if (topic === 'queues') return ['queues/support', 'queues/sales'];
    return topic === 'agents' ? ['agents/1003'] : [topic];
  },
};
const EVENTS = [
  () => presence('1005'),
  () => presence('1006'),
  () => offer('support', '1003'),
  () => offer('sales', '1003'),
  () => offer('other', '1003'),
  () => agentReady('1003'),
  () => agentReady('1004'),
  linkDown,
];
const topics = fc.uniqueArray(fc.constantFrom(...TOPICS), { minLength: 1, maxLength: 3 });
const step = fc.record({
  topics,
  /** How far back the cursor lies. */
  back: fc.option(fc.nat(60), { freq: 3 }),
  /** Later events. */
  later: fc.array(fc.nat(EVENTS.length - 1), { maxLength: 12 }),
  leave: fc.option(topics, { freq: 3 }),
});

for (const leaves of [false, true]) {
  const times = leaves ? 'at least once, whatever was left in between' : 'exactly once';
  test(`stream - whatever topics follow with whatever cursors, all of their events are sent ${times}`, async (t) => {
    const rig = await streamRig(t);
    const commit = (kinds: readonly number[]): void => rig.commit(...kinds.map((kind) => EVENTS[kind]!()));
    commit(Array.from({ length: 60 }, (_, i) => i % EVENTS.length));
    const property = fc.asyncProperty(
      fc.constantFrom('supervisor', 'agent'),
      fc.array(step, { minLength: 2, maxLength: 10 }),
      async (level, steps) => {
        await using client = await rig.open(level);
        const sent = (): number[] =>
          client.frames.flatMap((frame) => (frame.op === 'event' ? [frame.event.seq] : []));
        const since = new Map<string, number>();
        const owed = new Set<number>();
        const complete = async (): Promise<void> => {
          const names = new Map<string, number>();
          const hear = (name: string, from: number) =>
            names.set(name, Math.min(names.get(name) ?? from, from));
          for (const [topic, from] of since) {
            for (const name of [...NAMES[level]!(topic), EVERYONE]) hear(name, from);
          }
          for (const row of rig.journal.read(0, 1_000_000)) {
            if (row.topics.split(' ').some((name) => (names.get(name) ?? Infinity) < row.seq))
              owed.add(row.seq);
          }
          const all = (): boolean => {
            const got = new Set(sent());
            return [...owed].every((seq) => got.has(seq));
          };
          await until('what is owed', all, { every: 1 });
        };
        for (const [id, { topics: wanted, back, later, leave }] of steps.entries()) {
          const cursor = back === null ? {} : { cursor: Math.max(0, rig.journal.head - back) };
          client.send({ op: 'subscribe', id, topics: wanted, ...cursor });
          commit(later);
          const { cursor: from } = await client.next('subscribed');
          for (const topic of wanted) since.set(topic, Math.min(since.get(topic) ?? from, from));
          if (back !== null) await client.next('resumed');
          await complete();
          if (!leaves || leave === null) continue;
          client.send({ op: 'unsubscribe', id, topics: leave });
          await client.next('unsubscribed');
          for (const topic of leave) since.delete(topic);
          commit(later);
        }
        await complete();
        if (leaves) return;
        assert.deepEqual(
          client.seqs().toSorted((a, b) => a - b),
          [...owed].toSorted((a, b) => a - b),
        );
      },
    );
    await fc.assert(property, { numRuns: 60, endOnFailure: true });
  });
}
