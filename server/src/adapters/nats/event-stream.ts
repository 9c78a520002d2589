import { JetStreamApiError, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { OutsideStream, StreamEnd } from '../../ports/bus.ts';
import type { JournalRow } from '../../ports/journal-store.ts';
import type { NatsLink } from './link.ts';

const ANSWER_MS = 5_000;
const MAX_AGE_MS = 7 * 86_400_000;
const MAX_BYTES = 1_073_741_824;
const DUPLICATES_MS = 120_000;
/** Bytes of a message beside the event. */
const HEADERS = 1_024;
const NO_STREAM = 10_059;
const nanos = (ms: number): number => ms * 1_000_000;

/** Id of the event, `<epoch>:<seq>`; an event of an earlier epoch keeps that epoch. */
const idOf = ({ json }: JournalRow): string => (JSON.parse(json) as { id: string }).id;

/** The events of a site in a JetStream stream, by the subjects `offhook.<site>.events.<type>`. */
export class NatsEventStream implements OutsideStream {
  readonly #link: NatsLink;
  readonly #name: string;
  readonly #subject: string;
  #connection: NatsConnection | null = null;
  /** Newest sequence of the stream, as this writer knows it. */
  #last = 0;

  constructor(link: NatsLink, { name, site }: { readonly name: string; readonly site: string }) {
    this.#link = link;
    this.#name = name;
    this.#subject = `offhook.${site}.events`;
  }
  async open(): Promise<StreamEnd> {
    const { connection } = this.#link;
    if (connection === null) throw new Error(this.#link.state().detail);
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout: ANSWER_MS });
    const { config, state } = await this.#found(manager);
    if (config.subjects?.join() !== `${this.#subject}.>`)
      throw new Error(
        `the stream ${this.#name} is not one of this site: its subjects are ${config.subjects?.join(' ')}`,
      );
    [this.#connection, this.#last] = [connection, state.last_seq];
    if (state.last_seq === 0) return { at: 'begin' };
    const newest =
      state.messages === 0 ? null : await manager.streams.getMessage(this.#name, { seq: state.last_seq });
    if (newest === null) {
      const kept = config.max_age > 0 ? config.max_age / 1_000_000 : Infinity;
      return { at: 'expired', since: Date.now() - kept };
    }
    const json = newest.string();
    return { at: 'event', event: { seq: (JSON.parse(json) as { seq: number }).seq, json } };
  }
  async append(rows: readonly JournalRow[]): Promise<void> {
    const connection = this.#connection;
    if (connection === null || connection.isClosed()) throw new Error(this.#link.state().detail);
    const limit = (connection.info?.max_payload ?? MAX_BYTES) - HEADERS;
    const large = rows.find(({ json }) => Buffer.byteLength(json) > limit);
    if (large !== undefined)
      throw new Error(`event ${large.seq} is larger than a message may be: raise max_payload of the server`);
    const client = jetstream(connection, { timeout: ANSWER_MS });
    const after = this.#last;
    // Each event expects its predecessor in the stream, so that the server stores none after a failed one.
    const answers = await Promise.allSettled(
      rows.map((row, i) =>
        client.publish(`${this.#subject}.${row.type}`, row.json, {
          msgID: idOf(row),
          expect: { streamName: this.#name, lastSequence: after + i },
          retries: 0,
        }),
      ),
    );
    for (const [i, answer] of answers.entries()) {
      if (answer.status === 'rejected') throw answer.reason;
      if (answer.value.seq !== after + i + 1) throw new Error('another writer has stored these events');
    }
    this.#last = after + rows.length;
  }

  async #found(manager: JetStreamManager): Promise<StreamInfo> {
    try {
      return await manager.streams.info(this.#name);
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.apiError().err_code !== NO_STREAM) throw error;
    }
    return await manager.streams.add({
      name: this.#name,
      subjects: [`${this.#subject}.>`],
      storage: 'file',
      retention: 'limits',
      discard: 'old',
      max_age: nanos(MAX_AGE_MS),
      max_bytes: MAX_BYTES,
      duplicate_window: nanos(DUPLICATES_MS),
      deny_delete: true,
      deny_purge: true,
      allow_direct: true,
    });
  }
}
