import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import type { EngineStatus } from '../ports/engine.ts';
import { enginesFinding, gapText } from './health.ts';

test('health - engines that are not followed, or to which another one cannot send calls, are named', () => {
  const status: Record<string, Partial<EngineStatus>> = {
    a: { link: 'up', unreached: [] },
    b: { link: 'up', unreached: [] },
    c: { link: 'up', unreached: [] },
  };
  let engines = ['b', 'c'];
  const found = () =>
    enginesFinding({
      directory: { config: () => ({ engines: engines.map((node) => ({ node })) }) },
      engine: { node: nodeId('a'), status: (node = nodeId('a')) => status[node] as EngineStatus },
    });
  assert.deepEqual(found(), { ok: true, detail: '' });
  status['a'] = { link: 'up', unreached: ['b'] };
  status['b'] = { link: 'up', unreached: ['a', 'former'] };
  status['c'] = { link: 'down', reason: 'its node does not report', unreached: ['a'] };
  assert.deepEqual(found(), {
    ok: false,
    detail:
      'calls from a do not reach b; calls from b do not reach a; c is not followed: its node does not report',
  });
  engines = [];
  assert.deepEqual(found(), { ok: true, detail: '' }, 'a site with one engine');
});

test('health - the newest gap has its node only at a site with several engines, and if the gap has one', () => {
  const gap = { from: '2026-03-02T09:02:11.000Z', to: '2026-03-02T09:04:38.000Z' };
  const times = `${gap.from} to ${gap.to}`;
  assert.equal(gapText({ ...gap, node: 'ast2' }, true), `${times} at ast2`);
  assert.equal(gapText({ ...gap, node: 'ast1' }, false), times);
  assert.equal(gapText(gap, true), times);
});
