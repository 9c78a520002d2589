import type { z } from 'zod';
import { CLOSE_CODES } from '@offhook/contract/stream.ts';
import type { PollQuery } from '@offhook/contract/stream.ts';
import type { stream } from '@offhook/contract/operations/stream.ts';
import { ServiceError } from '../core/errors.ts';
import type { Caller } from '../ports/http.ts';
import type { Handler } from '../ports/operations.ts';
import type { Framing } from './batch.ts';
import { Client } from './client.ts';
import { gapOf, reachOf } from './cursor.ts';
import { admitted, reconnect } from './clients.ts';
import type { Parts } from './parts.ts';
import type { Snapshot } from './snapshots.ts';
import { accessOf } from '../rights/hearing.ts';
import type { Heard } from '../rights/hearing.ts';

const WAIT_SECONDS = 25;
const SNAPSHOT_MS = 5_000;
/** Limit in ms of a poll that does not wait, for a journal that cannot be read. */
const AT_ONCE_MS = 5_000;
const NOTHING = Buffer.alloc(0);
/** Every event begins with a comma; the first comma is cut off. */
const POLL: Framing = {
  name: 'poll',
  chained: false,
  event: (json) => Buffer.concat([Buffer.from(','), json]),
  snapshot: (topic, cursor, json) => Buffer.from(`,{"topic":"${topic}","cursor":${cursor},"data":${json}}`),
};
type Query = z.output<typeof PollQuery>;

/** One long poll: ends with the first events, at its time limit, or when the client is gone. */
class Poll extends Client {
  readonly talks = false;
  readonly full = false;
  readonly unsent = 0;
  readonly #parts: Parts;
  readonly #answer = Promise.withResolvers<Buffer>();
  readonly #query: Query;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(parts: Parts, caller: Caller, ip: string, query: Query) {
    super(POLL, caller, ip);
    this.#parts = parts;
    this.#query = query;
  }
  /** The body of the reply; rejects with a `ServiceError`. */
  ask(heard: readonly Heard[]): Promise<Buffer> {
    this.heard = heard;
    this.#parts.clients.add(this);
    this.#begin(performance.now() + SNAPSHOT_MS, this.#query.cursor);
    return this.#answer.promise;
  }
  #begin(by: number, cursor: number | undefined): void {
    if (this.#ended) return;
    const { hub, journal, snapshots } = this.#parts;
    const { wait = WAIT_SECONDS } = this.#query;
    const gap = gapOf(this.#parts, { ...this.#query, cursor });
    if (cursor !== undefined && gap === null) {
      // A poll without a wait ends at the journal's head; a timer could fire before it.
      this.#timer = setTimeout(() => this.#finish(NOTHING), wait === 0 ? AT_ONCE_MS : wait * 1000);
      if (hub.attach(this, this.names, cursor, 0)) this.caughtUp();
      return;
    }
    let snapshot: Snapshot | null = null;
    if (this.#query.snapshot === 'true') {
      snapshot = snapshots.take(this.heard, this.framing, () => this.#begin(by, cursor));
      if (snapshot === null) {
        if (performance.now() < by) return;
        return this.#fail(
          new ServiceError('store_unavailable', 'the snapshot cannot be built now; try again later'),
        );
      }
    }
    const { head } = journal;
    this.scanned = head;
    this.#finish(NOTHING, gap === null ? null : { from: cursor!, to: head, reason: gap }, snapshot);
  }
  send(bytes: Buffer): void {
    this.#finish(bytes);
  }
  caughtUp(): void {
    if (this.#query.wait === 0) this.#finish(NOTHING);
  }
  /** The reply is then that of a cursor at `from`: the gap, and the state if requested. */
  missed(from: number): void {
    clearTimeout(this.#timer);
    this.#parts.hub.leave(this);
    this.#begin(performance.now() + SNAPSHOT_MS, from);
  }
  /** Ends the poll: if the rights changed back before its end, `access` of the reply would not show that events are missing. */
  rightsChanged(): void {
    if (this.mode !== 'idle') this.#finish(NOTHING);
  }
  restart(): void {
    // Without a position, the client must send the same request again.
    if (this.mode === 'idle') this.#fail(reconnect());
    else this.#finish(NOTHING);
  }
  end(code: number, reason: string): void {
    this.#fail(
      new ServiceError(code === CLOSE_CODES.not_allowed ? 'forbidden' : 'not_authenticated', reason),
    );
  }
  vanish(): void {
    this.#finish(NOTHING);
  }
  tooSlow(): void {}
  heartbeat(): void {}

  #finish(events: Buffer, gap: object | null = null, snapshot: Snapshot | null = null): void {
    const cursor = this.mode === 'idle' ? this.scanned : this.#parts.hub.positionOf(this);
    if (!this.#leave()) return;
    const shown =
      snapshot === null
        ? []
        : [Buffer.from(',"snapshot":['), Buffer.concat(snapshot.frames).subarray(1), Buffer.from(']')];
    this.#answer.resolve(
      Buffer.concat([
        Buffer.from(`{"success":true,"epoch":"${this.#parts.journal.epoch}","events":[`),
        events.subarray(1),
        Buffer.from(
          `],"cursor":${cursor},"access":"${accessOf(this.caller, this.heard)}","gap":${JSON.stringify(gap)}`,
        ),
        ...shown,
        Buffer.from('}'),
      ]),
    );
  }
  #fail(error: ServiceError): void {
    if (this.#leave()) this.#answer.reject(error);
  }
  #leave(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#parts.clients.remove(this);
    return true;
  }
}

/** `GET /api/v1/events/poll`: the stream for clients that can only send requests. */
export function pollHandler(parts: Parts, closing: () => boolean): Handler<typeof stream.poll> {
  return async ({ caller: asking, request, reply }, { query }) => {
    let opened = admitted(parts, asking, query.topics, closing);
    const wait = reachOf(parts, query);
    if (wait !== null)
      opened = admitted(parts, await parts.clients.outlast(asking, wait), query.topics, closing);
    const { caller, heard } = opened;
    const poll = new Poll(parts, caller, request.ip, query);
    reply.raw.once('close', () => poll.vanish());
    const answer = poll.ask(heard);
    // The reply to a client that left during the wait emits no further event.
    if (reply.raw.destroyed) poll.vanish();
    const body = await answer.finally(() => {
      // An idle keep-alive connection would delay the stop.
      if (closing()) reply.raw.shouldKeepAlive = false;
    });
    return reply.type('application/json; charset=utf-8').send(body);
  };
}
