import { EVENT_DATA } from '@offhook/contract/events.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { openMemoryJournal } from '../../src/adapters/memory/journal-store.ts';
import { eventOf, openJournal } from '../../src/journal/journal.ts';
import type { RecordingIndex } from '../../src/ports/conversations.ts';
import { NODE } from './history-scene.ts';

const NO_RECORDINGS: Pick<RecordingIndex, 'withRecording'> = {
  withRecording: () => Promise.resolve(new Set()),
};
export type ConversationEvent = Extract<DomainEvent, { type: `conversation.${string}` }>;

/** A journal with a committer, as the loop of an engine; it can delay and reject events. */
export function historyJournal() {
  const journal = openJournal({ store: openMemoryJournal(), node: NODE });
  let listener: (event: DomainEvent) => void = () => {};
  let held: DomainEvent[] | null = null;
  const append = (events: readonly DomainEvent[]): void => {
    for (const event of events) EVENT_DATA[event.type].parse(event.data);
    journal.append(events);
    for (const event of events) listener(event);
  };
  return {
    /** Dependencies of the feature. */
    deps: {
      recordings: NO_RECORDINGS,
      journal,
      feedEpoch: journal.epoch,
      eventOf,
      publish(events: readonly DomainEvent[]) {
        if (held === null) append(events);
        else held.push(...events);
      },
      settled: () => held === null || held.length === 0,
    },
    append,
    /** Sets the listener of committed events. */
    listen(to: { onDomainEvent(event: DomainEvent): void }): void {
      listener = (event) => to.onDomainEvent(event);
    },
    /** From now on, no event is committed. */
    refuse(): void {
      held = [];
    },
    giveUp(): void {
      held &&= [];
    },
    accept(): void {
      const waiting = held ?? [];
      held = null;
      append(waiting);
    },
    conversations: (): readonly ConversationEvent[] =>
      journal
        .read(journal.tail - 1, 100_000)
        .map(eventOf)
        .filter((event): event is ConversationEvent => event.type.startsWith('conversation.')),
  };
}
export type HistoryJournal = ReturnType<typeof historyJournal>;
