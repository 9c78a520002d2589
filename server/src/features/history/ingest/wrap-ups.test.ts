import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { dying, historyScene, recorded } from '../../../../test/support/history-scene.ts';
import { openMemoryJournal } from '../../../adapters/memory/journal-store.ts';
import { eventOf, openJournal } from '../../../journal/journal.ts';
import { readFact } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import { createWrapUps } from './wrap-ups.ts';

const AT = Date.UTC(2026, 10, 21, 9);
const agent = (type: string, at: number, engagement: string, more: object = {}, since = at): DomainEvent =>
  ({
    type,
    subject: 'agents/1002',
    at: AT + at,
    observed: 'live',
    data: { extension: '1002', agent: { engagement, since: new Date(AT + since).toISOString() }, ...more },
  }) as unknown as DomainEvent;
const until = (at: number) => ({ deadline: new Date(AT + at).toISOString() });
const wrapUp = (at: number, call_id: string | null, deadline = at + 30_000, since = at): DomainEvent =>
  agent('agent.wrap_up', at, 'wrap_up', { queue: 'support', call_id, ...until(deadline) }, since);

test('wrap-ups - stored at their end, and their conversation is appended to the feed', async () => {
  await using scene = await historyScene();
  await scene.feed(...recorded('queue-answered'));
  const call = (await scene.conversations())[0]!.root;
  const events = [
    agent('agent.talking', 0, 'talking'),
    wrapUp(5_000, call),
    agent('agent.wrap_up_extended', 6_000, 'wrap_up', until(60_000)),
    agent('agent.ready', 12_500, 'idle'),
    wrapUp(20_000, null),
    agent('agent.ready', 21_000, 'idle'),
    // The next queue call follows immediately.
    wrapUp(30_000, 'ast1:9.9'),
    wrapUp(40_000, call),
    agent('agent.logged_out', 41_000, 'idle'),
    // Its start was missed, its end is reported only after the deadline, and the phone is gone meanwhile.
    wrapUp(50_000, call, 60_000, 48_000),
    agent('agent.unreachable', 55_000, 'unreachable'),
    agent('agent.wrap_up_extended', 56_000, 'wrap_up', until(70_000)),
    agent('agent.ready', 3_600_000, 'idle'),
  ];
  const db = scene.store.db<Tables>();
  const kept = async () =>
    (await db.selectFrom('conversation_wrap_ups').selectAll().orderBy('from_ms').execute()).map((w) => [
      w.call,
      w.extension,
      w.queue,
      w.from_ms - AT,
      w.to_ms - AT,
    ]);
  const expected = [
    [call, '1002', 'support', 5_000, 12_500],
    ['ast1:9.9', '1002', 'support', 30_000, 40_000],
    [call, '1002', 'support', 40_000, 41_000],
    [call, '1002', 'support', 48_000, 70_000],
  ];
  // Also with a restart before every event and a failing statement in it.
  for (let n = 1; n < 12; n += 1) {
    await db.deleteFrom('conversation_wrap_ups').execute();
    await db.deleteFrom('history_facts').where('key', '=', 'wrap_ups').execute();
    const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
    const { store } = dying(scene.store, n);
    await createWrapUps({ store, journal, eventOf }).catchUp();
    for (const event of events) {
      journal.append([event]);
      await createWrapUps({ store, journal, eventOf })
        .catchUp()
        .catch(() => {});
    }
    const wrapUps = createWrapUps({ store: scene.store, journal, eventOf });
    await wrapUps.catchUp();
    assert.deepEqual(await kept(), expected, `a failure at ${n}`);
    const before = await db.selectFrom('conversations').select('change').executeTakeFirst();
    await wrapUps.catchUp();
    assert.deepEqual(await db.selectFrom('conversations').select('change').executeTakeFirst(), before);
    assert.ok(before!.change >= 1 + n, 'it came again');
  }
});

test('wrap-ups - the position in the journal is stored at a site without wrap-ups, however few rows come at once', async () => {
  await using scene = await historyScene();
  const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
  const wrapUps = createWrapUps({ store: scene.store, journal, eventOf });
  const some = Array.from({ length: 400 }, (_, i) => agent('agent.talking', i, 'talking'));
  for (let rows = 0; rows < 6_000; rows += some.length) {
    journal.append(some);
    await wrapUps.catchUp();
  }
  const place = JSON.parse((await readFact(scene.store.db<Tables>(), 'wrap_ups')) ?? 'null') as {
    seq: number;
  } | null;
  assert.ok(place !== null && place.seq >= 5_000, `stored ${place?.seq} of ${journal.head}`);
});
