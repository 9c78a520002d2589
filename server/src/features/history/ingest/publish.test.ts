import assert from 'node:assert/strict';
import { test } from 'node:test';
import { historyJournal } from '../../../../test/support/history-journal.ts';
import type { HistoryJournal } from '../../../../test/support/history-journal.ts';
import { batchOf, dying, historyScene, inPieces, recorded } from '../../../../test/support/history-scene.ts';
import type { HistoryScene } from '../../../../test/support/history-scene.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../core/clock.ts';
import { silent } from '../../../core/log.ts';
import type { CallRecord } from '../../../ports/call-records.ts';
import type { Store } from '../../../ports/store.ts';
import { createKnownConversations } from '../query/read.ts';
import { createPublisher } from './publish.ts';
import type { Tables } from '../store/tables.ts';

/** One run of the service over a store and a journal that outlive it. */
async function live(scene: HistoryScene, journal: HistoryJournal, store: Store = scene.store) {
  const deps = { ...journal.deps, store, directory: scene.directory, clock: systemClock, log: silent };
  const publisher = createPublisher(deps);
  journal.listen(publisher);
  await publisher.begin();
  const ingest = scene.restart(store);
  const stop = new AbortController();
  const running = publisher.run(stop.signal);
  return {
    publisher,
    conversations: createKnownConversations(store, publisher.knock),
    async feed(pieces: readonly (readonly CallRecord[])[]) {
      const from = (await ingest.checkpoint())?.offset ?? 0;
      for (const [i, piece] of pieces.entries()) {
        if (i < from) continue;
        await ingest.store(batchOf(piece, i + 1));
        publisher.knock();
      }
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}
const said = (journal: HistoryJournal) =>
  journal.conversations().map((e) => [e.type, e.data.conversation.id, e.data.conversation.revision] as const);
/** Events without those that newer ones may replace, and without the state in `opened`, which may be published late. */
const kept = (journal: HistoryJournal): readonly string[] =>
  said(journal)
    .filter(([type]) => type !== 'conversation.updated')
    .map(([type, id, revision]) => `${type} ${id} ${type === 'conversation.opened' ? '' : revision}`)
    .sort();
/** Waits until every change is published or replaced. */
const settled = async (scene: HistoryScene, journal: HistoryJournal): Promise<void> => {
  const db = scene.store.db<Tables>();
  await until('the newest change in the journal', async () => {
    const row = await db
      .selectFrom('conversations')
      .select((e) => e.fn.max('change').as('change'))
      .executeTakeFirst();
    const newest = journal.conversations().at(-1)?.data.conversation.change ?? 0;
    return newest >= Number(row?.change ?? 0);
  });
};

test('conversation events - opened, updated, finalised; a note or a recording is one more', async () => {
  await using scene = await historyScene();
  const journal = historyJournal();
  await using life = await live(scene, journal);
  const records = recorded('internal-answered');
  const id = records[0]!.call;
  await life.feed([records.slice(0, 4)]);
  await settled(scene, journal);
  await life.feed([[], records.slice(4)]);
  await settled(scene, journal);
  await life.conversations.touch([id, 'ast1:0.0']);
  await settled(scene, journal);
  assert.deepEqual(said(journal), [
    ['conversation.opened', id, 0],
    ['conversation.finalised', id, 1],
    ['conversation.updated', id, 1],
  ]);
  const changes = journal.conversations().map((e) => e.data.conversation.change);
  assert.deepEqual(changes, [1, 2, 3]);
  assert.deepEqual(journal.conversations()[1]!.data.extensions, ['1001', '1002']);
});

test('conversations of other features - the extensions that talked are apart from those that only rang', async () => {
  await using scene = await historyScene();
  const records = recorded('queue-answered');
  await scene.feed(...records);
  const conversations = createKnownConversations(scene.store, () => {});
  const [call] = records.map((record) => record.call);
  const known = await conversations.byCall(call!);
  assert.deepEqual(known?.extensions, ['1001', '1003', '1004']);
  assert.deepEqual(known?.talkers, ['1001', '1004']);
  const talkedIn = async (...extensions: string[]) => [
    ...(await conversations.talkedIn([call!, 'ast1:9.9'], extensions)),
  ];
  assert.deepEqual(await talkedIn('1004', '1005'), [call]);
  assert.deepEqual(await talkedIn('1003'), []);
  assert.deepEqual(await talkedIn(), []);
});

test('conversation events - replaced changes are published once, opened and finalised always', async () => {
  await using scene = await historyScene();
  const journal = historyJournal();
  const records = recorded('internal-answered');
  const id = records[0]!.call;
  await scene.feed(...records.slice(0, 4));
  await scene.restart().store(batchOf(records.slice(4, 6), 2));
  await scene.feed(...records);
  const known = createKnownConversations(scene.store, () => {});
  await known.touch([id]);
  await known.touch([id]);
  await using _ = await live(scene, journal);
  await settled(scene, journal);
  assert.deepEqual(said(journal), [
    ['conversation.opened', id, 0 + 1],
    ['conversation.finalised', id, 1],
    ['conversation.updated', id, 1],
  ]);
});

test('conversation events - events delayed by the journal are published once, rejected ones again', async () => {
  await using scene = await historyScene();
  const journal = historyJournal();
  await using life = await live(scene, journal);
  journal.refuse();
  await life.feed([recorded('echo')]);
  await systemClock.sleep(600);
  journal.accept();
  await settled(scene, journal);
  journal.refuse();
  await life.feed([[], recorded('internal-answered')]);
  await systemClock.sleep(20);
  journal.giveUp();
  journal.accept();
  await settled(scene, journal);
  assert.deepEqual(
    said(journal).map(([type, , revision]) => [type, revision]),
    [
      ['conversation.finalised', 1],
      ['conversation.finalised', 1],
    ],
  );
  assert.equal(new Set(said(journal).map(([, id]) => id)).size, 2);
});

test('conversation events - a store restored from a copy continues after the published events', async () => {
  await using scene = await historyScene();
  const journal = historyJournal();
  {
    await using life = await live(scene, journal);
    await life.feed([recorded('echo'), recorded('internal-answered')]);
    await settled(scene, journal);
  }
  await scene.clear();
  await using life = await live(scene, journal);
  await life.feed([recorded('queue-abandoned')]);
  await settled(scene, journal);
  const changes = journal.conversations().map((e) => e.data.conversation.change);
  assert.deepEqual(changes, [1, 2, 3]);
});

test('conversation events - killed at any statement or publication: the same events, none lost, none twice', async () => {
  await using scene = await historyScene();
  const records = [...recorded('attended-transfer'), ...recorded('internal-answered')];
  const pieces = inPieces(records, 13);
  const undisturbed = historyJournal();
  {
    await using life = await live(scene, undisturbed);
    for (let i = 1; i <= pieces.length; i += 1) {
      await life.feed(pieces.slice(0, i));
      await settled(scene, undisturbed);
    }
  }
  const conversations = await scene.conversations();
  const expected = kept(undisturbed);
  assert.equal(expected.length, 5, JSON.stringify(expected));
  for (let n = 1; ; n += 1) {
    await scene.clear();
    const journal = historyJournal();
    const { store, died, step } = dying(scene.store, n);
    const killed = {
      ...journal,
      deps: {
        ...journal.deps,
        publish(events: Parameters<typeof journal.deps.publish>[0]) {
          step();
          journal.deps.publish(events);
          step();
        },
      },
    };
    try {
      await using life = await live(scene, killed, store);
      for (let i = 1; i <= pieces.length; i += 1) {
        await life.feed(pieces.slice(0, i));
        await until('an event or a death', async () => died() || (await isPublished(scene, journal)), {
          every: 1,
        });
      }
    } catch (error) {
      assert.ok(died(), String(error));
    }
    await using life = await live(scene, journal);
    await life.feed(pieces);
    await settled(scene, journal);
    assert.deepEqual(kept(journal), expected, `killed at ${n}`);
    assert.deepEqual(await scene.conversations(), conversations, `killed at ${n}`);
    if (!died()) {
      assert.ok(n > 50, `only ${n} steps: the failure was never injected`);
      break;
    }
  }
});
async function isPublished(scene: HistoryScene, journal: HistoryJournal): Promise<boolean> {
  const row = await scene.store
    .db<Tables>()
    .selectFrom('conversations')
    .select((e) => e.fn.max('change').as('change'))
    .executeTakeFirst();
  return (journal.conversations().at(-1)?.data.conversation.change ?? 0) >= Number(row?.change ?? 0);
}
