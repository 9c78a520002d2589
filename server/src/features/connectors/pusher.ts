import type { ConnectorPush } from '@offhook/contract/connectors.ts';
import { rfc3339OrNull } from '../../core/clock.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PushKind } from './format/compile.ts';
import type { ConnectorSession } from './format/session.ts';
import type { LiveMessage } from './live-calls.ts';
import type { Directory } from './people.ts';
import { ranked } from './ranked.ts';

export interface PusherDeps {
  readonly clock: Clock;
  readonly people: Pick<Directory, 'person'>;
  /** Rejects a call whose ring the system does not want. */
  readonly reject: (call: string) => void;
}
/** Messages of one connector that wait or are on their way. */
const MAX_WAITING = 1_000;
/** Limit of one request: pushes and entries share the limits of the connector, so a slow push delays entries. */
const REQUEST_MS = 5_000;
const REPEAT_MS = 1_000;
/** Greatest age of a message. The end of a call may be older, because without it the call rings in the system for ever. */
const FRESH_MS: Readonly<Record<PushKind, number>> = {
  ringing: 20_000,
  answered: 60_000,
  transferred: 60_000,
  ended: 600_000,
};
/** How long the health check names the last message that was dropped. */
const NAMED_MS = 600_000;

/** Sends live calls to one system: those of a call in their order, those of several calls beside each other. */
export class Pusher {
  readonly #push: ConnectorSession['push'];
  readonly #kinds: ReadonlySet<PushKind>;
  readonly #deps: PusherDeps;
  /** Messages of each call that wait, in order. */
  readonly #waiting = new Map<string, LiveMessage[]>();
  /** Live calls whose `ringing` was dropped; the system has no call that a later message could refer to. */
  readonly #missed = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  readonly #closed = new AbortController();
  #size = 0;
  #sent = 0;
  #dropped = 0;
  #last: { readonly at: number; readonly words: string } | null = null;
  constructor(push: ConnectorSession['push'], kinds: readonly PushKind[], deps: PusherDeps) {
    this.#push = push;
    this.#kinds = new Set(kinds);
    this.#deps = deps;
  }
  /** As the connector shows it. */
  get state(): ConnectorPush {
    return {
      waiting: this.#size,
      sent: this.#sent,
      dropped: this.#dropped,
      last_dropped_at: rfc3339OrNull(this.#last?.at ?? null),
      words: this.#last?.words ?? null,
    };
  }
  /** Why messages were dropped lately; null where none was. */
  get trouble(): string | null {
    if (this.#last === null || Math.abs(this.#deps.clock.now() - this.#last.at) > NAMED_MS) return null;
    return `${this.#dropped} live messages were dropped, the last one because: ${this.#last.words}`;
  }
  add(message: LiveMessage): void {
    const { kind, call } = message;
    if (this.#closed.signal.aborted) return;
    const isMissed = this.#missed.has(call.id);
    if (kind === 'ended') this.#missed.delete(call.id);
    if (!this.#kinds.has(kind)) return;
    if (isMissed) return this.#drop('its ring was dropped');
    if (this.#size >= MAX_WAITING) {
      if (kind === 'ringing') this.#missed.add(call.id);
      return this.#drop(`more than ${MAX_WAITING} messages wait`);
    }
    this.#size += 1;
    const lane = this.#waiting.get(call.id);
    if (lane !== undefined) {
      lane.push(message);
      return;
    }
    this.#waiting.set(call.id, [message]);
    const work = this.#run(call.id).finally(() => this.#running.delete(work));
    this.#running.add(work);
  }
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#running);
  }

  #drop(words: string): void {
    this.#dropped += 1;
    this.#last = { at: this.#deps.clock.now(), words };
  }
  async #run(id: string): Promise<void> {
    const lane = this.#waiting.get(id)!;
    let knows = true;
    for (let message = lane[0]; message !== undefined && !this.#closed.signal.aborted; message = lane[0]) {
      if (!knows) this.#drop('its ring was dropped');
      else if (!(await this.#deliver(message)) && message.kind === 'ringing') knows = false;
      lane.shift();
      this.#size -= 1;
      // An ended call has no later message.
      if (!knows && message.kind === 'ended') knows = true;
    }
    this.#size -= lane.length;
    this.#waiting.delete(id);
    if (!knows) this.#missed.add(id);
  }
  /** False where the system was not sent the message. */
  async #deliver(message: LiveMessage): Promise<boolean> {
    const { clock, people } = this.#deps;
    const person = people.person(message.extension);
    const subject = { call: message.call, ...(person && { person }) };
    let words = 'the system has not answered in time';
    // A time ahead of now means that the clock was set back.
    while (Math.abs(clock.now() - message.at) <= FRESH_MS[message.kind]) {
      const result = await this.#within((signal) =>
        ranked('push', () => this.#push(message.kind, subject, signal)),
      );
      if (this.#closed.signal.aborted || result === null) return true;
      if (result.kind === 'done') {
        this.#sent += 1;
        if (result.value.reject) this.#deps.reject(message.call.id);
        return true;
      }
      ({ words } = result);
      // Sent again only where the system did nothing: it would take a second `ringing` for a second call.
      if (result.kind !== 'unsent') {
        this.#drop(words);
        return result.kind === 'unknown';
      }
      const ms = Math.max(REPEAT_MS, (result.retry_after_seconds ?? 0) * 1_000);
      await clock.sleep(ms, this.#closed.signal).catch(() => undefined);
      if (this.#closed.signal.aborted) return true;
    }
    this.#drop(words);
    return false;
  }
  async #within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const done = new AbortController();
    const late = new AbortController();
    this.#deps.clock.sleep(REQUEST_MS, done.signal).then(
      () => late.abort(new Error(`no answer within ${REQUEST_MS / 1_000} s`)),
      () => undefined,
    );
    try {
      return await work(AbortSignal.any([late.signal, this.#closed.signal]));
    } finally {
      done.abort();
    }
  }
}
