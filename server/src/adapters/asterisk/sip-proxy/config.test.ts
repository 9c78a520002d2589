import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueueConfig, RingGroupConfig } from '@offhook/contract/config-queues.ts';
import { proxyConf } from './config.ts';

test('sip proxy config - the proxy ends no call that still rings by the limits of queues and ring groups', () => {
  const longest = (of: typeof QueueConfig | typeof RingGroupConfig): number =>
    of.shape.ring_seconds.unwrap().maxValue!;
  const group = RingGroupConfig.parse({ name: 'g', number: '550', title: 'G', members: ['1001'] });
  const called = Math.max(longest(QueueConfig), longest(RingGroupConfig));
  // All members of the largest group ring in order.
  const caller = 50 * group.ring_seconds;
  const text = proxyConf(
    { host: '127.0.0.1', port: 5060 },
    { blocked: '/b', modules: '/m', nodes: '/n', control: '/c' },
  );
  for (const [limit, seconds] of [
    [/"fr_inv_timer", (\d+)/, called],
    [/t_set_fr\((\d+), 5000\);\n {2}route\(NAME_SOURCE\)/, caller],
    [/"max_inv_lifetime", (\d+)/, caller],
    [/is_method\("OPTIONS"\)\) t_set_fr\((\d+), 5000\)/, called],
    [/!is_method\("INVITE\|BYE"\)\) t_set_fr\((\d+), 5000\)/, called],
  ] as const) {
    const [, ms] = limit.exec(text) ?? [];
    assert.ok(Number(ms) > seconds * 1_000, `${limit}: ${ms} ms`);
  }
});
