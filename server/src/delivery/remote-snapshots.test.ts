import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { silent } from '../core/log.ts';
import type { Heard } from '../rights/hearing.ts';
import type { Framing } from './batch.ts';
import { createRemoteSnapshots } from './remote-snapshots.ts';

const heard = (topic: string, objects: readonly string[] | null = null): Heard => ({
  topic,
  names: [topic],
  noun: 'agents',
  objects,
  since_ms: 0,
});
const TEXT: Framing = {
  name: 'text',
  chained: false,
  event: (json) => json,
  snapshot: (topic, cursor, json) => Buffer.from(`${topic}@${cursor}=${json}`),
};
/** A copy of the journal whose head the test moves. */
function scene() {
  const journal = { epoch: 'e', head: 5 };
  const asked: (readonly Heard[])[] = [];
  const calls: (string | number | null)[] = [];
  const given: string[] = [];
  const leading: { answer: { epoch: string; cursor: number } | null } = { answer: { epoch: 'e', cursor: 8 } };
  const snapshots = createRemoteSnapshots({
    async ask(wanted) {
      asked.push(wanted);
      if (leading.answer === null) throw new Error('no answer');
      const topics = wanted.map(({ topic, objects }) => JSON.stringify([topic, objects]));
      return { ...leading.answer, topics };
    },
    journal,
    copy: { hold: () => void calls.push('hold'), meet: (seq) => void calls.push(seq) },
    log: silent,
  });
  const take = (...topics: Heard[]): void => {
    const found = snapshots.take(topics, TEXT, () => take(...topics));
    if (found !== null) given.push(found.frames.map((frame) => frame.toString()).join(' '));
  };
  return { journal, asked, calls, given, leading, snapshots, take };
}

test('remote snapshots - it is given out at its position only, and who asks together shares one question', async () => {
  const s = scene();
  s.take(heard('agents'));
  s.take(heard('agents'), heard('queues'));
  await until('the answers', () => s.calls.length >= 4);
  assert.deepEqual(s.calls.slice(0, 2), ['hold', 8]);
  s.take(heard('agents'));
  assert.equal(s.given.length, 0);
  assert.ok(s.asked.length <= 2);
  s.journal.head = 8;
  s.snapshots.committed();
  assert.ok(s.given.includes('agents@8=["agents",null] queues@8=["queues",null]'), s.given.join('; '));
  s.snapshots.close();
});
test('remote snapshots - no objects are not all objects', async () => {
  const s = scene();
  s.leading.answer = { epoch: 'e', cursor: 5 };
  s.take(heard('agents'));
  s.take(heard('agents', []));
  await until('both', () => {
    s.snapshots.committed();
    return s.given.length === 2;
  });
  assert.deepEqual(s.given.toSorted(), ['agents@5=["agents",[]]', 'agents@5=["agents",null]']);
  s.snapshots.close();
});
test('remote snapshots - an older answer, one of another epoch or none is not given out; who waits may give up', async () => {
  for (const answer of [{ epoch: 'e', cursor: 4 }, { epoch: 'other', cursor: 5 }, null]) {
    const s = scene();
    s.leading.answer = answer;
    let retried = 0;
    const take = (): void => {
      retried += 1;
      assert.equal(s.snapshots.take([heard('agents')], TEXT, take), null);
    };
    take();
    await until('attempts', () => retried > 2);
    assert.ok(s.calls.every((call) => call === 'hold' || call === null));
    s.snapshots.close();
  }
});
