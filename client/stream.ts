/** The stream: one WebSocket at a time, resumed by cursor for as long as it is wanted. */
import type { Problem } from '@offhook/contract/errors.ts';
import type { ClientFrame, ServerFrame } from '@offhook/contract/stream.ts';
import { createCommands } from './commands.ts';
import type { CommandOptions } from './commands.ts';
import { environment } from './environment.ts';
import type { Environment } from './environment.ts';
import { OffhookError, clientError } from './errors.ts';
import type { StreamCursor, StreamEvent, StreamItem } from './events.ts';
import { CLOSE, PROTOCOL, parsed } from './protocol.ts';
import { createQueue } from './queue.ts';

/**
 * `connecting`: nothing was heard yet. `live`: what happens is heard as it happens. `resuming`: connected, what was missed
 * is on its way. `stale`: not connected; the next attempt is coming. `closed`: for good.
 */
export type StreamState = 'connecting' | 'live' | 'resuming' | 'stale' | 'closed';

export interface StreamOptions {
  /** e.g. `queues`, `queues/support`, `calls/mine`; none for a stream that only carries commands. */
  readonly topics: readonly string[];
  /** True: the state of each topic comes first, and again after a gap. */
  readonly snapshot?: boolean;
  /** A cursor kept from before: what came after it is heard first. */
  readonly cursor?: StreamCursor | null;
  /** Told of each cursor whose events are done with: the loop has come back for the next one. */
  readonly onCursor?: (cursor: StreamCursor) => void;
  readonly onState?: (state: StreamState, why: string) => void;
  /** Items that may wait for a slow reader; then the connection is given up and resumed when it has caught up. 1,000. */
  readonly buffer?: number;
  readonly signal?: AbortSignal;
}
/** Read it with one `for await`; leaving the loop closes it. The loop throws what ended the stream for good. */
export interface EventStream extends AsyncIterable<StreamItem> {
  readonly state: StreamState;
  /** Where a later stream can go on; null until the first subscription. */
  readonly cursor: StreamCursor | null;
  /** When the last frame came, ms since 1970; null before the first. */
  readonly heard_at: number | null;
  /** Holes that were found and filled by resuming. */
  readonly holes: number;
  /** As `client.command`, on this connection. */
  command(action: string, data?: object, options?: CommandOptions): Promise<unknown>;
  close(): void;
}
/** What the stream needs of the client. */
export interface StreamSession {
  readonly base: string;
  /** One ticket for one upgrade. */
  ticket(signal: AbortSignal): Promise<string>;
  /** Gets a new token; rejects where the session is over. */
  renew(): Promise<unknown>;
}
const BACKOFF_MS = 500;
/** Somebody looks at a page that is not live: what is back is found within seconds. */
const BACKOFF_MAX_MS = 8_000;
/** How long a ticket may take: after a cut the browser may ask on a connection that is dead, for as long as it is let. */
const TICKET_MS = 5_000;
/** How long a connection may take to its hello. */
const HELLO_MS = 10_000;
/** A connection that lived this long was a good one: the next failure is a first one. */
const SETTLED_MS = 5_000;
/** Refusals of a subscription that the next attempt may not meet again. */
const PASSING = new Set([
  'overloaded',
  'store_unavailable',
  'too_many_requests',
  'internal',
  'engine_unavailable',
]);

/** One connection; what it says counts only while it is the current one. */
interface Link {
  readonly socket: WebSocket;
  readonly stopWatching: () => void;
  /** Makes it show that it lives. */
  ask: () => void;
  liveSince: number | null;
  /** Id of the subscription whose events count; null until it is asked for. */
  asked: string | null;
  subscribed: boolean;
  /** From a `reconnect` frame: when the next attempt is welcome. */
  returnAt: number | null;
}

export function createStream(
  session: StreamSession,
  options: StreamOptions,
  env: Environment = environment,
): EventStream {
  const { topics, snapshot = false, buffer = 1_000, onCursor, onState } = options;
  const items = createQueue<{ readonly item: StreamItem; readonly at: StreamCursor | null }>();
  const commands = createCommands(env);
  const stopped = new AbortController();
  let state: StreamState = 'connecting';
  let link: Link | null = null;
  let stopWaiting: (() => void) | null = null;
  let giveUpTicket: (() => void) | null = null;
  let attempt = 0;
  let renewed = false;
  let subscriptions = 0;
  let holes = 0;
  let heardAt: number | null = null;
  /** The reader was too slow: nothing is asked for until it has caught up. */
  let paused = false;
  let epoch: string | null = options.cursor?.epoch ?? null;
  /** Newest seq that was taken in; what resumes starts there. */
  let received: number | null = options.cursor?.seq ?? null;
  let cursor: StreamCursor | null = options.cursor ?? null;
  let reading = false;
  /** Snapshots that are on their way. A connection that is lost before them is as if it had not been: they come only then. */
  const awaited = new Set<string>();
  /** Check of the newest processed event, for `epoch`. */
  let check: string | null = options.cursor?.check ?? null;
  let before: {
    readonly received: number | null;
    readonly epoch: string | null;
    readonly check: string | null;
  } = { received, epoch, check };

  function enter(next: StreamState, why: string): void {
    if (state === next || state === 'closed') return;
    state = next;
    onState?.(next, why);
  }
  function finish(why: string, error: Error | null): void {
    if (state === 'closed') return;
    enter('closed', why);
    stopWaiting?.();
    stopped.abort();
    drop(1000);
    commands.end(error ?? clientError('not_sent', 'the stream is closed'));
    items.end(error);
    unwatchNetwork();
    options.signal?.removeEventListener('abort', close);
  }
  const close = (): void => finish('closed by its owner', null);
  /** Gives up the connection, whatever it was going to say. */
  function drop(code: number): void {
    const old = link;
    if (old === null) return;
    link = null;
    if (old.liveSince !== null && env.now() - old.liveSince > SETTLED_MS) attempt = 0;
    old.stopWatching();
    old.socket.close(code);
    commands.lost();
  }

  async function connect(): Promise<void> {
    stopWaiting = null;
    let ticket: string;
    const late = new AbortController();
    giveUpTicket = (): void => late.abort(new Error('no answer in time'));
    const inTime = env.after(TICKET_MS, giveUpTicket);
    try {
      ticket = await session.ticket(AbortSignal.any([stopped.signal, late.signal]));
    } catch (error) {
      if (state === 'closed') return;
      const refused = error instanceof OffhookError && [400, 401, 403, 404].includes(error.status);
      if (refused) return finish(error.message, error);
      const wait = error instanceof OffhookError ? error.retry_after : null;
      return retry(`no ticket: ${String(error)}`, wait === null ? undefined : wait * 1000);
    } finally {
      inTime();
      giveUpTicket = null;
    }
    if (state === 'closed') return;
    const url = new URL('/api/v1/stream', session.base);
    url.protocol = url.protocol.replace('http', 'ws');
    url.searchParams.set('ticket', ticket);
    open(env.open(url.href, PROTOCOL));
  }
  function open(socket: WebSocket): void {
    const own: Link = {
      socket,
      stopWatching: () => stopWatch(),
      ask: () => undefined,
      liveSince: null,
      asked: null,
      subscribed: false,
      returnAt: null,
    };
    let asking = false;
    let stopWatch = env.after(HELLO_MS, () => lost('no greeting came'));
    link = own;
    const lost = (why: string, code = 0): void => {
      if (link !== own) return;
      drop(1000);
      closedWith(code, why, own);
    };
    /**
     * A cut network says nothing, and a laptop that slept wakes to a socket that looks open and is dead: who is quiet for a
     * third of a heartbeat is asked, and given up where no answer comes in another third.
     */
    const watch = (interval: number): void => {
      const third = interval / 3;
      const wait = (ms: number): void => {
        stopWatch();
        stopWatch = env.after(ms, look);
      };
      const ask = (): void => {
        asking = true;
        send(own, { op: 'ping' });
        wait(third);
      };
      const look = (): void => {
        const quiet = env.now() - (heardAt ?? 0);
        if (asking || quiet > 2 * interval) lost(`nothing was heard for ${Math.round(quiet / 1000)} s`);
        // It is below zero where the machine's clock was set back.
        else if (quiet >= 0 && quiet < third) wait(third - quiet);
        else ask();
      };
      own.ask = ask;
      wait(third);
    };
    socket.addEventListener('message', ({ data }) => {
      if (link !== own) return;
      heardAt = env.now();
      asking = false;
      const frame = parsed(data);
      if (frame === null) return lost('what came is no frame');
      if (frame.op === 'hello') watch(frame.heartbeat_seconds * 1000);
      take(frame, own);
    });
    socket.addEventListener('close', ({ code, reason }) => lost(reason || `closed with ${code}`, code));
    // A close follows every error and says more.
    socket.addEventListener('error', () => undefined);
  }

  function closedWith(code: number, why: string, { returnAt }: Link): void {
    switch (code) {
      case CLOSE.not_authenticated:
      case CLOSE.session_ended:
        if (renewed) return finish(why, clientError('not_authenticated', why));
        renewed = true;
        enter('stale', why);
        session.renew().then(
          () => state === 'closed' || void connect(),
          (error: Error) => finish(why, error),
        );
        return;
      case CLOSE.not_allowed:
        return finish(why, clientError('forbidden', why));
      case CLOSE.bad_frame:
      case CLOSE.protocol_unknown:
        return finish(why, clientError('no_answer', why));
      default:
        retry(why, returnAt === null ? undefined : Math.max(0, returnAt - env.now()));
    }
  }
  /** Full jitter: everybody who lost the same server comes back at a time of their own. */
  function retry(why: string, ms?: number): void {
    enter('stale', why);
    if (paused) return;
    const most = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** attempt);
    attempt += 1;
    stopWaiting = env.after(ms ?? env.random() * most, () => void connect());
  }
  /** The network came or went: what waits is tried at once, and what is open or asked must show that it lives. */
  function networkChanged(): void {
    link?.ask();
    giveUpTicket?.();
    if (stopWaiting === null) return;
    stopWaiting();
    void connect();
  }

  const send = (own: Link, frame: ClientFrame): void => own.socket.send(JSON.stringify(frame));
  function subscribe(own: Link): void {
    own.subscribed = false;
    own.asked = `s${(subscriptions += 1)}`;
    const from =
      received === null
        ? {}
        : {
            cursor: received,
            ...(epoch === null ? {} : { epoch }),
            ...(epoch === null || check === null ? {} : { check }),
          };
    send(own, { op: 'subscribe', id: own.asked, topics: [...topics], snapshot, ...from });
  }
  function live(own: Link, why: string): void {
    own.liveSince ??= env.now();
    renewed = false;
    enter('live', why);
  }

  function take(frame: ServerFrame, own: Link): void {
    switch (frame.op) {
      case 'hello':
        hello(frame.epoch, own);
        commands.found((command) => send(own, command));
        return;
      case 'subscribed':
        if (frame.id !== own.asked) return;
        own.subscribed = true;
        if (received === null) {
          awaitSnapshots();
          received = frame.cursor;
          if (!snapshot) settle();
          live(own, 'subscribed');
        }
        return;
      case 'resumed':
        if (own.subscribed) live(own, 'everything missed was heard');
        return;
      case 'snapshot':
        if (!own.subscribed) return;
        awaited.delete(frame.topic);
        // Events follow from the oldest of several.
        received = Math.min(received ?? frame.cursor, frame.cursor);
        items.push({
          item: { type: 'snapshot', topic: frame.topic, cursor: frame.cursor, data: frame.data },
          // Going on from here later would be without the snapshots that follow this one.
          at: awaited.size === 0 ? placeOf(received) : null,
        });
        return;
      case 'event':
        if (own.subscribed) event(frame.event as StreamEvent, frame.prev);
        return;
      case 'gap':
        if (own.subscribed) gap(frame, own);
        return;
      case 'heartbeat':
        if (own.subscribed && received !== null && frame.scanned > received) {
          received = frame.scanned;
          settle();
        }
        return;
      case 'reconnect':
        own.returnAt = env.now() + frame.after_ms;
        return;
      case 'ping':
        send(own, { op: 'pong', ...(frame.id === undefined ? {} : { id: frame.id }) });
        return;
      case 'result':
        commands.result(frame.id, frame.ok ? { data: frame.data } : { error: problemError(frame.error) });
        return;
      case 'error':
        refused(frame, own);
        return;
      default:
      // Frames that are newer than this client say nothing to it.
    }
  }
  let serverEpoch = '';
  function awaitSnapshots(): void {
    if (!snapshot) return;
    before = { received, epoch, check };
    for (const topic of topics) awaited.add(topic);
  }
  function hello(now: string, own: Link): void {
    serverEpoch = now;
    if (awaited.size > 0) ({ received, epoch, check } = before);
    awaited.clear();
    if (received === null) [epoch, check] = [now, null];
    if (topics.length === 0) return live(own, 'connected');
    if (received !== null) enter('resuming', 'connected');
    subscribe(own);
  }
  function event(item: StreamEvent, prev: number): void {
    const last = received ?? 0;
    if (item.seq <= last) return;
    if (prev > last) {
      holes += 1;
      drop(1000);
      return retry(`a hole: ${prev} was not heard after ${last}`);
    }
    if (items.size >= buffer) {
      paused = true;
      drop(1000);
      return enter('stale', `the reader is ${items.size} events behind`);
    }
    received = item.seq;
    if (item.check !== undefined) check = `${item.seq}:${item.check}`;
    awaited.clear();
    items.push({ item, at: placeOf(item.seq) });
  }
  /** What follows is led on from `to`; where snapshots were asked for they follow first. */
  function gap({ from, to, reason }: ServerFrame & { op: 'gap' }, own: Link): void {
    awaitSnapshots();
    epoch = serverEpoch;
    check = null;
    received = to;
    items.push({ item: { type: 'gap', from, to, reason }, at: snapshot ? null : placeOf(to) });
    live(own, 'what was missed cannot be had any more');
  }
  function refused({ id, code, detail }: ServerFrame & { op: 'error' }, own: Link): void {
    const error = clientError(code as OffhookError['code'], detail);
    if (id !== undefined && commands.result(id, { error })) return;
    if (id === undefined || id !== own.asked) return;
    if (!PASSING.has(code)) return finish(detail, error);
    drop(1000);
    retry(detail);
  }

  const placeOf = (seq: number): StreamCursor | null =>
    epoch === null ? null : { epoch, seq, ...(check === null ? {} : { check }) };
  /** The cursor follows what the reader is done with; one that waits is done with everything. */
  function settle(done = items.waiting && received !== null ? placeOf(received) : null): void {
    if (done === null || (cursor?.seq === done.seq && cursor.epoch === done.epoch)) return;
    cursor = done;
    onCursor?.(done);
  }
  function caughtUp(): void {
    if (!paused || items.size > buffer / 2) return;
    paused = false;
    void connect();
  }
  async function* read(): AsyncGenerator<StreamItem, void, undefined> {
    if (reading) throw new Error('a stream has one reader; open another stream for another');
    reading = true;
    try {
      for (;;) {
        const entry = await items.take();
        if (entry === null) return;
        caughtUp();
        yield entry.item;
        settle(entry.at);
      }
    } finally {
      close();
    }
  }

  const unwatchNetwork = env.network(networkChanged);
  if (options.signal?.aborted === true) close();
  else {
    options.signal?.addEventListener('abort', close, { once: true });
    void connect();
  }
  return {
    get state() {
      return state;
    },
    get cursor() {
      return cursor;
    },
    get heard_at() {
      return heardAt;
    },
    get holes() {
      return holes;
    },
    command: (action, data, how) => commands.run(action, data, how),
    close,
    [Symbol.asyncIterator]: read,
  };
}
const problemError = (problem: Problem | undefined): OffhookError =>
  problem === undefined
    ? clientError('no_answer', 'the result says neither data nor error')
    : new OffhookError(problem.status, problem, null);
