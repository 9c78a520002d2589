import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { Queue } from '../../core/queue.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { Room } from './room.ts';
import { createSources } from './sources.ts';
import { createPhonebookStore } from './store.ts';

test('phonebook - customers that a source lacks are deleted by one walk, except those stored meanwhile', async () => {
  await using temp = await temporaryStore();
  const store = await createPhonebookStore(temp.store);
  const clock = createVirtualClock();
  let walked = 0;
  let afterWalk = async (): Promise<void> => undefined;
  const sources = createSources({
    store: {
      ...store,
      async origins(after, limit) {
        const rows = await store.origins(after, limit);
        walked += rows.length;
        if (rows.length === 0) await afterWalk();
        return rows;
      },
    },
    clock,
    changes: { imported: () => undefined, removed: () => undefined },
    room: new Room(new Map()),
    sourceFields: { namesLanguages: () => undefined, of: () => [] },
    writes: new Queue(),
    e164: (number) => number,
    isPerson: () => false,
  });
  const one = (n: number, name = `Person ${n}`) => ({
    external_id: `c${n}`,
    kind: 'person' as const,
    name,
    company: null,
    numbers: [`+4930555500${n}`],
    emails: [],
    vip: false,
    blocked: false,
    url: null,
  });
  const all = [1, 2, 3, 4, 5].map((n) => one(n));
  await sources.store('connector:1', all);
  await sources.store('connector:2', [one(1)]);
  await clock.advance(1_000);
  const since = clock.now();
  const isGone = ({ external_id, updated_at }: { external_id: string | null; updated_at: number }): boolean =>
    external_id !== 'c1' && updated_at < since;
  assert.deepEqual(await sources.removeSome('connector:1', isGone, (n) => n / 2), { all: 5, found: 4 });
  assert.equal(walked, 6);
  walked = 0;
  afterWalk = async () => {
    afterWalk = async () => undefined;
    await sources.store('connector:1', [one(2, 'Changed')]);
  };
  assert.equal(await sources.removeSome('connector:1', isGone, (n) => n), null);
  assert.equal(walked, 6, 'the rows are read once');
  const left = await store.origins(0, 10);
  assert.deepEqual(
    left.map(({ source, external_id }) => `${source} ${external_id}`),
    ['connector:1 c1', 'connector:1 c2', 'connector:2 c1'],
  );
});
