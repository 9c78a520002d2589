/** Compares each call of a stopped site's journal with its conversation from the call records, as the service does. */
import assert from 'node:assert/strict';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { agrees, lackOf, storedOf } from '../../src/features/history/proof/compare.ts';
import { Stories } from '../../src/features/history/proof/stories.ts';
import { talkOfStory } from '../../src/features/history/proof/story-records.ts';
import { spokenMs } from '../../src/features/history/record/figures.ts';
import type { Tables } from '../../src/features/history/store/tables.ts';
import { readJournal } from './journal.ts';
import type { Site } from './site.ts';

/** Much less than the service tolerates, because the calls of a test are short. */
const TOLERANCE_MS = 400;
const LISTENING = { isOpen: () => false, overlaps: () => false };

export async function assertProven(site: Site): Promise<void> {
  const stories = new Stories();
  for (const { seq, type, data, observed, time } of readJournal(site))
    stories.take({ type, data, observed, at: Date.parse(time) } as unknown as DomainEvent, seq);
  const store = await site.place.open();
  try {
    const stored = await storedOf(store.db<Tables>(), stories.ended());
    const differences = stories.ended().flatMap((story) => {
      const lack = story.legs.size === 0 ? null : lackOf(story, stored, LISTENING);
      if (lack !== null) return { call: story.call, lack };
      const record = stored.records.get(stored.rootOf.get(story.call) ?? '');
      if (record === undefined || story.partial || agrees(story, record, TOLERANCE_MS)) return [];
      return { call: story.call, journal: talkOfStory(story, 'held too'), records: spokenMs(record) };
    });
    assert.deepEqual(differences, [], 'journal and call records agree about every call');
  } finally {
    await store.close();
  }
}
