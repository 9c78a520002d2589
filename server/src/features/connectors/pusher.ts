import type { ConnectorPush } from '@offhook/contract/connectors.ts';
import { rfc3339OrNull } from '../../core/clock.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ConnectorCustomer } from './format/customers.ts';
import type { ConnectorSession, ConnectorUser, EntrySubject, PersonView } from './format/session.ts';
import type { LiveKind, LiveMessage } from './live-calls.ts';
import type { Directory } from './people.ts';
import { ranked } from './ranked.ts';

export interface PusherDeps {
  readonly clock: Clock;
  readonly people: Pick<Directory, 'person'>;
  /** User of the system with the e-mail of a person; null if there is none. */
  readonly userOf: (person: PersonView, signal: AbortSignal) => Promise<ConnectorUser | null>;
  /** Customer of the system with this number; null if the system knows none or does not answer in time. */
  readonly customerOf: (number: string) => Promise<ConnectorCustomer | null>;
  /** Rejects a call because the system's answer to its `ringing` asked for it. */
  readonly reject: (call: string) => void;
}
/** Limit of messages of one connector that wait or are being sent. */
const MAX_WAITING = 1_000;
/** Limit of one request: pushes and entries share the limits of the connector, so a slow push delays entries. */
const REQUEST_MS = 5_000;
const REPEAT_MS = 1_000;
/** Greatest age of a message. The end of a call may be older, or the call would ring in the system for ever. */
const FRESH_MS: Readonly<Record<LiveKind, number>> = {
  ringing: 20_000,
  answered: 60_000,
  transferred: 60_000,
  ended: 600_000,
  rings: 20_000,
  talks: 20_000,
  left: 600_000,
};
/** Limit of calls whose id in the system is remembered. */
const MAX_IDS = 10_000;
/** Time for which the health check reports the last dropped message. */
const NAMED_MS = 600_000;

/** Sends messages about live calls to one system: those of one call in order, those of different calls concurrently. */
export class Pusher {
  readonly #session: Pick<ConnectorSession, 'push' | 'show'>;
  readonly #kinds: ReadonlySet<LiveKind>;
  /** Id of each call in the system, and the extensions to which the system shows each call. */
  readonly #ids = new Map<string, string>();
  readonly #shown = new Map<string, Set<string>>();
  readonly #deps: PusherDeps;
  /** Waiting messages of each call, in order; the first one is being sent. */
  readonly #waiting = new Map<string, LiveMessage[]>();
  /** Live calls with a dropped `ringing`: the system does not have the call to which later messages refer. */
  readonly #missed = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  readonly #closed = new AbortController();
  #size = 0;
  #sent = 0;
  #dropped = 0;
  #last: { readonly at: number; readonly words: string } | null = null;
  constructor(
    session: Pick<ConnectorSession, 'push' | 'show'>,
    kinds: readonly LiveKind[],
    deps: PusherDeps,
  ) {
    this.#session = session;
    this.#kinds = new Set(kinds);
    this.#deps = deps;
  }
  /** State in the reply about the connector. */
  get state(): ConnectorPush {
    return {
      waiting: this.#size,
      sent: this.#sent,
      dropped: this.#dropped,
      last_dropped_at: rfc3339OrNull(this.#last?.at ?? null),
      words: this.#last?.words ?? null,
    };
  }
  /** Reason of the last dropped message; null if none was dropped lately. */
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
      if (kind === 'left' && this.#unshown(lane, message)) return;
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

  /** Drops the waiting show of a person who left before it was sent; the hide is then not sent either. */
  #unshown(queued: LiveMessage[], { extension }: LiveMessage): boolean {
    // The first message is being sent.
    const at = queued.findIndex(
      (one, n) => n > 0 && (one.kind === 'rings' || one.kind === 'talks') && one.extension === extension,
    );
    if (at < 0) return false;
    queued.splice(at, 1);
    this.#size -= 2;
    return true;
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
      // No message follows the end of a call, so the call need not be remembered as missed.
      if (!knows && message.kind === 'ended') knows = true;
    }
    this.#size -= lane.length;
    this.#waiting.delete(id);
    if (!knows) this.#missed.add(id);
  }
  /** Sends one message; false if the system did not receive it. */
  async #deliver(message: LiveMessage): Promise<boolean> {
    const { clock, people } = this.#deps;
    const person = people.person(message.extension);
    const known =
      person === null
        ? null
        : await this.#within((signal) => ranked('push', () => this.#deps.userOf(person, signal)));
    const pushed = this.#ids.get(message.call.id);
    const subject: EntrySubject = {
      call: message.call,
      // Always set, so that a file can choose another user for a person without a user.
      user: known ?? { id: '', email: null, name: null },
      ...(person && { person }),
      ...(pushed !== undefined && { pushed }),
    };
    const { kind } = message;
    if (kind === 'rings' || kind === 'talks' || kind === 'left')
      return known === null || this.#show(message, kind, subject);
    let words = 'the system has not answered in time';
    // The absolute value also drops messages from the future, which a clock that was set back causes.
    while (Math.abs(clock.now() - message.at) <= FRESH_MS[message.kind]) {
      const result = await this.#within((signal) =>
        ranked('push', () => this.#session.push(kind, subject, signal)),
      );
      if (this.#closed.signal.aborted || result === null) return true;
      if (result.kind === 'done') {
        this.#sent += 1;
        if (result.value.reject) this.#deps.reject(message.call.id);
        if (result.value.id !== null) this.#remember(message.call.id, result.value.id);
        return true;
      }
      ({ words } = result);
      // Sent again only if the system did nothing, because a second `ringing` would be a second call there.
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
  /** Shows a call to a person, or hides a shown one. Sent only once, because a repetition would be late. */
  async #show(
    { call, at, extension }: LiveMessage,
    kind: 'rings' | 'talks' | 'left',
    subject: EntrySubject,
  ): Promise<true> {
    const shown = this.#shown.get(call.id) ?? new Set();
    const verb = kind === 'left' ? 'hide' : 'show';
    if ((verb === 'hide') !== shown.has(extension!)) return true;
    if (Math.abs(this.#deps.clock.now() - at) > FRESH_MS[kind]) {
      this.#drop(`it was too late to ${verb} the call`);
      return true;
    }
    const customer = verb === 'show' ? await this.#deps.customerOf(call.number) : null;
    const result = await this.#within((signal) =>
      ranked('push', () => this.#session.show(verb, { ...subject, ...(customer && { customer }) }, signal)),
    );
    if (this.#closed.signal.aborted || result === null) return true;
    if (result.kind === 'done') this.#sent += 1;
    else this.#drop(result.words);
    if (verb === 'hide') shown.delete(extension!);
    else if (result.kind === 'done' || result.kind === 'unknown') shown.add(extension!);
    if (shown.size === 0) this.#shown.delete(call.id);
    else this.#shown.set(call.id, shown);
    return true;
  }
  #remember(call: string, id: string): void {
    this.#ids.set(call, id);
    const [oldest] = this.#ids.keys();
    if (this.#ids.size > MAX_IDS && oldest !== undefined) this.#ids.delete(oldest);
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
