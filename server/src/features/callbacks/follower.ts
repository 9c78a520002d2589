import type { ConversationChange } from '@offhook/contract/conversation-list.ts';
import { CALLBACK_DAYS } from '@offhook/contract/callbacks.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { DeliveryLoop } from '../../outbound/delivery-loop.ts';
import type { ConversationFeed } from '../../ports/conversations.ts';
import type { Common } from '../../ports/common.ts';
import { callsOf, outsideNumber } from './calls.ts';
import type { CallbackStore, Changed, Reader, ReadCalls } from './store.ts';

export interface FollowerDeps extends Common<'clock' | 'log'> {
  readonly store: CallbackStore;
  readonly feed: ConversationFeed;
  /** Queues whose callbacks this extension sees; null is every queue. */
  readonly queuesOf: (extension: string) => readonly string[] | null;
  /** Publishes what is committed. */
  readonly changed: (changed: readonly Changed[]) => Promise<void>;
}
/** The feed is read at least this often, for changes without an event. */
const POLL_MS = 60_000;
const TIDY_MS = 3_600_000;
const KEPT_MS = CALLBACK_DAYS * 86_400_000;

/** Reads the feed of changes into the store of callbacks, from construction until `close`. */
export class Follower {
  readonly #deps: FollowerDeps;
  readonly #loop: DeliveryLoop;
  #reader: Reader | undefined;
  #tidied = -Infinity;

  constructor(deps: FollowerDeps) {
    const { clock, log } = deps;
    this.#deps = deps;
    this.#loop = new DeliveryLoop({
      step: () => this.#step(),
      trouble: (error) =>
        log.warn({ error: messageOf(error) }, 'conversations could not be read for callbacks; retrying'),
      clock,
    });
  }
  /** Reads the feed now. */
  wake(): void {
    this.#loop.wake();
  }
  close(): Promise<void> {
    return this.#loop.close(AbortSignal.abort());
  }

  async #step(): Promise<void> {
    const { store, clock } = this.#deps;
    this.#reader ??= await store.reader();
    for (let more = true; more && !this.#loop.closed;) more = await this.#readPage(this.#reader);
    if (this.#reader.behind) await this.#removeBehind(this.#reader);
    if (clock.now() - this.#tidied >= TIDY_MS) await this.#tidy();
    await this.#loop.rest((signal) => clock.sleep(POLL_MS, signal));
  }
  async #readPage(reader: Reader): Promise<boolean> {
    const { store, feed, changed } = this.#deps;
    let page;
    try {
      page = await feed.changes(reader.cursor);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'position_unknown') throw error;
      // Rows of conversations that the feed no longer has are deleted after a complete reading.
      this.#reader = { cursor: null, round: reader.round + 1, behind: true };
      await store.advance(this.#reader, []);
      return true;
    }
    if (page.cursor === reader.cursor) return page.more;
    const read: ReadCalls[] = [];
    for (const change of page.changes) read.push(await this.#callsOf(change));
    const next = { ...reader, cursor: page.cursor };
    const some = await store.advance(next, read);
    this.#reader = next;
    await changed(some);
    return page.more;
  }
  async #callsOf({ id, conversation: summary }: ConversationChange): Promise<ReadCalls> {
    const { store, feed, clock, queuesOf } = this.#deps;
    const none = { conversation: id, calls: [] };
    const number = summary === null ? null : outsideNumber(summary);
    if (summary === null || number === null) return none;
    if (Date.parse(summary.started_at) < clock.now() - KEPT_MS) return none;
    // A live call changes often, and matters only to a number with an open callback.
    if (summary.state === 'open' && !(await store.isOpen(number))) return none;
    const conversation = await feed.one(id);
    // A conversation merged since then has a later change in the feed.
    return conversation?.id === id ? { conversation: id, calls: callsOf(conversation, queuesOf) } : none;
  }
  async #removeBehind(reader: Reader): Promise<void> {
    const { store, changed } = this.#deps;
    for (let some = await store.removeBefore(reader.round); some !== null;) {
      await changed(some);
      some = await store.removeBefore(reader.round);
    }
    const next = { ...reader, behind: false };
    await store.advance(next, []);
    this.#reader = next;
  }
  async #tidy(): Promise<void> {
    const { store, clock, changed } = this.#deps;
    const until = clock.now() - KEPT_MS;
    for (let some = await store.removeOlder(until); some !== null;) {
      await changed(some);
      some = await store.removeOlder(until);
    }
    this.#tidied = clock.now();
  }
}
