/** Position of a stream: events received, and events that its reader has processed. */
import { unharmed } from './environment.ts';
import type { StreamCursor } from './events.ts';

/** Access that differs from that of every connection. */
const UNKNOWN = '';

type Received = {
  /** Newest received seq; a subscription resumes after it. Null before the first subscription. */
  readonly seq: number | null;
  readonly epoch: string | null;
  /** Check of the newest event, for `epoch`. */
  readonly check: string | null;
};
export class StreamPosition {
  #received: Received;
  /** Position before the awaited snapshots; a connection lost before them changes nothing. */
  #before: Received;
  readonly #awaited = new Set<string>();
  /** Topics without a snapshot since it became necessary; unlike `#awaited` it lasts while events arrive. */
  readonly #owed = new Set<string>();
  /** Access with which the state is complete, and that of this connection; null if the service names none. */
  #access: string | null = null;
  #granted: string | null = null;
  #serverEpoch = '';
  #cursor: StreamCursor | null;
  readonly #onCursor: ((cursor: StreamCursor) => void) | undefined;

  constructor(cursor: StreamCursor | null, onCursor: ((cursor: StreamCursor) => void) | undefined) {
    this.#received = { seq: cursor?.seq ?? null, epoch: cursor?.epoch ?? null, check: cursor?.check ?? null };
    this.#before = this.#received;
    this.#access = cursor?.access ?? null;
    this.#cursor = cursor;
    this.#onCursor = onCursor;
  }
  /** Position of the reader: every event up to it is processed. */
  get cursor(): StreamCursor | null {
    return this.#cursor;
  }
  get received(): number | null {
    return this.#received.seq;
  }
  /** Fields of a `subscribe` frame that resumes. */
  get resume(): { cursor?: number; epoch?: string; check?: string } {
    const { seq, epoch, check } = this.#received;
    if (seq === null) return {};
    if (epoch === null) return { cursor: seq };
    return { cursor: seq, epoch, ...(check === null ? {} : { check }) };
  }
  hello(epoch: string): void {
    this.#serverEpoch = epoch;
    if (this.#awaited.size > 0) this.#received = this.#before;
    this.#awaited.clear();
    if (this.#received.seq === null) this.#received = { seq: null, epoch, check: null };
  }
  /** `topics`: those with a state. Other rights than those of the state skip events, also if they change back later. */
  subscribed(access: string | undefined, topics: readonly string[]): void {
    this.#granted = access ?? null;
    if (this.#access !== null && this.#granted !== null && this.#access !== this.#granted) this.#owe(topics);
    if (topics.length > 0) this.#access ??= this.#granted;
  }
  awaitSnapshots(topics: readonly string[]): void {
    this.#before = this.#received;
    for (const topic of topics) this.#awaited.add(topic);
    this.#owe(topics);
  }
  /** True while a snapshot is missing: events that follow a resume lack their state. */
  get isOwed(): boolean {
    return this.#owed.size > 0;
  }
  /** Position to resume from after the snapshot; null while other snapshots are missing, which a resume would skip. */
  snapshot(topic: string, seq: number): StreamCursor | null {
    this.#awaited.delete(topic);
    // One that was not requested follows a change of the rights, whose access the service does not name.
    if (!this.#owed.delete(topic)) this.#granted = UNKNOWN;
    if (this.#owed.size === 0) this.#access = this.#granted;
    // Events follow from the oldest of several snapshots.
    this.advance(Math.min(this.#received.seq ?? seq, seq));
    return this.at(this.#received.seq);
  }
  event(seq: number, check: string | undefined): StreamCursor | null {
    this.#received = {
      ...this.#received,
      seq,
      ...(check === undefined ? {} : { check: `${seq}:${check}` }),
    };
    this.#awaited.clear();
    return this.at(seq);
  }
  /** Events up to `to` are lost; the server's epoch counts from there. */
  gap(to: number): StreamCursor | null {
    this.#received = { seq: to, epoch: this.#serverEpoch, check: null };
    return this.at(to);
  }
  advance(seq: number): void {
    this.#received = { ...this.#received, seq };
  }
  /** Null while a snapshot is missing: whoever stores the position and resumes there would never get it. */
  at(seq: number | null): StreamCursor | null {
    const { epoch, check } = this.#received;
    const access = this.#access;
    return seq === null || epoch === null || this.#owed.size > 0
      ? null
      : { epoch, seq, ...(check === null ? {} : { check }), ...(access === null ? {} : { access }) };
  }
  /** The reader has processed everything up to `done`. */
  settle(done: StreamCursor | null): void {
    const was = this.#cursor;
    if (done === null) return;
    if (was?.seq === done.seq && was.epoch === done.epoch && was.access === done.access) return;
    this.#cursor = done;
    unharmed(() => this.#onCursor?.(done));
  }
  #owe(topics: readonly string[]): void {
    for (const topic of topics) this.#owed.add(topic);
  }
}
