import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENTRY_RETRY_SECONDS, changed, claimed, doubtOf, opened, settled } from './ledger.ts';
import type { Entry } from './ledger.ts';

const change = {
  connector: 1,
  conversation: 'a:1',
  recording: '',
  change: 1,
  wants: 'entry',
  words: null,
  doubtful: false,
} as const;
const abilities = { once: 'own_id', update: true, remove: true, settle_seconds: 0 } as const;
const sent = { change: 1, hash: '' };

test('connectors - an entry keeps the attempts of its last task, and the next task begins with none', () => {
  const timing = { now: 1_000_000, chance: 0.5 };
  const refused = { kind: 'refused', status: 503, words: 'busy', retry_after_seconds: null } as const;
  const created = { kind: 'done', id: '7' } as const;
  let row: Entry = { ...opened(change, timing.now)!, id: 1 };
  for (const outcome of [refused, created])
    row = settled(claimed(row, timing.now), outcome, sent, abilities, timing);
  assert.deepEqual([row.state, row.attempts], ['sent', 2]);
  row = changed(row, { ...change, change: 2 }, timing.now);
  assert.deepEqual([row.state, row.task, row.attempts], ['waiting', 'update', 0]);
});

test('connectors - a create that the system never answers well is sent later each time, and uncertain in the end', () => {
  const outcome = { kind: 'unknown', status: 500, words: 'it broke', retry_after_seconds: null } as const;
  let now = 1_000_000;
  let row: Entry = { ...opened(change, now)!, id: 1 };
  const delays: number[] = [];
  while (row.state !== 'uncertain' && delays.length < 100) {
    assert.ok(row.state === 'waiting' || doubtOf(row, abilities, now) === 'again', row.state);
    row = settled(claimed(row, now), outcome, sent, abilities, { now, chance: 0.5 });
    delays.push(row.next_at - now);
    now = row.next_at;
  }
  assert.equal(delays.length, ENTRY_RETRY_SECONDS.length + 1);
  assert.ok(
    delays.every((ms, at) => at === 0 || ms > delays[at - 1]!),
    delays.join(),
  );
  assert.match(row.words!, /it broke; look there before/);
});
