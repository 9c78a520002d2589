import type { Conversation } from '@offhook/contract/conversations.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { untilDone } from '../../core/retry.ts';
import { DeliveryLoop } from '../../outbound/delivery-loop.ts';
import { retryDelay } from '../../outbound/schedule.ts';
import type { RecordingView } from '../../ports/conversations.ts';
import type { OpenAudio, RecordingAudio } from '../../ports/recordings.ts';
import { NO_CALL, callOf } from './call-of.ts';
import { NO_CUSTOMER } from './format/customers.ts';
import { failure } from './format/requests.ts';
import type { ConnectorFailure } from './format/requests.ts';
import type { AttachSubject, ConnectorAttachments, ConnectorSession } from './format/session.ts';
import * as ledger from './ledger.ts';
import { AWAY_SECONDS } from './ledger.ts';
import type { Abilities, Entry, NewEntry, Outcome } from './ledger.ts';
import type { KeeperDeps } from './keeper.ts';
import { ranked } from './ranked.ts';

export interface AttacherParts extends KeeperDeps {
  readonly connector: number;
  readonly attachments: ConnectorAttachments;
  readonly settle_seconds: number;
  readonly audio: RecordingAudio;
  /** True while the system is away, so that the entries wait. */
  readonly isAway: () => boolean;
  readonly check: ConnectorSession['check'];
  /** Makes the entries wait until the system is back. `isKnown`: the recording has failed on its own before. */
  readonly leave: (failure: ConnectorFailure, isKnown: boolean) => void;
}
/** Longest interval between reads of the ledger. */
const POLL_MS = 60_000;

/**
 * Attaches the stored recordings of conversations to their entries in one system, each once, and removes copies of
 * deleted recordings. It runs beside the entries, because an upload may take minutes.
 */
export class Attacher {
  readonly #parts: AttacherParts;
  readonly #abilities: Abilities;
  readonly #loop: DeliveryLoop;
  #resumed = false;
  /** Time of the newest upload, and of the newest removal, that succeeded. */
  readonly #workedAt = new Map<Entry['task'], number>();
  /** Failures since then that may not be those of single recordings; no other recording is sent before `until`. */
  #failing: {
    readonly words: string;
    readonly failures: number;
    readonly at: number;
    readonly until: number;
  } | null = null;
  constructor(parts: AttacherParts) {
    const { attachments, clock, log, connector, settle_seconds } = parts;
    this.#parts = parts;
    this.#abilities = {
      once: attachments.once,
      update: false,
      remove: attachments.removes,
      settle_seconds,
    };
    this.#loop = new DeliveryLoop({
      step: () => this.#step(),
      trouble: (error) =>
        log.warn(
          { connector, error: messageOf(error) },
          'uploads of recordings by a connector could not continue; retrying',
        ),
      clock,
    });
  }
  wake(): void {
    this.#loop.wake();
  }
  /** Why recordings wait although the system answers; null if they do not. */
  get trouble(): string | null {
    return this.#failing === null
      ? null
      : `recordings fail although the check succeeds: ${this.#failing.words}`;
  }
  close(grace: AbortSignal): Promise<void> {
    return this.#loop.close(grace);
  }
  /**
   * Stores which recordings the entry of a conversation should have: all stored ones, or none if `conversation` is null
   * because it needs no entry.
   */
  async want(row: Entry, conversation: Conversation | null): Promise<void> {
    const { store, clock, connector } = this.#parts;
    // A conversation keeps the traces of its recordings, so one without any never had a row.
    if (conversation?.recordings.length === 0) return;
    const stored = new Map(
      (conversation?.recordings ?? []).filter(({ state }) => state === 'stored').map((one) => [one.id, one]),
    );
    const change = conversation?.change ?? row.wanted_change;
    await store.recordings(connector, row.conversation, (rows) => {
      const now = clock.now();
      const of = (recording: string, isWanted: boolean): ledger.Change => ({
        connector,
        conversation: row.conversation,
        recording,
        change,
        wants: isWanted ? 'entry' : 'none',
        words: isWanted ? null : 'the recording was deleted',
        doubtful: false,
      });
      const known = new Set(rows.map(({ recording }) => recording));
      const changed = rows
        .filter(({ recording, wanted }) => (wanted === 1) !== stored.has(recording))
        .map((one) => ledger.changed(one, of(one.recording, stored.has(one.recording)), now));
      const fresh = [...stored.values()]
        .filter((one) => !known.has(one.id) && this.#wants(row, conversation!, one))
        .map((one) => ledger.opened(of(one.id, true), now))
        .filter((one): one is NewEntry => one !== null);
      return [...changed, ...fresh];
    });
    this.wake();
  }
  #wants(row: Entry, conversation: Conversation, recording: RecordingView): boolean {
    return this.#parts.attachments.wanted(this.#subjectOf(row, conversation, recording));
  }

  async #step(): Promise<void> {
    const { store, clock, connector, isAway } = this.#parts;
    if (!this.#resumed) await this.#resume();
    const now = clock.now();
    // A failure in the future means that the clock was set back.
    const pause = this.#failing !== null && this.#failing.at <= now ? this.#failing.until - now : 0;
    const due = isAway() || pause > 0 ? null : await store.due(connector, 'recording', now, 1);
    if (this.#loop.closed) return;
    const [row] = due?.rows ?? [];
    // Entries and live calls go first in the budget.
    if (row !== undefined) return ranked('sync', () => this.#handle(row));
    const ms = Math.min(POLL_MS, pause > 0 ? pause : (due?.next_at ?? Infinity) - clock.now());
    await this.#loop.rest((signal) => clock.sleep(ms, signal));
  }
  async #resume(): Promise<void> {
    const { store, clock, connector } = this.#parts;
    for (const { id } of await store.sending(connector, 'recording'))
      await store.decide(id, (row) => ledger.interrupted(row, this.#abilities, clock.now()));
    this.#resumed = true;
  }

  async #handle(row: Entry): Promise<void> {
    const { store, feed, clock, connector, attachments } = this.#parts;
    const doubt = row.state === 'unknown' ? ledger.doubtOf(row, this.#abilities, clock.now()) : null;
    if (doubt === 'uncertain') {
      const words = row.words ?? 'the recording may be there';
      await this.#put(row, (now) => ledger.uncertain(now, words));
      return;
    }
    const entry = await store.entry(connector, row.conversation);
    if (entry === undefined || entry.remote_id === null) return;
    const conversation = await feed.one(row.conversation);
    const recording = conversation?.recordings.find(({ id }) => id === row.recording);
    const subject = this.#subjectOf(entry, conversation, recording);
    if (this.#loop.closed) return;
    if (doubt === 'find') return this.#find(row, subject);
    if (row.task === 'remove') return this.#remove(row, entry, subject);
    const stands = row.remote_id !== null;
    const isStored = recording?.state === 'stored';
    if (stands || !isStored) {
      const [state, words] = stands
        ? (['sent', null] as const)
        : (['not_wanted', 'the recording was deleted'] as const);
      await this.#put(row, (now) => ledger.unneeded(now, now.wanted_change, state, words));
      return;
    }
    await using audio = await this.#open(row);
    if (audio === undefined) return;
    const words =
      audio === null
        ? 'the recording has no audio file'
        : audio.bytes > attachments.max_bytes
          ? `the recording has ${audio.bytes} bytes, more than ${attachments.max_bytes}`
          : null;
    if (audio === null || words !== null) {
      await this.#put(row, (now) => ledger.unneeded(now, now.wanted_change, 'not_wanted', words));
      return;
    }
    await this.#send(row, () => attachments.create(subject, audio, this.#loop.broken));
  }
  /** Audio of a row; null if there is no file, undefined if it cannot be read now, so that the row waits. */
  async #open(row: Entry): Promise<OpenAudio | null | undefined> {
    try {
      return await this.#parts.audio.open(row.recording);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      await this.#count(row, failure('refused', `the file cannot be read: ${messageOf(error)}`));
      return undefined;
    }
  }
  async #count(row: Entry, failed: ConnectorFailure): Promise<void> {
    const { clock, chance } = this.#parts;
    await this.#put(row, (now) => ledger.unprepared(now, failed, { now: clock.now(), chance: chance() }));
  }
  /**
   * A request of a recording failed without counting as an attempt. If the system does not answer a check either, all
   * wait. Else the failure counts if another recording was sent after the previous one (`lastAt`), or if an earlier
   * one counted; until then, others go first, after growing pauses.
   */
  async #failed(row: Entry, failed: ConnectorFailure, lastAt: number | null): Promise<void> {
    const { clock, chance, check, leave } = this.#parts;
    const checked = failed.retry_after_seconds === null ? await check(this.#loop.broken) : failed;
    if (this.#loop.broken.aborted) return;
    if (checked.kind !== 'done') return leave(checked, false);
    const workedAt = this.#workedAt.get(row.task) ?? -Infinity;
    if (row.attempts > 0 || workedAt > (lastAt ?? Infinity)) return this.#count(row, failed);
    const failures = (this.#failing?.failures ?? 0) + 1;
    const at = clock.now();
    const until = at + retryDelay(AWAY_SECONDS, Math.min(failures, AWAY_SECONDS.length), null, chance())!;
    this.#failing = { words: failed.words, failures, at, until };
    await this.#put(row, (now) => ({ ...now, next_at: until }));
  }
  async #find(row: Entry, subject: AttachSubject): Promise<void> {
    const { attachments, clock } = this.#parts;
    const result = await attachments.find(subject, this.#loop.broken);
    if (this.#loop.broken.aborted) return;
    if (result.kind === 'done')
      await this.#put(row, (now) => ledger.found(now, result.value?.id ?? null, clock.now()));
    else if (result.kind === 'refused')
      await this.#put(row, (now) =>
        ledger.uncertain(now, `the search for the recording was refused: ${result.words}`),
      );
    else await this.#failed(row, result, row.last_at);
  }
  async #remove(row: Entry, entry: Entry, subject: AttachSubject): Promise<void> {
    const { attachments, clock } = this.#parts;
    const remove = () => attachments.remove(row.remote_id!, subject, this.#loop.broken);
    if (attachments.removes) return this.#send(row, remove);
    // The system deleted the copy with its entry.
    if (entry.state === 'removed') {
      await this.#put(row, (now) => ledger.removed(now, clock.now()));
      return;
    }
    const words = 'the recording was deleted, and the file has no entry.attach.remove: delete it there';
    await this.#put(row, (now) => ledger.parked(now, words));
  }
  async #send(
    read: Entry,
    request: () => Promise<
      ConnectorFailure | { readonly kind: 'done'; readonly value: { readonly id: string } | null }
    >,
  ): Promise<void> {
    const { store, clock, log, chance, audit, connector } = this.#parts;
    const detail = { recording: read.recording, conversation: read.conversation };
    const action = read.task === 'remove' ? 'connector.recording_removed' : 'connector.recording_sent';
    // The audit entry comes first, because a sent recording cannot be taken back if the entry fails.
    const row = await this.#put(
      read,
      (now) => ledger.claimed(now, clock.now()),
      (trx) =>
        audit.recordIn(trx, {
          action,
          actor: null,
          object: `connector:${connector}`,
          outcome: 'ok',
          ip: null,
          detail,
        }),
    );
    if (row === null) return;
    const result = await request();
    const outcome: Outcome =
      result.kind === 'done' ? { kind: 'done', id: result.value?.id ?? row.remote_id } : result;
    const sent = { change: row.wanted_change, hash: '', doubtful: read.state === 'unknown' };
    let stored: Entry | undefined;
    await untilDone(
      'storing the result of a recording',
      async () => {
        stored = await store.decide(row.id, (now) =>
          ledger.settled(now, outcome, sent, this.#abilities, { now: clock.now(), chance: chance() }),
        );
      },
      { clock, log, signal: this.#loop.broken },
    );
    if (result.kind === 'done') {
      this.#workedAt.set(row.task, clock.now());
      this.#failing = null;
    } else if (result.kind === 'refused' || this.#loop.broken.aborted) return;
    // It did not count as an attempt. The check signs in, too.
    else if (result.kind === 'disconnected' && stored !== undefined)
      await this.#failed(stored, result, read.last_at);
    else this.#parts.leave(result, read.attempts > 0);
  }
  async #put(
    read: Entry,
    decide: (row: Entry) => Entry,
    also?: Parameters<KeeperDeps['store']['decide']>[2],
  ): Promise<Entry | null> {
    return this.#parts.store.decideAs(read, decide, also);
  }
  #subjectOf(entry: Entry, conversation: Conversation | null, recording?: RecordingView): AttachSubject {
    const { people, publicUrl } = this.#parts;
    const { customer_id } = entry;
    const { id = '', started_at = '', duration = 0, bytes = 0 } = recording ?? {};
    return {
      call:
        conversation === null
          ? { ...NO_CALL, id: entry.conversation }
          : callOf(conversation, publicUrl, (extension) => people.person(extension)),
      ...(customer_id !== null && { customer: { ...NO_CUSTOMER, id: customer_id } }),
      entry: entry.remote_id ?? '',
      recording: { id, name: `${id}.wav`, started_at, seconds: duration, bytes: bytes ?? 0 },
    };
  }
}
