import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../core/errors.ts';
import type { AuditEntry } from '../ports/audit.ts';
import { audited } from './audited.ts';

const LINE = { action: 'sounds.upload', actor: '1001', object: 'a', ip: null, detail: { bytes: 7 } };
/** A trail that stores at most `room` entries. */
function trailOf(room = Infinity) {
  const entries: AuditEntry[] = [];
  return {
    entries,
    async record(entry: AuditEntry) {
      if (entries.length >= room) throw new ServiceError('store_unavailable', 'the trail is full');
      entries.push(entry);
    },
  };
}
const fails = (error: Error) => async () => {
  throw error;
};
const FULL = new ServiceError('storage_full', 'the disk is full');

test('audited - work that is done has one entry, written before it', async () => {
  const trail = trailOf();
  assert.equal(await audited(trail, LINE, async () => trail.entries.length), 1);
  assert.deepEqual(trail.entries, [{ ...LINE, outcome: 'ok' }]);
});
test('audited - work that fails has a second entry with the reason', async () => {
  for (const [error, outcome, code] of [
    [FULL, 'failed', 'storage_full'],
    [new ServiceError('limit_reached', 'too many'), 'refused', 'limit_reached'],
    [new Error('EIO'), 'failed', 'internal'],
  ] as const) {
    const trail = trailOf();
    await assert.rejects(audited(trail, LINE, fails(error)), error);
    assert.deepEqual(trail.entries[1], { ...LINE, outcome, detail: { bytes: 7, code } });
  }
});
test('audited - nothing is done without an entry', async () => {
  await assert.rejects(audited(trailOf(0), LINE, fails(FULL)), { code: 'store_unavailable' });
});
test('audited - the error of the work is thrown, also where its entry cannot be stored', async () => {
  await assert.rejects(audited(trailOf(1), LINE, fails(FULL)), { code: 'storage_full' });
});
