import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { T0, at, emitted } from '../../../test/support/queue-story.ts';
import { manualClock } from '../../../test/support/sessions-fixture.ts';
import { openMemoryJournal } from '../../adapters/memory/journal-store.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import { eventOf, openJournal } from '../../journal/journal.ts';
import type { Store } from '../../ports/store.ts';
import { Counter } from './counter.ts';
import { zoneCalendar } from './days.ts';
import { WallboardStore } from './store.ts';

/** `stores`: whether the database has the save that fails. */
for (const stores of [true, false])
  test(`wallboard - a failed save that the database ${stores ? 'has' : 'does not have'} counts each visit once`, async () => {
    await using temp = await temporaryStore();
    let fails = false;
    const breaking: Store = {
      ...temp.store,
      async transaction(work) {
        if (fails && !stores) throw new ServiceError('store_unavailable', 'the database is away');
        const result = await temp.store.transaction(work);
        if (fails) throw new ServiceError('store_unavailable', 'the answer was lost');
        return result;
      },
    };
    const store = await WallboardStore.open(breaking);
    const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
    const calendar = zoneCalendar('Europe/Berlin');
    const clock = manualClock(T0);
    const open = () => Counter.open({ store, journal, eventOf, clock, calendar, log: silent });
    const counter = await open();
    const joins = (minute: number): void => {
      const events = [emitted.joined(at(0, minute), `call ${minute}`)];
      counter.take(journal.append(events), events);
    };
    joins(0);
    await counter.save();
    joins(1);
    fails = true;
    await assert.rejects(counter.save(), /store_unavailable|away|lost/);
    joins(2);
    await assert.rejects(counter.save(), /store_unavailable|away|lost/);
    fails = false;
    joins(3);
    await counter.save();
    const after = await open();
    for (const one of [counter, after])
      assert.equal(one.sumsOfToday('queue', 'support', one.running(clock.now())).joined, 4);
    const days = await temp.store
      .db<{ wallboard_days: { of: string; sums: string } }>()
      .selectFrom('wallboard_days')
      .select('sums')
      .where('of', '=', 'queue')
      .execute();
    assert.deepEqual(
      days.map(({ sums }) => (JSON.parse(sums) as { joined: number }).joined),
      [4],
    );
  });
