/** The stream: one WebSocket at a time, resumed by cursor until it is closed. */
import type { Problem } from '@offhook/contract/errors.ts';
import type { ServerFrame } from '@offhook/contract/stream.ts';
import { createCommands } from './commands.ts';
import type { CommandOptions, Commands } from './commands.ts';
import { environment, unharmed } from './environment.ts';
import type { Environment } from './environment.ts';
import { OffhookError, clientError } from './errors.ts';
import type { StreamCursor, StreamEvent, StreamItem } from './events.ts';
import { CLOSE, PROTOCOL } from './protocol.ts';
import { createQueue } from './queue.ts';
import { StreamLink } from './stream-link.ts';
import { StreamPosition } from './stream-position.ts';

/**
 * `connecting`: nothing received yet. `live`: events arrive as they happen. `resuming`: connected, missed events are
 * arriving. `stale`: not connected; the next attempt follows. `closed`: ended, no attempt follows.
 */
export type StreamState = 'connecting' | 'live' | 'resuming' | 'stale' | 'closed';

export interface StreamOptions {
  /** e.g. `queues`, `queues/support`, `calls/mine`; none for a stream that only carries commands. */
  readonly topics: readonly string[];
  /** True to receive the state of each topic first, and again after a gap or a change of the rights to the topics. */
  readonly snapshot?: boolean;
  /** A stored cursor; the events after it come first. */
  readonly cursor?: StreamCursor | null;
  /** Called with each cursor whose events are processed, that is, when the loop requests the next item. */
  readonly onCursor?: (cursor: StreamCursor) => void;
  readonly onState?: (state: StreamState, why: string) => void;
  /**
   * Limit of items that wait for a slow reader, 1,000 by default; beyond it the connection is closed, and resumed when the
   * reader has caught up.
   */
  readonly buffer?: number;
  readonly signal?: AbortSignal;
}
/** Read it with one `for await`; leaving the loop closes it. The loop throws the error that ended the stream for good. */
export interface EventStream extends AsyncIterable<StreamItem> {
  readonly state: StreamState;
  /** Position at which a later stream can resume; null until the first subscription. */
  readonly cursor: StreamCursor | null;
  /** Time of the last frame, ms since 1970; null before the first. */
  readonly heard_at: number | null;
  /** Gaps that were found and filled by resuming. */
  readonly holes: number;
  /** As `client.command`, on this connection. */
  command(action: string, data?: object, options?: CommandOptions): Promise<unknown>;
  close(): void;
}
/** Parts of the client that the stream needs. */
export interface StreamSession {
  readonly base: string;
  /** One ticket for one upgrade. */
  ticket(signal: AbortSignal): Promise<string>;
  /** Gets a new token; rejects with `not_authenticated` when the session is over. */
  renew(): Promise<unknown>;
}
const BACKOFF_MS = 500;
/** Short, because a person may be looking at a page that is not live. */
const BACKOFF_MAX_MS = 8_000;
/** Limit for a ticket: after a network failure the browser may send the request on a dead connection and wait indefinitely. */
const TICKET_MS = 5_000;
/** After a connection that lived this long, the next failure starts a new back-off. */
const SETTLED_MS = 5_000;
/** Statuses of a ticket or a renewal that a repeat would not change. */
const REFUSALS = new Set([400, 401, 403, 404]);
/** Rejections of a subscription that may succeed at the next attempt. */
const PASSING = new Set([
  'overloaded',
  'store_unavailable',
  'too_many_requests',
  'internal',
  'engine_unavailable',
]);

export const createStream = (
  session: StreamSession,
  options: StreamOptions,
  env: Environment = environment,
): EventStream => new Stream(session, options, env);

class Stream implements EventStream {
  readonly #session: StreamSession;
  readonly #options: StreamOptions;
  readonly #env: Environment;
  readonly #buffer: number;
  readonly #items = createQueue<{ readonly item: StreamItem; readonly at: StreamCursor | null }>();
  readonly #commands: Commands;
  readonly #position: StreamPosition;
  readonly #stopped = new AbortController();
  readonly #unwatchNetwork: () => void;
  #state: StreamState = 'connecting';
  #link: StreamLink | null = null;
  #stopWaiting: (() => void) | null = null;
  #giveUpTicket: (() => void) | null = null;
  #attempt = 0;
  #renewed = false;
  #subscriptions = 0;
  #holes = 0;
  #heardAt: number | null = null;
  /** The reader is too slow; the stream reconnects once it has caught up. */
  #paused = false;
  #reading = false;

  constructor(session: StreamSession, options: StreamOptions, env: Environment) {
    this.#session = session;
    this.#options = options;
    this.#env = env;
    this.#buffer = options.buffer ?? 1_000;
    this.#commands = createCommands(env);
    this.#position = new StreamPosition(options.cursor ?? null, options.onCursor);
    this.#unwatchNetwork = env.network(() => this.#networkChanged());
    if (options.signal?.aborted === true) this.close();
    else {
      options.signal?.addEventListener('abort', this.close, { once: true });
      void this.#connect();
    }
  }
  get state(): StreamState {
    return this.#state;
  }
  get cursor(): StreamCursor | null {
    return this.#position.cursor;
  }
  get heard_at(): number | null {
    return this.#link?.heardAt ?? this.#heardAt;
  }
  get holes(): number {
    return this.#holes;
  }
  command(action: string, data?: object, how?: CommandOptions): Promise<unknown> {
    return this.#commands.run(action, data, how);
  }
  readonly close = (): void => this.#finish('closed by its owner', null);

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamItem, void, undefined> {
    if (this.#reading) throw new Error('a stream has one reader; open another stream for another');
    this.#reading = true;
    try {
      for (;;) {
        const entry = await this.#items.take();
        if (entry === null) return;
        this.#caughtUp();
        yield entry.item;
        this.#position.settle(entry.at);
      }
    } finally {
      this.close();
    }
  }
  #caughtUp(): void {
    if (!this.#paused || this.#items.size > this.#buffer / 2) return;
    this.#paused = false;
    void this.#connect();
  }

  #enter(next: StreamState, why: string): void {
    if (this.#state === next || this.#isClosed()) return;
    this.#state = next;
    const { onState } = this.#options;
    if (onState !== undefined) unharmed(() => onState(next, why));
  }
  #isClosed(): boolean {
    return this.#state === 'closed';
  }
  #finish(why: string, error: Error | null): void {
    if (this.#isClosed()) return;
    this.#enter('closed', why);
    this.#stopWaiting?.();
    this.#stopped.abort();
    this.#drop();
    this.#commands.end(error ?? clientError('not_sent', 'the stream is closed'));
    this.#items.end(error);
    this.#unwatchNetwork();
    this.#options.signal?.removeEventListener('abort', this.close);
  }
  /** Closes the connection and ignores its remaining frames. */
  #drop(): void {
    const old = this.#link;
    if (old === null) return;
    this.#link = null;
    this.#heardAt = old.heardAt ?? this.#heardAt;
    if (old.liveSince !== null && this.#env.now() - old.liveSince > SETTLED_MS) this.#attempt = 0;
    old.drop(1000);
    this.#commands.lost();
  }

  async #connect(): Promise<void> {
    this.#stopWaiting = null;
    let ticket: string;
    const late = new AbortController();
    this.#giveUpTicket = (): void => late.abort(new Error('no answer in time'));
    const inTime = this.#env.after(TICKET_MS, this.#giveUpTicket);
    try {
      ticket = await this.#session.ticket(AbortSignal.any([this.#stopped.signal, late.signal]));
    } catch (error) {
      return this.#failed('no ticket', error);
    } finally {
      inTime();
      this.#giveUpTicket = null;
    }
    if (this.#isClosed()) return;
    const url = new URL('/api/v1/stream', this.#session.base);
    url.protocol = url.protocol.replace('http', 'ws');
    url.searchParams.set('ticket', ticket);
    this.#link = new StreamLink(this.#env.open(url.href, PROTOCOL), this.#env, {
      onFrame: (frame, link) => this.#take(frame, link),
      onLost: (code, why, link) => {
        this.#drop();
        this.#closedWith(code, why, link);
      },
    });
  }
  #closedWith(code: number, why: string, { returnAt }: StreamLink): void {
    switch (code) {
      case CLOSE.not_authenticated:
      case CLOSE.session_ended:
        if (this.#renewed) return this.#finish(why, clientError('not_authenticated', why));
        this.#renewed = true;
        this.#enter('stale', why);
        this.#session.renew().then(
          () => this.#isClosed() || void this.#connect(),
          (error: unknown) => {
            this.#renewed = false;
            this.#failed('the session is not renewed', error);
          },
        );
        return;
      case CLOSE.not_allowed:
        return this.#finish(why, clientError('forbidden', why));
      case CLOSE.bad_frame:
      case CLOSE.protocol_unknown:
        return this.#finish(why, clientError('no_answer', why));
      default:
        this.#retry(why, returnAt === null ? undefined : Math.max(0, returnAt - this.#env.now()));
    }
  }
  /** A refusal ends the stream; any other failure may pass. */
  #failed(what: string, error: unknown): void {
    if (this.#isClosed()) return;
    const known = error instanceof OffhookError ? error : null;
    // Without a problem it is the answer of a proxy, e.g. 404 while the service behind it restarts.
    const isRefused =
      known?.code === 'not_authenticated' || (known?.problem != null && REFUSALS.has(known.status));
    if (known !== null && isRefused) return this.#finish(known.message, known);
    const wait = known?.retry_after ?? null;
    this.#retry(`${what}: ${String(error)}`, wait === null ? undefined : wait * 1000);
  }
  /** Full jitter, so that the clients of a lost server do not return at the same time. */
  #retry(why: string, ms?: number): void {
    this.#enter('stale', why);
    if (this.#paused) return;
    const most = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** this.#attempt);
    this.#attempt += 1;
    this.#stopWaiting = this.#env.after(ms ?? this.#env.random() * most, () => void this.#connect());
  }
  /** On a change of the network: starts a waiting attempt, pings an open connection, repeats a ticket request. */
  #networkChanged(): void {
    this.#link?.ask();
    this.#giveUpTicket?.();
    if (this.#stopWaiting === null) return;
    this.#stopWaiting();
    void this.#connect();
  }

  #subscribe(link: StreamLink, from: StreamPosition['resume']): void {
    const { topics, snapshot = false } = this.#options;
    link.patient = snapshot;
    link.asked = `s${(this.#subscriptions += 1)}`;
    link.send({ op: 'subscribe', id: link.asked, topics: [...topics], snapshot, ...from });
  }
  #live(link: StreamLink, why: string): void {
    link.liveSince ??= this.#env.now();
    this.#renewed = false;
    this.#enter('live', why);
  }
  #take(frame: ServerFrame, link: StreamLink): void {
    switch (frame.op) {
      case 'hello':
        this.#hello(frame.epoch, link);
        this.#commands.found((command) => link.send(command));
        return;
      case 'subscribed':
        if (frame.id === link.asked) this.#subscribed(frame, link);
        return;
      case 'resumed':
        if (link.subscribed) this.#resumed(link);
        return;
      case 'snapshot':
        if (!link.subscribed) return;
        this.#items.push({
          item: { type: 'snapshot', topic: frame.topic, cursor: frame.cursor, data: frame.data },
          at: this.#position.snapshot(frame.topic, frame.cursor),
        });
        link.patient = this.#position.isOwed;
        return;
      case 'event':
        if (link.subscribed) this.#event(frame.event as StreamEvent, frame.prev);
        return;
      case 'gap':
        if (link.subscribed) this.#gap(frame, link);
        return;
      case 'heartbeat':
        if (link.subscribed && frame.scanned > (this.#position.received ?? Infinity)) {
          this.#position.advance(frame.scanned);
          this.#settleIdle();
        }
        return;
      case 'reconnect':
        link.returnAt = this.#env.now() + frame.after_ms;
        return;
      case 'ping':
        link.send({ op: 'pong', ...(frame.id === undefined ? {} : { id: frame.id }) });
        return;
      case 'result':
        this.#commands.result(
          frame.id,
          frame.ok ? { data: frame.data } : { error: problemError(frame.error) },
        );
        return;
      case 'error':
        this.#refused(frame, link);
        return;
      default:
      // Frames newer than this client are ignored.
    }
  }
  #hello(epoch: string, link: StreamLink): void {
    this.#position.hello(epoch);
    if (this.#options.topics.length === 0) return this.#live(link, 'connected');
    if (this.#position.received !== null) this.#enter('resuming', 'connected');
    this.#subscribe(link, this.#position.resume);
  }
  #subscribed({ cursor, access }: ServerFrame & { op: 'subscribed' }, link: StreamLink): void {
    const { snapshot, topics } = this.#options;
    link.subscribed = true;
    this.#position.subscribed(access, snapshot === true ? topics : []);
    if (this.#position.received !== null) return;
    this.#awaitSnapshots();
    this.#position.advance(cursor);
    if (snapshot !== true) this.#settleIdle();
    this.#live(link, 'subscribed');
  }
  #resumed(link: StreamLink): void {
    link.patient = false;
    this.#live(link, 'everything missed was heard');
    if (!this.#position.isOwed) return;
    // The snapshots of all topics come, also of those that have theirs. The events go on beside them.
    this.#awaitSnapshots();
    this.#subscribe(link, {});
  }
  #awaitSnapshots(): void {
    if (this.#options.snapshot === true) this.#position.awaitSnapshots(this.#options.topics);
  }
  /** A reader that waits has processed everything received. */
  #settleIdle(): void {
    if (this.#items.waiting) this.#position.settle(this.#position.at(this.#position.received));
  }
  #event(item: StreamEvent, prev: number): void {
    const last = this.#position.received ?? 0;
    if (item.seq <= last) return;
    if (prev > last) {
      this.#holes += 1;
      this.#drop();
      return this.#retry(`a hole: ${prev} was not heard after ${last}`);
    }
    if (this.#items.size >= this.#buffer) {
      this.#paused = true;
      this.#drop();
      return this.#enter('stale', `the reader is ${this.#items.size} events behind`);
    }
    this.#items.push({ item, at: this.#position.event(item.seq, item.check) });
  }
  /** Events continue after `to`; requested snapshots come first. */
  #gap({ from, to, reason }: ServerFrame & { op: 'gap' }, link: StreamLink): void {
    this.#awaitSnapshots();
    link.patient = this.#position.isOwed;
    this.#items.push({ item: { type: 'gap', from, to, reason }, at: this.#position.gap(to) });
    this.#live(link, 'the missed events are no longer available');
  }
  #refused({ id, code, detail }: ServerFrame & { op: 'error' }, link: StreamLink): void {
    const error = clientError(code as OffhookError['code'], detail);
    if (id !== undefined && this.#commands.result(id, { error })) return;
    if (id === undefined || id !== link.asked) return;
    if (!PASSING.has(code)) return this.#finish(detail, error);
    this.#drop();
    this.#retry(detail);
  }
}
const problemError = (problem: Problem | undefined): OffhookError =>
  problem === undefined
    ? clientError('no_answer', 'the result says neither data nor error')
    : new OffhookError(problem.status, problem, null);
