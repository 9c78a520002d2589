import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Queue } from '../../core/queue.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Room } from './room.ts';
import type { PhonebookStore } from './store.ts';
import { EVERYONE } from './tables.ts';

export interface DepartedOptions {
  readonly directory: Pick<Directory, 'people' | 'onChange'>;
  readonly log: Log;
  readonly store: Pick<PhonebookStore, 'ofPerson' | 'removeAll'>;
  readonly room: Room;
  /** Runs one change after the other. */
  readonly writes: Queue;
}
/** Customers deleted in one transaction. */
const AT_ONCE = 100;

/**
 * Deletes the personal customers of people whom the site no longer has: only they saw them, and a person who is added later
 * has another id. Shared customers that they looked after stay.
 */
export class Departed {
  readonly #deps: DepartedOptions;
  readonly #stop: () => void;
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(deps: DepartedOptions) {
    this.#deps = deps;
    this.#stop = deps.directory.onChange(() => this.#look());
    this.#look();
  }
  /** Resolves when the current deletion has ended. */
  async idle(): Promise<void> {
    await this.#running;
  }
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    await this.#running;
  }
  #look(): void {
    if (this.#running !== null || this.#next() === undefined) return;
    this.#running = this.#run().finally(() => (this.#running = null));
  }
  /** The next departed person with customers. A directory without people is not loaded yet. */
  #next(): number | undefined {
    const people = new Set(this.#deps.directory.people().map(({ id }) => id));
    if (people.size === 0) return undefined;
    return this.#deps.room.owners().find((id) => id !== EVERYONE && !people.has(id));
  }
  /** Deletes some personal customers of this person; false where there are none left. */
  #removeSome(person_id: number): Promise<boolean> {
    const { store, room, writes } = this.#deps;
    return writes.run(async () => {
      const rows = await store.ofPerson(person_id, 0, AT_ONCE);
      if (rows.length > 0) await store.removeAll(rows.map(({ id }) => id));
      room.count(person_id, -rows.length);
      if (rows.length === AT_ONCE) return true;
      // A wrong count would make `#next` return the same person for ever.
      room.clear(person_id);
      return false;
    });
  }
  async #run(): Promise<void> {
    try {
      for (let id = this.#next(); id !== undefined && !this.#isClosed;) {
        if (!(await this.#removeSome(id))) id = this.#next();
      }
    } catch (error) {
      // The next change of the directory, or the next start, tries again.
      this.#deps.log.warn(
        { error: messageOf(error) },
        'personal customers of removed people could not be deleted; retrying at the next change of people',
      );
    }
  }
}
