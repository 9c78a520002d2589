import type { ConversationChange } from '@offhook/contract/conversation-list.ts';
import type { ConnectorState } from '@offhook/contract/connectors.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { untilDone } from '../../core/retry.ts';
import { DeliveryLoop } from '../../outbound/delivery-loop.ts';
import { retryDelay } from '../../outbound/schedule.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ConversationFeed } from '../../ports/conversations.ts';
import type { RecordingAudio } from '../../ports/recordings.ts';
import { Attacher } from './attacher.ts';
import { aboutOf, emptySubject } from './entry-about.ts';
import type { About, AboutFailure, AboutParts } from './entry-about.ts';
import type { ConnectorEntries, ConnectorSession, EntrySubject } from './format/session.ts';
import type { ConnectorFailure } from './format/requests.ts';
import * as ledger from './ledger.ts';
import { AWAY_SECONDS } from './ledger.ts';
import type { Abilities, Change, Entry, NewEntry, Outcome } from './ledger.ts';
import type { Directory } from './people.ts';
import type { ConnectorRow, ConnectorStore, DueOrder } from './store.ts';

export interface KeeperDeps {
  readonly store: ConnectorStore;
  readonly feed: ConversationFeed;
  readonly clock: Clock;
  readonly log: Log;
  readonly chance: () => number;
  readonly people: Directory;
  readonly publicUrl: string;
  readonly audit: Required<Audit>;
  /** Audio of stored recordings. */
  readonly audio: RecordingAudio;
}
export interface KeeperOptions extends KeeperDeps {
  /** Limit of concurrent requests in the connector's file. */
  readonly at_once: number;
}
/** Why a connector sends nothing now. */
export interface Away {
  readonly state: Extract<ConnectorState, 'away' | 'disconnected'>;
  /** True if the last check succeeded, so that the system answers and only entries fail. */
  readonly answers: boolean;
  readonly words: string;
  readonly since: number;
  /** Time of the last failure, and of the next check. */
  readonly at: number;
  readonly until: number;
  readonly failures: number;
}
/** Longest interval between reads of the feed, because some changes have no event. */
const POLL_MS = 60_000;
/** Number of due entries that are read at once, so that a backlog is not read again for each entry. */
const READ_AHEAD = 30;
/** Number of failed entries that are kept at once; then all entries wait, and later ones are tried next. */
const MAX_PASSED = 100;

/** Request of an entry that failed: a search before it, or the request of its task. */
type Failing = 'search' | 'send';
/** Position in the feed of changes, and the time from which entries may exist in the system already. */
type Position = Pick<ConnectorRow, 'cursor' | 'doubt_ms'>;
const isFailure = (value: About | AboutFailure | null): value is AboutFailure =>
  value !== null && 'kind' in value;

/**
 * Makes the entries of one connector follow the feed of changes, until `close`. It sends several entries at once while
 * the system accepts them, but one at a time after a start and a failure, so that an outage leaves few in doubt.
 */
export class EntryKeeper {
  readonly #row: ConnectorRow;
  readonly #session: ConnectorSession;
  readonly #about: AboutParts;
  readonly #entries: ConnectorEntries;
  readonly #abilities: Abilities;
  readonly #deps: KeeperDeps;
  readonly #loop: DeliveryLoop;
  readonly #attacher: Attacher | null;
  /** Limit of concurrent entries; one request of the file's limit stays free for other ranks. */
  readonly #most: number;
  #position: Position;
  #resumed = false;
  /** Time of the next read of the feed. */
  #readAt = 0;
  #away: Away | null = null;
  /** Number of entries that may be sent at once now: 1 or `#most`. */
  #room = 1;
  readonly #underWay = new Map<number, Promise<void>>();
  /** Due entries that were read and not begun; one that changes meanwhile is not sent (`decideAs`). */
  #ahead: readonly Entry[] = [];
  /** True after a check that succeeded, until the next step: an entry that fails now does not fail because of an outage. */
  #checked = false;
  /**
   * Entries that failed right after a check, so that others go first. Their failure counts as an attempt once the system
   * has processed such a request for another entry; if all due entries fail, all wait, and then new ones go first.
   */
  readonly #passed = new Map<
    number,
    { readonly row: Entry; readonly failure: ConnectorFailure; readonly at: Failing }
  >();
  /** The last of them; entries that are due later are tried next. Null: those that are due first. */
  #after: DueOrder | null = null;
  /** Number of times, one after the other, that all due entries failed, the first one at this request. */
  readonly #rounds = { search: 0, send: 0 };
  /** Error of an entry in progress, for the loop. */
  #thrown: { readonly error: unknown } | null = null;

  constructor(row: ConnectorRow, session: ConnectorSession, entries: ConnectorEntries, deps: KeeperOptions) {
    this.#row = row;
    this.#session = session;
    this.#about = { ...deps, connector: row.id, session, entries };
    this.#entries = entries;
    this.#abilities = {
      once: entries.once,
      update: entries.updates,
      remove: entries.removes,
      settle_seconds: entries.settle_seconds,
    };
    this.#deps = deps;
    // A connector with attachments also sends one recording at a time.
    this.#most = Math.max(1, deps.at_once - (session.attachments === null ? 1 : 2));
    this.#position = { cursor: row.cursor, doubt_ms: row.doubt_ms };
    const { clock, log } = deps;
    this.#loop = new DeliveryLoop({
      step: () => this.#step(),
      end: async () => void (await Promise.all(this.#underWay.values())),
      trouble: (error) =>
        log.warn({ connector: row.id, error: messageOf(error) }, 'a connector could not continue; retrying'),
      clock,
    });
    this.#attacher =
      session.attachments &&
      new Attacher({
        ...deps,
        connector: row.id,
        attachments: session.attachments,
        settle_seconds: entries.settle_seconds,
        isAway: () => this.#away !== null,
        check: (signal) => session.check(signal),
        leave: (failure, isKnown) => {
          this.#leave(failure, isKnown);
          this.#loop.wake();
        },
      });
  }
  /** Newer than the position of the row with which the keeper was opened. */
  get position(): Position {
    return this.#position;
  }
  get away(): Away | null {
    return this.#away;
  }
  /** Why recordings wait although the system answers; null if they do not. */
  get trouble(): string | null {
    return this.#attacher?.trouble ?? null;
  }
  /** Makes the keeper read feed and ledger now. */
  wake(): void {
    this.#readAt = 0;
    this.#loop.wake();
    this.#attacher?.wake();
  }
  /** Call after the system answered a test: continues with waiting entries. */
  back(): void {
    this.#isChecked(true);
    this.wake();
  }
  async close(grace: AbortSignal): Promise<void> {
    await Promise.all([this.#loop.close(grace), this.#attacher?.close(grace)]);
  }

  async #step(): Promise<void> {
    const { clock } = this.#deps;
    if (this.#thrown !== null) {
      const { error } = this.#thrown;
      this.#thrown = null;
      throw error;
    }
    if (!this.#resumed) await this.#resume();
    const now = clock.now();
    // A later time than the longest interval means that the clock was set back.
    if (now >= this.#readAt || this.#readAt - now > POLL_MS) {
      this.#readAt = now + POLL_MS;
      await this.#follow().catch((error: unknown) => {
        this.#readAt = 0;
        throw error;
      });
    }
    if (this.#away !== null && !(await this.#isBack(this.#away))) return;
    let isFirst = this.#checked;
    this.#checked = false;
    let next = this.#readAt;
    if (this.#ahead.length === 0 && this.#underWay.size < this.#room)
      next = Math.min(next, await this.#readAhead());
    if (this.#loop.closed) return;
    const idle = this.#underWay.size === 0;
    const isEnd = this.#ahead.length === 0 || this.#passed.size >= MAX_PASSED;
    if (idle && isEnd && this.#passed.size > 0 && !isFirst) return this.#allFailed();
    if (idle && this.#ahead.length === 0 && this.#after !== null) {
      // No other entry is due, so those that were passed over are tried again.
      this.#passOverNone();
      next = Math.min(next, await this.#readAhead());
    }
    for (const row of this.#ahead) {
      if (this.#underWay.size >= this.#room) break;
      this.#ahead = this.#ahead.slice(1);
      this.#begin(row, isFirst);
      isFirst = false;
    }
    await this.#loop.rest((signal) => clock.sleep(Math.max(0, next - clock.now()), signal));
  }
  /** Reads due entries that are to be tried next; returns the time when another one is due. */
  async #readAhead(): Promise<number> {
    const { store, clock } = this.#deps;
    const most = this.#underWay.size + READ_AHEAD;
    const due = await store.due(this.#row.id, 'entry', clock.now(), most, this.#after);
    this.#ahead = due.rows.filter(({ id }) => !this.#underWay.has(id));
    return due.next_at ?? Infinity;
  }
  #passOverNone(): void {
    this.#passed.clear();
    this.#after = null;
  }
  /** Starts the work for an entry; its end wakes the loop. */
  #begin(row: Entry, isFirst: boolean): void {
    const work = this.#handle(row, isFirst)
      .catch((error: unknown) => void (this.#thrown = { error }))
      .then(() => {
        this.#underWay.delete(row.id);
        this.#loop.wake();
      });
    this.#underWay.set(row.id, work);
  }
  /** Marks entries as in doubt if the result of their request was not stored before the service ended. */
  async #resume(): Promise<void> {
    const { store, clock } = this.#deps;
    for (const { id } of await store.sending(this.#row.id, 'entry'))
      await store.decide(id, (row) => ledger.interrupted(row, this.#abilities, clock.now()));
    this.#resumed = true;
  }

  async #follow(): Promise<void> {
    for (let more = true; more && !this.#loop.closed;) {
      const page = await this.#read();
      if (page === null) continue;
      const position = { ...this.#position, cursor: page.cursor };
      const ids = page.changes.map(({ id }) => id);
      let isNew = false;
      if (page.cursor !== this.#position.cursor)
        await this.#deps.store.advance(this.#row.id, position, ids, (rows) => {
          const noted = page.changes.flatMap((change) => this.#noted(change, rows.get(change.id)));
          isNew = noted.some(({ state }) => state === 'waiting');
          return noted;
        });
      if (isNew) this.#waitLess();
      this.#position = position;
      ({ more } = page);
    }
  }
  /**
   * Shortens the wait after all entries failed, because a new one shows whether the system refuses all of them. The
   * more have failed, the less likely that is.
   */
  #waitLess(): void {
    const away = this.#away;
    if (away?.answers !== true) return;
    const until = away.at + AWAY_SECONDS[0] * 1_000 * Math.max(1, this.#passed.size);
    this.#away = { ...away, until: Math.min(away.until, until) };
  }
  /** Next page of the feed; null if the feed must be read from its beginning. */
  async #read(): Promise<Awaited<ReturnType<ConversationFeed['changes']>> | null> {
    try {
      return await this.#deps.feed.changes(this.#position.cursor);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'position_unknown') throw error;
      // The ledger may have lost rows together with the feed, so entries may exist that it does not contain.
      this.#position = { cursor: null, doubt_ms: this.#deps.clock.now() };
      this.#deps.log.warn(
        { connector: this.#row.id },
        'the position in the feed of changes was lost: a connector reads the feed from the beginning',
      );
      return null;
    }
  }
  #noted(
    { id, change, merged_into, conversation }: ConversationChange,
    before: Entry | undefined,
  ): (Entry | NewEntry)[] {
    const now = this.#deps.clock.now();
    const base = { connector: this.#row.id, conversation: id, recording: '', change, doubtful: false };
    if (conversation === null) {
      const words = merged_into === null ? 'it was merged' : `it was merged into ${merged_into}`;
      return before === undefined ? [] : [ledger.changed(before, { ...base, wants: 'none', words }, now)];
    }
    if (conversation.state === 'open') return [];
    const began = Date.parse(conversation.started_at);
    const keeps = !this.#abilities.remove && before?.remote_id != null;
    const none = conversation.erased && !keeps;
    const wants: Change = {
      ...base,
      wants: none ? 'none' : 'entry',
      words: none ? 'it was erased' : null,
      doubtful: began < this.#position.doubt_ms,
    };
    if (before !== undefined) return [ledger.changed(before, wants, now)];
    const fresh = began < this.#row.from_ms ? null : ledger.opened(wants, now);
    return fresh === null ? [] : [fresh];
  }

  /** Waits while the system is away, then checks it. */
  async #isBack(away: Away): Promise<boolean> {
    const { clock } = this.#deps;
    const ms = away.until - clock.now();
    // A failure in the future means that the clock was set back.
    if (ms > 0 && away.at <= clock.now()) {
      await this.#loop.rest((signal) => clock.sleep(Math.min(ms, POLL_MS), signal));
      return false;
    }
    const checked = await this.#session.check(this.#loop.broken);
    if (this.#loop.broken.aborted) return false;
    this.#isChecked(checked.kind === 'done');
    if (checked.kind === 'done') return true;
    this.#stayAway(checked, false);
    return false;
  }
  /** After a check. A failed one explains earlier failures of entries, which then do not count. */
  #isChecked(works: boolean): void {
    this.#checked = works;
    if (works) {
      this.#away = null;
      this.#attacher?.wake();
    } else {
      this.#passOverNone();
      this.#rounds.search = 0;
      this.#rounds.send = 0;
    }
  }
  /**
   * Several concurrent entries may fail; only the first failure counts. `isKnown`: the entry has failed on its own
   * before. `answers`: a check succeeded right before.
   */
  #leave(failure: ConnectorFailure, isKnown = false, answers = false): void {
    this.#room = 1;
    // The failed entry is the first one after the next check.
    this.#ahead = [];
    if (this.#away !== null) return;
    const fails = isKnown || this.#passed.size > 0 || this.#failedRounds > 0;
    // Without a status, the system itself may be down.
    const isOwn = answers || (fails && failure.status !== null);
    this.#stayAway(failure, isOwn && failure.retry_after_seconds === null);
  }
  get #failedRounds(): number {
    return Math.max(this.#rounds.search, this.#rounds.send);
  }
  #stayAway({ kind, words, retry_after_seconds }: ConnectorFailure, answers: boolean): void {
    const now = this.#deps.clock.now();
    const failures = (this.#away?.failures ?? this.#failedRounds) + 1;
    const step = Math.min(failures, AWAY_SECONDS.length);
    this.#away = {
      state: kind === 'disconnected' ? 'disconnected' : 'away',
      answers,
      words: answers ? `entries fail although the check succeeds: ${words}` : words,
      since: this.#away?.since ?? now,
      at: now,
      until: now + retryDelay(AWAY_SECONDS, step, retry_after_seconds, this.#deps.chance())!,
      failures,
    };
  }

  /** `isFirst`: it is the first entry after a check that succeeded. */
  async #handle(row: Entry, isFirst: boolean): Promise<void> {
    const { clock } = this.#deps;
    const doubt = row.state === 'unknown' ? ledger.doubtOf(row, this.#abilities, clock.now()) : null;
    if (doubt === 'uncertain') {
      const words = row.words ?? 'the ledger was lost, so the entry may exist';
      await this.#put(row, (now) => ledger.uncertain(now, words));
      return;
    }
    const about = await aboutOf(row, this.#about, this.#loop.broken);
    if (this.#loop.closed) return;
    if (isFailure(about))
      return about.whole ? this.#leave(about) : this.#failed(row, about, isFirst, 'search');
    if (about?.searched) await this.#works('search');
    await this.#attacher?.want(row, about?.words === null ? about.conversation : null);
    if (doubt === 'find') return this.#find(row, about, isFirst);
    if (about === null || about.words !== null) {
      const words = about?.words ?? 'the conversation is gone';
      if (row.task === 'remove' && row.remote_id !== null) return this.#send(row, about, isFirst);
      if (row.remote_id === null) {
        await this.#put(row, (now) => ledger.unneeded(now, now.wanted_change, 'not_wanted', words));
        return;
      }
      await this.#put(row, (now) => ledger.unwanted(now, words, clock.now()));
      return;
    }
    const stands = row.task === 'update' && (!this.#abilities.update || about.hash === row.sent_hash);
    if (stands) await this.#put(row, (now) => ledger.unneeded(now, about.change, 'sent', null));
    else await this.#send(row, about, isFirst);
  }
  #put(read: Entry, decide: (row: Entry) => Entry): Promise<Entry | null> {
    return this.#deps.store.decideAs(read, decide);
  }
  /** A request of the entry failed without counting as an attempt. */
  async #failed(row: Entry, failure: ConnectorFailure, isFirst: boolean, at: Failing): Promise<void> {
    // An earlier attempt counted, so the entry has failed while the system worked.
    const isKnown = row.attempts > 0;
    if (failure.kind !== 'refused' && !isFirst) this.#leave(failure, isKnown);
    else if (failure.kind === 'refused' || isKnown) await this.#count(row, failure);
    else {
      this.#passed.set(row.id, { row, failure, at });
      this.#after = row;
    }
  }
  async #count(row: Entry, failure: ConnectorFailure): Promise<void> {
    const { clock, chance } = this.#deps;
    await this.#put(row, (now) => ledger.unprepared(now, failure, { now: clock.now(), chance: chance() }));
  }
  /**
   * The system processed a request for an entry, so those that were passed over have failures of their own, except those
   * that could not be sent after a search that succeeds, too.
   */
  async #works(at: Failing): Promise<void> {
    this.#rounds.search = 0;
    if (at === 'send') {
      this.#rounds.send = 0;
      this.#after = null;
    }
    const own = [...this.#passed.values()].filter((passed) => at === 'send' || passed.at === 'search');
    // All at once, because the result of another entry may come meanwhile.
    for (const { row } of own) this.#passed.delete(row.id);
    for (const { row, failure } of own) await this.#count(row, failure);
  }
  /** All due entries, or many, failed, so the system may refuse any although its check succeeds: they wait. */
  #allFailed(): void {
    const [first] = this.#passed.values();
    this.#rounds[first!.at] += 1;
    this.#leave(first!.failure, false, true);
    // The next ones are tried after the wait, and these once no other is due.
    if (this.#passed.size >= MAX_PASSED) this.#passed.clear();
  }
  async #find(row: Entry, about: About | null, isFirst: boolean): Promise<void> {
    const { clock } = this.#deps;
    const subject = about?.subject ?? emptySubject(row);
    const result = await this.#entries.find(subject, this.#loop.broken);
    if (this.#loop.broken.aborted) return;
    if (result.kind !== 'done') {
      if (result.kind !== 'refused') return this.#failed(row, result, isFirst, 'search');
      await this.#put(row, (now) =>
        ledger.uncertain(now, `the search for the entry was refused: ${result.words}`),
      );
      return;
    }
    await this.#works('search');
    await this.#put(row, (now) => ledger.found(now, result.value?.id ?? null, clock.now()));
  }
  async #send(read: Entry, about: About | null, isFirst: boolean): Promise<void> {
    const { store, clock, log, chance } = this.#deps;
    const { subject, change, hash } = about ?? {
      subject: emptySubject(read),
      change: read.wanted_change,
      hash: '',
    };
    const customer_id = subject.customer?.id ?? read.customer_id;
    const row = await this.#put(read, (now) => ledger.claimed({ ...now, customer_id }, clock.now()));
    if (row === null) return;
    const outcome = await this.#request(row, subject);
    let stored: Entry | undefined;
    // Also stored while the keeper closes, because a missing result would leave the entry in doubt.
    await untilDone(
      'storing the result of an entry',
      async () => {
        stored = await store.decide(row.id, (now) => {
          const at = { now: clock.now(), chance: chance() };
          const sent = { change, hash, doubtful: read.state === 'unknown' };
          return ledger.settled(now, outcome, sent, this.#abilities, at);
        });
      },
      { clock, log, signal: this.#loop.broken },
    );
    this.#attacher?.wake();
    if (outcome.kind === 'done') {
      await this.#works('send');
      if (this.#away === null) this.#room = this.#most;
    } else if (outcome.kind === 'refused' || this.#loop.broken.aborted) return;
    // It did not count as an attempt. The check signs in, too, so an entry that fails right after it has a failure of its own.
    else if (outcome.kind === 'disconnected' && stored !== undefined)
      await this.#failed(stored, outcome, isFirst, 'send');
    else this.#leave(outcome, read.attempts > 0);
  }
  async #request({ task, remote_id }: Entry, subject: EntrySubject): Promise<Outcome> {
    const signal = this.#loop.broken;
    if (task === 'create') {
      const made = await this.#entries.create(subject, signal);
      return made.kind === 'done' ? { kind: 'done', ...made.value } : made;
    }
    const result =
      task === 'remove'
        ? await this.#entries.remove(remote_id!, subject, signal)
        : await this.#entries.update(remote_id!, subject, signal);
    return result.kind === 'done' ? { kind: 'done', id: result.value?.id ?? remote_id } : result;
  }
}
