import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '../adapters/memory/virtual-clock.ts';
import { ServiceError } from '../core/errors.ts';
import type { AuditEntry } from '../ports/audit.ts';
import type { Caller } from '../ports/http.ts';
import { AuditedReads, SAME_READ_MS } from './audited-reads.ts';

const LINE = { action: 'exports.download', actor: '1001', object: '1', ip: null };
const callerOf = (person_id: number, session_id: number) => ({ person_id, session_id }) as Caller;
const ME = callerOf(1, 1);

function rig(since: 'first' | 'last' = 'first') {
  const entries: AuditEntry[] = [];
  const trail = { fails: false };
  const clock = createVirtualClock();
  const audit = {
    async record(entry: AuditEntry) {
      await Promise.resolve();
      if (trail.fails) throw new ServiceError('store_unavailable', 'the trail is full');
      entries.push(entry);
    },
  };
  const reads = new AuditedReads({ audit, clock, since });
  return { entries, trail, clock, reads, read: (what = '1', who = ME) => reads.record(who, what, LINE) };
}

test('audited reads - repeats of a session have one entry, also at once; others and later ones have their own', async () => {
  const { entries, clock, read } = rig();
  await Promise.all(Array.from({ length: 40 }, () => read()));
  assert.deepEqual(entries, [{ ...LINE, outcome: 'ok' }]);
  await read('2');
  await read('1', callerOf(1, 2));
  await read('1', callerOf(2, 1));
  assert.equal(entries.length, 4);
  await clock.advance(SAME_READ_MS);
  await read();
  assert.equal(entries.length, 4);
  await clock.advance(1);
  await read();
  assert.equal(entries.length, 5);
});
test('audited reads - the time counts from the first read, or from the last one', async () => {
  for (const [since, count] of [
    ['first', 3],
    ['last', 1],
  ] as const) {
    const { entries, clock, read } = rig(since);
    for (let i = 0; i < 5; i += 1) {
      await read();
      await clock.advance(SAME_READ_MS * 0.6);
    }
    assert.equal(entries.length, count, since);
  }
});
test('audited reads - no read succeeds without an entry, and the next one writes it', async () => {
  const { entries, trail, read } = rig();
  trail.fails = true;
  const all = await Promise.allSettled([read(), read(), read()]);
  assert.ok(all.every(({ status }) => status === 'rejected'));
  trail.fails = false;
  await read();
  assert.equal(entries.length, 1);
});
test('audited reads - the oldest of many is forgotten', async () => {
  const { entries, read } = rig();
  await read('first');
  for (let i = 0; i < 9_999; i += 1) await read(String(i));
  await read('first');
  assert.equal(entries.length, 10_000);
  await read('next');
  await read('first');
  assert.equal(entries.length, 10_002);
});
