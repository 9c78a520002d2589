import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ENTRY_RETRY_SECONDS,
  changed,
  claimed,
  doubtOf,
  opened,
  settled,
  unneeded,
  unprepared,
} from './ledger.ts';
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
const sent = { change: 1, hash: '', doubtful: false };

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

test('connectors - a create in doubt stays in doubt where later attempts do not reach the system, and is never sent anew', () => {
  const header = { ...abilities, once: 'header' } as const;
  const timing = { now: 1_000_000, chance: 0.5 };
  const failed = { words: 'busy', retry_after_seconds: null } as const;
  const lost = { kind: 'unknown', status: 500, ...failed } as const;
  const first: Entry = { ...opened(change, timing.now)!, id: 1 };
  const doubtful = settled(claimed(first, timing.now), lost, sent, header, timing);
  assert.equal(doubtOf(doubtful, header, timing.now), 'again');
  const late = timing.now + 3 * 3_600_000;
  const again = { ...sent, doubtful: true };
  const outcomes = [
    { kind: 'unsent', status: 503, ...failed },
    { kind: 'refused', status: 403, ...failed },
    { kind: 'disconnected', status: 401, ...failed },
  ] as const;
  for (const outcome of outcomes) {
    const row = settled(claimed(doubtful, timing.now), outcome, again, header, timing);
    assert.deepEqual([row.state, doubtOf(row, header, late)], ['unknown', 'uncertain'], outcome.kind);
    assert.equal(settled(claimed(first, timing.now), outcome, sent, header, timing).state, 'waiting');
  }
  const refused = { kind: 'refused', status: 409, ...failed } as const;
  let row = settled(claimed(doubtful, timing.now), refused, again, header, timing);
  assert.deepEqual(
    [row.state, changed(row, { ...change, change: 2 }, late).state],
    ['uncertain', 'uncertain'],
  );
  row = doubtful;
  for (let n = 0; row.state === 'unknown' && n < 100; n += 1) row = unprepared(row, outcomes[1], timing);
  assert.equal(row.state, 'uncertain');
  assert.match(row.words!, /busy; look there before/);
});

test('connectors - an entry that the system had already is updated, because it may hold what an earlier attempt sent', () => {
  const timing = { now: 1_000_000, chance: 0.5 };
  const first: Entry = { ...opened(change, timing.now)!, id: 1 };
  const after = (outcome: { existed?: boolean }, doubtful: boolean, able = abilities) =>
    settled(
      claimed(first, timing.now),
      { kind: 'done', id: '7', ...outcome },
      { ...sent, doubtful },
      able,
      timing,
    );
  for (const row of [after({ existed: true }, false), after({}, true)])
    assert.deepEqual(
      [row.state, row.task, row.remote_id, row.sent_hash, row.next_at],
      ['waiting', 'update', '7', null, timing.now],
    );
  assert.equal(after({ existed: false }, false).state, 'sent');
  const fixed = { ...abilities, update: false } as unknown as typeof abilities;
  assert.equal(after({ existed: true }, true, fixed).state, 'sent', 'a system without updates');
});

test('connectors - an entry that is not wanted any more while its create is in doubt is uncertain, not forgotten', () => {
  const timing = { now: 1_000_000, chance: 0.5 };
  const lost = { kind: 'unknown', status: 500, words: 'it broke', retry_after_seconds: null } as const;
  const first: Entry = { ...opened(change, timing.now)!, id: 1 };
  const doubtful = settled(claimed(first, timing.now), lost, sent, abilities, timing);
  const erased = (row: Entry) => unneeded(row, 2, 'not_wanted', 'it was erased');
  assert.equal(erased(doubtful).state, 'uncertain');
  assert.equal(erased({ ...first, state: 'unknown' }).state, 'not_wanted', 'it was never sent');
});
