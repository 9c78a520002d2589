import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../core/errors.ts';
import type { LiveCall, LiveView } from '../../ports/live.ts';
import { createSipCalls } from './sip-calls.ts';

const PORTS: Readonly<Record<string, readonly number[]>> = {
  a: [4001],
  b: [4002],
  c: [4001],
  d: [],
  e: [4001],
};
const leg = (id: string, endpoint: string | null) => ({ id, endpoint });
const calls = [
  { legs: [leg('a', '1008-web'), leg('c', '1009-web')] },
  { legs: [leg('b', '1008-web'), leg('d', '1008-web'), leg('e', '1008')] },
] as unknown as LiveCall[];

test('calls - those of the devices that began over these connections end; one that has just ended is no failure', async () => {
  const ended: string[] = [];
  let isLive = true;
  const view = {
    get live() {
      return isLive;
    },
    calls: () => calls,
    device: (endpoint: string) => (endpoint === '1008-web' ? { state: 'INUSE' } : undefined),
  } as unknown as LiveView;
  const sip = createSipCalls(view, {
    sipPortsOf: async (id) => PORTS[id] ?? [],
    async hangup(id) {
      ended.push(id);
      throw new ServiceError('engine_refused', 'no such channel');
    },
  });
  await sip.endOver(new Set(['1008-web', '1008']), new Set([4001]));
  assert.deepEqual(ended, ['a', 'e']);
  isLive = false;
  await assert.rejects(sip.endOver(new Set(['1008-web']), new Set([4001])), { code: 'engine_unavailable' });
  assert.deepEqual([sip.mayTalk('1008-web'), sip.mayTalk('unknown')], [true, true]);
});
