import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import { openMemoryJournal } from '../adapters/memory/journal-store.ts';
import { createVirtualClock } from '../adapters/memory/virtual-clock.ts';
import { ServiceError } from '../core/errors.ts';
import { silent } from '../core/log.ts';
import { until } from '../../test/support/until.ts';
import { presence } from '../../test/support/stream-rig.ts';
import { openJournal } from './journal.ts';
import { keepRetention } from './retention.ts';

const HOUR = 3_600_000;
function rig(t: TestContext, bytes = 1e9, isCopy = false) {
  const clock = createVirtualClock();
  const store = openMemoryJournal();
  const journal = openJournal({ store, node: nodeId('ast1') });
  const stop = new AbortController();
  const done = keepRetention({
    journal,
    spare: () => (isCopy ? journal.head : (journal.checkpoint()?.seq ?? 0)),
    clock,
    log: silent,
    days: 7,
    bytes,
    signal: stop.signal,
  });
  t.after(async () => {
    stop.abort();
    await done;
  });
  return {
    clock,
    store,
    journal,
    happen: (count: number): void => {
      const at = clock.now();
      journal.append(Array.from({ length: count }, () => ({ ...presence('1001'), at })));
    },
    checkpoint: () => void [...journal.saveCheckpoint(['state'])],
  };
}

test('retention - events are kept for seven days and no longer, and the numbering stays', async (t) => {
  const { clock, journal, happen, checkpoint } = rig(t);
  for (let day = 0; day < 8; day += 1) {
    happen(1_200);
    checkpoint();
    assert.equal(journal.tail, 1, `after ${day} days`);
    await clock.advance(24 * HOUR - 120_000);
  }
  await clock.advance(200_000);
  await until('the first day gone', () => journal.tail === 1_201);
  assert.equal(journal.head, 9_600);
  assert.equal(journal.read(0, 1)[0]?.seq, 1_201);
  await clock.advance(24 * HOUR * 30);
  await until('all of them gone', async () => {
    await clock.advance(61_000);
    return journal.tail === 9_601;
  });
  assert.equal(journal.head, 9_600);
  happen(2);
  assert.deepEqual(
    journal.read(9_600, 5).map((row) => row.seq),
    [9_601, 9_602],
  );
});

test('retention - the oldest go first when there is not enough room', async (t) => {
  const { clock, journal, happen, checkpoint } = rig(t, 1_000_000);
  happen(5_000);
  checkpoint();
  const each = journal.bytes / 5_000;
  assert.ok(journal.bytes > 1_500_000);
  await clock.advance(61_000);
  await until('room', () => journal.bytes <= 1_000_000);
  assert.ok(journal.bytes <= 1_000_000 && journal.bytes > 1_000_000 - 600 * each, `${journal.bytes} bytes`);
  assert.equal(journal.head, 5_000);
});

test('retention - rows after the checkpoint are kept, however old or large', async (t) => {
  const { clock, journal, happen, checkpoint } = rig(t, 1_000);
  happen(700);
  checkpoint();
  happen(700);
  await clock.advance(24 * HOUR * 10);
  assert.equal(journal.tail, 701);
  checkpoint();
  await clock.advance(61_000);
  assert.equal(journal.tail, 1_401);
});

test('retention - a copy, which has no checkpoint, keeps no older events either', async (t) => {
  const { clock, journal, happen } = rig(t, 1e9, true);
  happen(700);
  await clock.advance(24 * HOUR * 8);
  await until('all gone', () => journal.tail === 701);
  assert.equal(journal.head, 700);
});

test('retention - a store that rejects is tried again a minute later', async (t) => {
  const { clock, store, journal, happen, checkpoint } = rig(t);
  let locked = true;
  const inner = { ...store };
  store.trim = (below) => {
    if (locked) throw new ServiceError('store_unavailable', 'locked');
    inner.trim(below);
  };
  happen(10);
  checkpoint();
  await clock.advance(24 * HOUR * 8);
  assert.equal(journal.tail, 1);
  locked = false;
  await clock.advance(61_000);
  assert.equal(journal.tail, 11);
});
