import { MAX_NAMED } from '@offhook/contract/phonebook.ts';
import type { PhonebookChange } from '@offhook/contract/phonebook.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { CustomerRow } from './rows.ts';
import { EVERYONE } from './tables.ts';

type Owned = Pick<CustomerRow, 'id' | 'person_id'>;
/** Publishes `phonebook.changed` for committed changes. */
export interface Changes {
  /** A customer that was created (`before` is null), updated or deleted (`after` is null). */
  customer(before: Owned | null, after: Owned | null): void;
  /** Customers of this person that a file or a system outside created or updated. */
  imported(person_id: number, ids: readonly number[]): void;
  /** Customers of this person that one transaction deleted. */
  removed(person_id: number, ids: readonly number[]): void;
}

export function createChanges(deps: {
  readonly clock: Clock;
  readonly directory: Pick<Directory, 'people'>;
  readonly publish: (events: readonly DomainEvent[]) => void;
}): Changes {
  const { clock, directory, publish } = deps;
  function publishChange(person_id: number, change: PhonebookChange['change'], ids: readonly number[]): void {
    const person = directory.people().find(({ id }) => id === person_id);
    // A person who is gone has no topic.
    if (person_id !== EVERYONE && person === undefined) return;
    const extension = person?.extension ?? null;
    publish([
      {
        type: 'phonebook.changed',
        subject: extension === null ? 'phonebook/shared' : `phonebook/mine/${extension}`,
        at: clock.now(),
        observed: 'live',
        data: {
          change,
          extension,
          ids: ids.length > MAX_NAMED ? null : [...ids],
          count: ids.length,
        },
      },
    ]);
  }
  return {
    imported: (person_id, ids) => publishChange(person_id, 'imported', ids),
    removed: (person_id, ids) => publishChange(person_id, 'deleted', ids),
    customer(before, after) {
      if (before !== null && before.person_id === after?.person_id)
        return publishChange(before.person_id, 'updated', [before.id]);
      if (before !== null) publishChange(before.person_id, 'deleted', [before.id]);
      if (after !== null) publishChange(after.person_id, 'created', [after.id]);
    },
  };
}
