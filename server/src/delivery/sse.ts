import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { EventsQuery } from '@offhook/contract/stream.ts';
import type { stream } from '@offhook/contract/operations/stream.ts';
import { ServiceError } from '../core/errors.ts';
import type { Caller } from '../ports/http.ts';
import type { Handler } from '../ports/operations.ts';
import type { Framing } from './batch.ts';
import { Client } from './client.ts';
import { gapOf, reachOf } from './cursor.ts';
import { admitted } from './clients.ts';
import type { Parts } from './parts.ts';
import type { Snapshot } from './snapshots.ts';
import { accessOf } from '../rights/hearing.ts';
import type { Heard } from '../rights/hearing.ts';

const FULL = 64 * 1024;
const KEEP_ALIVE_MS = 15_000;
const SNAPSHOT_MS = 5_000;
const LINGER_MS = 10_000;
const END = Buffer.from('\n\n');

const named = (event: string, data: object, id?: number): Buffer =>
  Buffer.from(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`);
const DATA = Buffer.from('data: ');
const SSE: Framing = {
  name: 'sse',
  chained: false,
  event: (json, seq) => Buffer.concat([Buffer.from(`id: ${seq}\ndata: `), json, END]),
  snapshot: (topic, cursor, json) =>
    Buffer.from(`event: snapshot\ndata: {"topic":"${topic}","cursor":${cursor},"data":${json}}\n\n`),
};
/** While a snapshot is missing: a client that is cut off before it must not resume after these events. */
const WITHOUT_IDS: Framing = {
  ...SSE,
  name: 'sse without ids',
  event: (json) => Buffer.concat([DATA, json, END]),
};
type Query = z.output<typeof EventsQuery>;

/** One event source: a response that continues until either side closes it. */
class EventSource extends Client {
  readonly talks = false;
  readonly #parts: Parts;
  readonly #response: ServerResponse;
  readonly #query: Query;
  /** For snapshots, which have the same frames while the events have no ids. */
  readonly #withIds = this.framing;
  #cursor: number | undefined;
  #resuming = false;
  #toShow: readonly Heard[] = [];
  #ended = false;

  constructor(parts: Parts, response: ServerResponse, caller: Caller, ip: string, query: Query) {
    super(SSE, caller, ip);
    this.#parts = parts;
    this.#response = response;
    this.#query = query;
    this.#cursor = query.cursor;
  }
  /** Sends the response head and begins; `heard`: the topics of the client. */
  open(heard: readonly Heard[], headers: OutgoingHttpHeaders): void {
    const response = this.#response;
    this.heard = heard;
    this.#parts.clients.add(this);
    // The body ends with the connection instead of chunked encoding, so that one buffer fits every reader.
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
    response.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    });
    response.flushHeaders();
    response.socket?.setKeepAlive(true, KEEP_ALIVE_MS);
    response.on('drain', () => this.#parts.hub.takes(this));
    response.on('close', () => this.vanish());
    response.on('error', () => this.vanish());
    this.#begin(performance.now() + SNAPSHOT_MS);
  }
  #begin(by: number): void {
    if (this.#ended) return;
    const { hub, snapshots, journal } = this.#parts;
    const { head } = journal;
    const cursor = this.#cursor;
    const gap = gapOf(this.#parts, { ...this.#query, cursor });
    const resumes = cursor !== undefined && gap === null;
    const wants = this.#query.snapshot === 'true' && !resumes;
    const snapshot = wants ? snapshots.take(this.heard, this.#withIds, () => this.#begin(by)) : null;
    if (wants && snapshot === null) {
      if (performance.now() >= by) this.end(1013, 'the snapshot cannot be built now; try again later');
      return;
    }
    const from = resumes ? cursor : head;
    const topics = this.heard.map((one) => one.topic);
    const access = accessOf(this.caller, this.heard);
    // The last of these messages has the id: a client that was cut off before it gets all of them again.
    const id = snapshot === null ? from : undefined;
    const opened = { epoch: journal.epoch, topics, cursor: from, access };
    this.send(named('subscribed', opened, gap === null ? id : undefined));
    if (gap !== null) this.send(named('gap', { from: cursor, to: head, reason: gap }, id));
    if (snapshot !== null) this.#show(snapshot);
    this.#resuming = resumes;
    if (hub.attach(this, this.names, from, from)) this.caughtUp();
  }

  get full(): boolean {
    return this.#response.writableLength >= FULL;
  }
  get unsent(): number {
    return this.#response.writableLength;
  }
  send(bytes: Buffer): void {
    if (this.#ended) return;
    this.#response.write(bytes);
    this.waits ||= this.#response.writableLength > 0;
  }
  heartbeat(scanned: number, time: string): void {
    // While a snapshot is missing, no position is safe to resume from.
    const id = this.mode === 'idle' || this.#toShow.length > 0 ? '' : `id: ${scanned}\n`;
    this.send(Buffer.from(`: heartbeat ${time}\n${id}\n`));
  }
  caughtUp(): void {
    const { hub, snapshots } = this.#parts;
    if (this.#resuming) {
      this.#resuming = false;
      const cursor = hub.positionOf(this);
      this.send(named('resumed', { cursor }, this.#toShow.length === 0 ? cursor : undefined));
    }
    if (this.#toShow.length === 0 || this.#ended || !hub.bringUp(this)) return;
    const snapshot = snapshots.take(this.#toShow, this.#withIds, () => this.caughtUp());
    if (snapshot === null) return;
    this.#toShow = [];
    this.#show(snapshot);
    this.#reattach();
  }
  /** Only the last one has an id: a client that was cut off earlier must get all of them again. */
  #show({ cursor, frames }: Snapshot): void {
    for (const frame of frames) {
      if (frame === frames.at(-1)) this.send(Buffer.from(`id: ${cursor}\n`));
      this.send(frame);
    }
  }
  missed(from: number, to: number): void {
    this.#resuming = false;
    const shows = this.#query.snapshot === 'true';
    this.send(named('gap', { from, to, reason: 'cursor_outdated' }, shows ? undefined : to));
    if (!shows) return;
    this.#toShow = this.heard;
    this.#reattach();
  }
  rightsChanged(changed: readonly Heard[]): void {
    if (this.mode === 'idle') return;
    if (this.#query.snapshot === 'true') {
      const topics = new Set([...changed, ...this.#toShow].map((one) => one.topic));
      this.#toShow = this.heard.filter((one) => topics.has(one.topic));
    }
    this.#reattach();
  }
  /** Continues at the same position, with or without ids. */
  #reattach(): void {
    const { hub } = this.#parts;
    this.frameBy(this.#toShow.length === 0 ? SSE : WITHOUT_IDS);
    if (hub.attach(this, this.names, hub.positionOf(this), this.last)) this.caughtUp();
  }
  tooSlow(): void {
    this.end(4408, 'too slow; resume with the last id');
  }
  end(code: number, reason: string): void {
    this.#finish(named('close', { code, reason }));
  }
  restart(afterMs: number): void {
    this.#finish(
      Buffer.from(`event: reconnect\nretry: ${afterMs}\ndata: ${JSON.stringify({ after_ms: afterMs })}\n\n`),
    );
  }
  #finish(last: Buffer): void {
    if (!this.#leave()) return;
    const response = this.#response;
    response.end(last);
    this.#parts.clients.cutOff(() => response.destroy(), LINGER_MS);
  }
  vanish(): void {
    this.#leave();
    this.#response.destroy();
  }
  #leave(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#parts.clients.remove(this);
    return true;
  }
}

/** `GET /api/v1/events`: the stream as server-sent events. */
export function sseHandler(parts: Parts, closing: () => boolean): Handler<typeof stream.events> {
  return async ({ caller: asking, request, reply }, { query }) => {
    const cursor = lastEventId(request.headers['last-event-id']) ?? query.cursor;
    const wanted = cursor === undefined ? query : { ...query, cursor };
    let opened = admitted(parts, asking, query.topics, closing);
    const wait = reachOf(parts, wanted);
    if (wait !== null)
      opened = admitted(parts, await parts.clients.outlast(asking, wait), query.topics, closing);
    const { caller, heard } = opened;
    reply.hijack();
    const headers = reply.getHeaders() as OutgoingHttpHeaders;
    if (!reply.raw.destroyed)
      new EventSource(parts, reply.raw, caller, request.ip, wanted).open(heard, headers);
    return reply;
  };
}
/** An empty id, which a browser sends before the first event, counts as none. */
function lastEventId(header: string | string[] | undefined): number | undefined {
  if (header === undefined || header === '') return undefined;
  if (
    typeof header !== 'string' ||
    !/^(0|[1-9]\d{0,15})$/.test(header) ||
    !Number.isSafeInteger(Number(header))
  ) {
    throw new ServiceError('invalid_request', 'Last-Event-ID: must be the id of an event, a whole number');
  }
  return Number(header);
}
