/** The SDK of an integration against the simulator: a call log that must miss nothing, through every fault. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { post, simulated } from '../server/test/support/simulated.ts';
import { until } from '../server/test/support/until.ts';
import { createClient } from './client.ts';
import type { StreamItem } from './events.ts';

test('client - a call log by stream misses no call and doubles none, through every fault of the simulator', async (t) => {
  const simulator = await simulated(t);
  const began = performance.now();
  const offhook = createClient({ base: simulator.base, token: simulator.key });
  const stream = offhook.stream({ topics: ['calls'], snapshot: true });
  t.after(() => stream.close());
  const items: StreamItem[] = [];
  const reading = (async () => {
    for await (const item of stream) items.push(item);
  })();
  t.after(() => reading);
  const count = (type: StreamItem['type']): number => items.filter((item) => item.type === type).length;
  const ends = (id: string): number =>
    items.filter((item) => item.type === 'call.ended' && item.data.call_id === id).length;
  const seen = () => items.map(({ type }) => type);
  /** Plays a call and waits until the log has its end. */
  const logged = async (): Promise<string> => {
    const { calls } = await simulator.play('missed');
    await until('the end of the call', () => ends(calls[0]!) > 0, { seen });
    return calls[0]!;
  };
  await until('the snapshot', () => count('snapshot') === 1);
  const calls = [await logged()];

  await simulator.fault({ fault: 'disconnect' });
  calls.push(await logged());
  await simulator.fault({ fault: 'answer', status: 503, next: 1 });
  await simulator.fault({ fault: 'disconnect' });
  calls.push(await logged());
  await simulator.fault({ fault: 'slow', ms: 50 });
  calls.push(await logged());
  await simulator.fault({ fault: 'slow', ms: 0 });

  await simulator.fault({ fault: 'engine_away' });
  await assert.rejects(offhook.agents.pause('1003', { reason: 'lunch' }), { code: 'engine_unavailable' });
  await simulator.fault({ fault: 'engine_back', restarted: true });
  calls.push(await logged());
  await simulator.fault({ fault: 'command_refused' });
  await assert.rejects(offhook.agents.pause('1003', { reason: 'lunch' }));
  await simulator.fault({ fault: 'command_unanswered' });
  await offhook.agents.pause('1003', { reason: 'lunch' });

  assert.equal(count('gap'), 0);
  await simulator.fault({ fault: 'gap' });
  await until('the gap', () => count('gap') === 1, { seen });
  calls.push(await logged());
  await simulator.fault({ fault: 'epoch' });
  await until('the snapshot of the new epoch', () => count('snapshot') >= 3, { seen });
  calls.push(await logged());

  for (const id of calls) assert.equal(ends(id), 1, id);
  assert.equal(new Set(calls).size, calls.length);
  t.diagnostic(`${Math.round(performance.now() - began)} ms`);
  const answered = await post(simulator, '/simulator/faults', { fault: 'answer', status: 500 });
  assert.equal(answered.status, 200);
  await assert.rejects(offhook.calls.list());
});
