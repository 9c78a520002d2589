/** One WebSocket of the event stream: its messages, its subscription and its commands. */
import type { Duplex } from 'node:stream';
import type { z } from 'zod';
import type { Language, Problem } from '@offhook/contract/errors.ts';
import {
  CLOSE_CODES,
  ClientFrame,
  MAX_BAD_FRAMES,
  MAX_TOPICS,
  STREAM_PROTOCOL,
} from '@offhook/contract/stream.ts';
import type { ServerFrame } from '@offhook/contract/stream.ts';
import { ServiceError, problemOf } from '../core/errors.ts';
import { Bucket } from '../core/rate-limit.ts';
import { say } from '../core/said.ts';
import { FrameError, closeFrame, serverFrame } from '../websocket/frames.ts';
import type { Caller } from '../ports/http.ts';
import { Client } from './client.ts';
import { MessageReader } from './message-reader.ts';
import { accessOf, heardSince, namesOf } from '../rights/hearing.ts';
import type { Heard } from '../rights/hearing.ts';
import { gapOf, reachOf } from './cursor.ts';
import type { Parts } from './parts.ts';
import { WEBSOCKET, frameOf, heartbeatOf, idOf, invalid, parsed } from './stream-frames.ts';
import type { Id } from './stream-frames.ts';

type Frame<O extends ClientFrame['op']> = Extract<z.output<typeof ClientFrame>, { op: O }>;
/** A change of the subscription; it waits until the connection has sent everything up to the head. */
type Change =
  | {
      readonly op: 'subscribe';
      readonly frame: Frame<'subscribe'>;
      readonly by: number;
      /** Result of the wait for its cursor; null before it. */
      reached: true | ServiceError | null;
    }
  | { readonly op: 'unsubscribe'; readonly frame: Frame<'unsubscribe'> }
  | { readonly op: 'show'; readonly topics: ReadonlySet<string> };

/** Unsent bytes above which the connection counts as full. */
const FULL = 64 * 1024;
/** Unsent bytes above which the connection stops reading: a client that does not read replies causes no new ones. */
const NO_MORE_READ = 256 * 1024;
/** Rates a client may send: frames, pings and pongs, subscriptions. */
const FRAMES = { burst: 200, per_second: 100 };
const CONTROLS = { burst: 40, per_second: 10 };
const SUBSCRIBES = { burst: 40, per_second: 5 };
const MAX_CHANGES = 16;
const MAX_COMMANDS = 32;
/** Longest wait for a snapshot, in ms: while its disk is full, the journal accepts no write and the wait has no end. */
const SNAPSHOT_MS = 5_000;
const LINGER_MS = 1_000;
/** A slow client receives the frames already queued before the close frame. */
const LINGER_SLOW_MS = 10_000;

/** One WebSocket of the stream, from its handshake to its close. */
export class Connection extends Client {
  readonly #language: Language;
  readonly #parts: Parts;
  readonly #socket: Duplex;
  readonly #messages = new MessageReader();
  readonly #rate = new Bucket(FRAMES);
  readonly #control = new Bucket(CONTROLS);
  #subscribes: Bucket | null = null;
  #bad = 0;
  #commands = 0;
  #changes: Change[] = [];
  /** Topics subscribed with a snapshot. */
  #shown = new Set<string>();
  /** Seq since which each name is received, so that a cursor yields exactly the events not yet sent. */
  #since: ReadonlyMap<string, number> = new Map();
  #resuming = false;
  #processing = false;
  #ended = false;

  /** `language` selects the texts of refusals. */
  constructor(
    parts: Parts & { readonly language: Language },
    socket: Duplex,
    caller: Caller,
    ip: string | null,
  ) {
    super(WEBSOCKET, caller, ip);
    this.#parts = parts;
    this.#language = parts.language;
    this.#socket = socket;
  }
  /** Sends `hello` and begins to read; `head` holds the bytes that came with the handshake. */
  open(head: Buffer): void {
    const { journal, clients, heartbeatSeconds } = this.#parts;
    const socket = this.#socket;
    clients.add(this);
    this.#say({
      op: 'hello',
      protocol: STREAM_PROTOCOL,
      epoch: journal.epoch,
      head: journal.head,
      heartbeat_seconds: heartbeatSeconds,
      level: this.caller.level,
    });
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('drain', () => {
      this.heardAt = clients.now;
      socket.resume();
      this.#parts.hub.takes(this);
    });
    socket.on('end', () => this.vanish());
    socket.on('close', () => this.vanish());
    if (head.length > 0) this.#read(head);
  }

  get full(): boolean {
    return this.#socket.writableLength >= FULL;
  }
  get unsent(): number {
    return this.#socket.writableLength;
  }
  get talks(): boolean {
    return !this.#socket.isPaused();
  }
  send(bytes: Buffer): void {
    if (this.#ended || !this.#socket.writable) return;
    this.#socket.write(bytes);
    const unsent = this.#socket.writableLength;
    this.waits ||= unsent > 0;
    if (unsent > NO_MORE_READ) this.#socket.pause();
  }
  #say(frame: ServerFrame): void {
    this.send(frameOf(frame));
  }
  heartbeat(scanned: number, time: string): void {
    this.send(heartbeatOf(scanned, time));
  }
  tooSlow(): void {
    this.end(CLOSE_CODES.too_slow, 'too slow; resume with the last seq');
  }
  missed(from: number, to: number): void {
    this.#resuming = false;
    this.#since = new Map([...this.#since].map(([name, since]) => [name, Math.max(since, to)]));
    this.#say({ op: 'gap', from, to, reason: 'cursor_outdated' });
    if (this.#shown.size > 0) this.#changes.unshift({ op: 'show', topics: new Set(this.#shown) });
  }
  caughtUp(): void {
    if (this.#resuming) {
      this.#resuming = false;
      this.#say({ op: 'resumed', cursor: this.#parts.hub.positionOf(this) });
    }
    this.#process();
  }
  rightsChanged(changed: readonly Heard[]): void {
    const { hub } = this.#parts;
    if (this.mode === 'idle') return;
    const names = this.names;
    if (this.backlog !== null) {
      const only = this.heard.flatMap((one) => one.names).filter((name) => this.backlog?.only.has(name));
      this.backlog = { ...this.backlog, only: new Set(only) };
    }
    const at = hub.positionOf(this);
    this.#since = heardSince(this.#since, this.heard, at);
    hub.attach(this, names, at, this.last);
    const topics = new Set(changed.map((one) => one.topic).filter((topic) => this.#shown.has(topic)));
    if (topics.size > 0) this.#changes.push({ op: 'show', topics });
    this.#process();
  }
  vanish(): void {
    this.#leave();
    this.#socket.destroy();
  }
  end(code: number, reason: string): void {
    if (this.#leave()) this.#close(closeFrame(code, reason), code === CLOSE_CODES.too_slow);
  }
  /** A planned end: the client receives the time after which to reconnect. */
  restart(afterMs: number): void {
    if (this.#ended) return;
    this.#say({ op: 'reconnect', after_ms: afterMs });
    this.end(CLOSE_CODES.restarting, 'the service is restarting');
  }
  #leave(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#changes = [];
    this.#parts.clients.remove(this);
    return true;
  }
  #close(frame: Buffer, slow = false): void {
    const socket = this.#socket;
    socket.resume();
    if (socket.writable) socket.end(frame);
    this.#parts.clients.cutOff(() => socket.destroy(), slow ? LINGER_SLOW_MS : LINGER_MS);
  }

  #read(chunk: Buffer): void {
    if (this.#ended) return;
    this.heardAt = this.#parts.clients.now;
    try {
      this.#messages.push(chunk, this);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.end(error.code, error.message);
    }
  }
  ping(payload: Buffer): void {
    if (!this.#control.take()) throw new FrameError(1008, 'too many pings');
    this.send(serverFrame(0xa, payload));
  }
  pong(): void {
    if (!this.#control.take()) throw new FrameError(1008, 'too many pongs');
  }
  closed(code: number): void {
    if (this.#leave()) this.#close(closeFrame(code === 1005 ? 1000 : code, ''));
  }
  binary(): void {
    this.#refuse(
      undefined,
      new ServiceError('bad_frame', 'binary frame: send each frame as text with one JSON object'),
    );
  }
  text(message: string): void {
    if (this.#ended) return;
    let id: Id | undefined;
    try {
      const raw = parsed(message);
      id = idOf(raw);
      if (!this.#rate.take())
        throw new ServiceError('too_many_requests', 'more than 100 frames per second; send fewer');
      const { success, data: frame, error } = ClientFrame.safeParse(raw);
      if (!success) throw invalid(raw, error);
      this.#take(frame);
      this.#bad = 0;
    } catch (error) {
      this.#refuse(id, error);
    }
  }
  #refuse(id: Id | undefined, thrown: unknown): void {
    if (this.#ended) return;
    const { code, detail } = this.#problem(thrown);
    this.#say({ op: 'error', ...(id === undefined ? {} : { id }), code, detail });
    this.#bad += 1;
    if (this.#bad >= MAX_BAD_FRAMES) this.end(CLOSE_CODES.bad_frame, `${MAX_BAD_FRAMES} bad frames in a row`);
  }
  #problem(thrown: unknown): Problem {
    if (!(thrown instanceof ServiceError))
      this.#parts.log.error({ err: thrown }, 'a frame of a client caused an unexpected error');
    return problemOf(thrown, undefined, this.#language);
  }
  #take(frame: ClientFrame): void {
    switch (frame.op) {
      case 'ping':
        return this.#say({ op: 'pong', ...(frame.id === undefined ? {} : { id: frame.id }) });
      case 'pong':
        return;
      case 'command':
        return this.#command(frame);
      case 'subscribe':
      case 'unsubscribe':
        this.#subscribes ??= new Bucket(SUBSCRIBES);
        if (!this.#subscribes.take() || this.#changes.length >= MAX_CHANGES) {
          throw new ServiceError('too_many_requests', 'too many changes of the subscription; slow down');
        }
        if (frame.op === 'subscribe') {
          // Rejected at once instead of in order, so that it counts as a bad frame.
          this.#parts.clients.hearAll(this.caller, frame.topics);
          this.#changes.push({ op: 'subscribe', frame, by: performance.now() + SNAPSHOT_MS, reached: null });
        } else this.#changes.push({ op: 'unsubscribe', frame });
        this.#process();
    }
  }
  #command({ id, action, data, idempotency_key }: Frame<'command'>): void {
    if (this.#commands >= MAX_COMMANDS) {
      throw new ServiceError(
        'too_many_requests',
        say`${MAX_COMMANDS} commands of this stream are under way; wait for one of them`,
      );
    }
    this.#commands += 1;
    const actor = { caller: this.caller, ip: this.ip, language: this.#language };
    void this.#parts.commands
      .run(actor, action, data ?? {}, idempotency_key)
      .then(
        (result) => this.#say({ op: 'result', id, ok: true, data: result }),
        (error: unknown) => this.#say({ op: 'result', id, ok: false, error: this.#problem(error) }),
      )
      .finally(() => (this.#commands -= 1));
  }

  /** Runs the waiting changes in order, as far as possible now. */
  #process(): void {
    if (this.#processing) return;
    this.#processing = true;
    try {
      for (;;) {
        const [change] = this.#changes;
        if (change === undefined || this.#ended) return;
        if (this.mode !== 'idle' && !this.#parts.hub.bringUp(this)) return;
        try {
          if (!this.#run(change)) return;
        } catch (error) {
          this.#refuse(change.op === 'show' ? undefined : change.frame.id, error);
        }
        this.#changes.shift();
      }
    } finally {
      this.#processing = false;
    }
  }
  #run(change: Change): boolean {
    switch (change.op) {
      case 'subscribe':
        if (change.reached === null) return this.#reach(change);
        if (change.reached !== true) throw change.reached;
        return this.#subscribe(change.frame, change.by);
      case 'unsubscribe':
        this.#unsubscribe(change.frame);
        return true;
      case 'show': {
        const heard = this.heard.filter((one) => change.topics.has(one.topic));
        const snapshot = this.#parts.snapshots.take(heard, this.framing, () => this.#process());
        for (const frame of snapshot?.frames ?? []) this.send(frame);
        return snapshot !== null;
      }
    }
  }
  /** Begins a subscription, at once or after the wait for its cursor. */
  #reach(change: Extract<Change, { op: 'subscribe' }>): boolean {
    const waiting = reachOf(this.#parts, change.frame);
    if (waiting === null) {
      change.reached = true;
      return this.#subscribe(change.frame, change.by);
    }
    waiting
      .then(
        () => (change.reached = true),
        (error: ServiceError) => (change.reached = error),
      )
      .finally(() => this.#process());
    return false;
  }
  #subscribe(frame: Frame<'subscribe'>, by: number): boolean {
    const { hub, clients, snapshots, journal } = this.#parts;
    const fresh = clients.hearAll(this.caller, frame.topics);
    const topics = fresh.map((one) => one.topic);
    const heard = [...this.heard.filter((one) => !topics.includes(one.topic)), ...fresh];
    if (heard.length > MAX_TOPICS) {
      throw new ServiceError('invalid_request', say`topics: more than ${MAX_TOPICS} in one subscription`);
    }
    const { head } = journal;
    const gap = gapOf(this.#parts, frame);
    const wants = frame.snapshot === true && (frame.cursor === undefined || gap !== null);
    const snapshot = wants ? snapshots.take(fresh, this.framing, () => this.#process()) : null;
    if (wants && snapshot === null) {
      if (performance.now() < by) return false;
      throw new ServiceError('store_unavailable', 'the snapshot cannot be built now; try again later');
    }
    const resumes = frame.cursor !== undefined && gap === null;
    const from = resumes ? frame.cursor! : head;
    this.#say({ op: 'subscribed', id: frame.id, topics, cursor: from, access: accessOf(this.caller, fresh) });
    if (gap !== null) this.#say({ op: 'gap', from: frame.cursor!, to: head, reason: gap });
    for (const bytes of snapshot?.frames ?? []) this.send(bytes);
    if (frame.snapshot === true) for (const topic of topics) this.#shown.add(topic);
    const had = this.#since;
    this.heard = heard;
    this.#since = heardSince(had, heard, head, fresh, from);
    const names = this.names;
    this.#resuming ||= resumes;
    if (this.mode === 'idle') {
      if (hub.attach(this, names, from, from)) this.#caughtUpNow();
      return true;
    }
    if (resumes && from < head) {
      this.backlog = { at: from, to: head, only: new Set(namesOf(fresh)), had };
    }
    if (hub.attach(this, names, head, this.last)) this.#caughtUpNow();
    return true;
  }
  #caughtUpNow(): void {
    if (!this.#resuming) return;
    this.#resuming = false;
    this.#say({ op: 'resumed', cursor: this.#parts.journal.head });
  }
  #unsubscribe({ id, topics }: Frame<'unsubscribe'>): void {
    const { hub } = this.#parts;
    this.heard = this.heard.filter((one) => !topics.includes(one.topic));
    this.#since = heardSince(this.#since, this.heard, hub.positionOf(this));
    for (const topic of topics) this.#shown.delete(topic);
    this.#say({ op: 'unsubscribed', id, topics });
    if (this.heard.length === 0) hub.leave(this);
    else if (this.mode !== 'idle') hub.attach(this, this.names, hub.positionOf(this), this.last);
  }
}
