import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeaderOfNodes } from './sip-proxy.ts';

test('sip proxy - the node that became ready last leads, and the last one while none is ready', () => {
  const leader = new LeaderOfNodes();
  const answers = [
    { ready: [false, false], leads: null },
    { ready: [true, false], leads: 0 },
    { ready: [false, false], leads: 0 },
    { ready: [true, false], leads: 0 },
    // The former leader has not noticed its end yet.
    { ready: [true, true], leads: 1 },
    { ready: [true, true], leads: 1 },
    { ready: [false, true], leads: 1 },
    { ready: [true, false], leads: 0 },
  ];
  for (const { ready, leads } of answers) assert.equal(leader.next(ready), leads, JSON.stringify(ready));
});
