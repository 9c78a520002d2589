import type { NodeId } from '@offhook/contract/ids.ts';
import { Backoff } from '../../core/backoff.ts';
import { ServiceError, markNotBegun, messageOf } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EngineEventOf } from '../../ports/engine-events.ts';
import type { EngineStatus, LinkState } from '../../ports/engine.ts';
import type { Common } from '../../ports/common.ts';
import { AmiClosed, AmiConnection } from './ami/connection.ts';
import type { AmiOptions, CloseReason } from './ami/connection.ts';
import type { FactFlow } from './fact-flow.ts';
import type { FactReader } from './fact-reader.ts';
import { Outcomes } from './outcomes.ts';
import { readSnapshot, STALE_ROW_MS } from './snapshot.ts';

export interface ManagerAccount {
  readonly user: string;
  readonly secret: string;
}
export interface ManagerTarget {
  readonly host: string;
  readonly port: number;
  /** See `AmiOptions.dial`. */
  readonly dial?: AmiOptions['dial'];
  readonly events: ManagerAccount;
  readonly actions: ManagerAccount;
}
export interface LinkOptions extends Common<'clock' | 'log'> {
  readonly node: NodeId;
  /** Present address of the engine; null while there is none. Called before every attempt. */
  readonly connect: () => Promise<ManagerTarget | null>;
  /** Called right before a command is sent; throws where this process may give none. */
  readonly fence?: (() => void) | undefined;
  /** 0 to 1, for the spread of retries. */
  readonly random?: () => number;
  /** Interval of a new snapshot without a detected fault; 60 s, and more if reading takes long. */
  readonly resync_ms?: number;
}
export interface LinkParts extends LinkOptions {
  readonly flow: FactFlow;
  readonly facts: Pick<FactReader, 'wants' | 'event' | 'ignored' | 'dropped'>;
}

/*
 *  down ──> connecting ──> booting ──> syncing ──> up ──┐
 *   ^           │ refused (30 s at least)       ^       │ actions connection lost: commands answer engine_unavailable,
 *   │           v                               └───────┤ facts go on, a resync follows the new connection
 *   └───────────┴───────────────────────────────────────┘ events connection lost: engine.link down, everything anew
 */

/** The classes of events the model needs; the dialplan's are left out, being the ones a caller can forge most easily. */
const EVENT_CLASSES = 'system,call,agent,user,dtmf,security';
const RESYNC_MS = 60_000;
const MOST_RESYNC_MS = 300_000;
/** Reading the state takes at most a sixtieth of the engine's time. */
const READING_SHARE = 60;
/** A reload of several modules makes several events; they are answered by one fresh snapshot. */
const RELOAD_SETTLE_MS = 250;
/** A frame without a head may be the rest of a forged one, so the state is read again, but not for each. */
const SUSPICION_EVERY_MS = 30_000;
/** Interval of attempts while the engine is not started: an attempt is cheap, and a start does not wait for it. */
const NO_ENGINE_MS = 20;
/** Interval after the first half minute, when the engine, or another node, is away. */
const AWAY_MS = 200;
const SOON_MS = 30_000;
const RETRY_RESYNC_MS = 5_000;
/** However lucky the draw, an engine that is away is not asked more often than every 50 ms. */
const RETRY = { first_ms: 200, most_ms: 10_000, least_ms: 50, spread: [0, 1] } as const;
/** Each refused login costs the engine a second and looks like an attack. */
const RETRY_REFUSED = { first_ms: 30_000, most_ms: 30_000, spread: [1, 1.5] } as const;
/** A link that held for so long starts the next series of attempts afresh. */
const STEADY_MS = 2_000;

/** Both connections to one engine, from the login to the loss. */
interface Session {
  readonly target: ManagerTarget;
  readonly events: AmiConnection;
  actions: AmiConnection | null;
  readonly over: AbortController;
}

/** Keeps both connections, reads a snapshot after every connect and whenever one is wanted, and publishes the state of the link. */
export class EngineLink {
  readonly #parts: LinkParts;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #outcomes: Outcomes;
  readonly #refusals: Backoff;
  readonly #stop = new AbortController();
  #session: Session | null = null;
  #state: LinkState = 'down';
  #reason = 'not started';
  #since: number;
  #announced = false;
  #version: string | null = null;
  #bootId: string | null = null;
  #reconnects = 0;
  #resyncs = 0;
  #strays = 0;
  #lastSuspicion = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | null = null;
  /** True when a fresh snapshot is wanted and its reading has not begun. */
  #wanted = false;
  /** Delays, in ms, after which a fresh snapshot is wanted: one timer for each. */
  readonly #wantedIn = new Set<number>();
  #wake = (): void => {};
  /** Number of timed-out commands whose effect the newest snapshot includes. */
  #answeredTo = 0;
  /** Number of awaited snapshots requested, and of those that the newest snapshot answers. */
  #requested = 0;
  #shownTo = 0;
  readonly #awaited = new Map<number, () => void>();

  constructor(parts: LinkParts) {
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#random = parts.random ?? Math.random;
    this.#outcomes = new Outcomes(parts.clock);
    this.#refusals = new Backoff({ ...RETRY_REFUSED, random: this.#random });
    this.#since = parts.clock.now();
  }

  /** Aborted when the link is closed for good. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }
  /** The actions connection; null while there is none. */
  get actions(): AmiConnection | null {
    return this.#session?.actions ?? null;
  }
  status(): Pick<EngineStatus, 'link' | 'reason' | 'since' | 'version' | 'boot_id'> {
    return {
      link: this.#state,
      reason: this.#reason,
      since: this.#since,
      version: this.#version,
      boot_id: this.#bootId,
    };
  }
  counters(): Pick<EngineStatus['counters'], 'reconnects' | 'pending_actions'> {
    const pending = (this.actions?.pending() ?? 0) + (this.#session?.events.pending() ?? 0);
    return { reconnects: this.#reconnects, pending_actions: pending };
  }
  diagnostics(): { readonly strays: number; readonly resyncs: number } {
    const now = (this.#session?.events.strays() ?? 0) + (this.actions?.strays() ?? 0);
    return { strays: this.#strays + now, resyncs: this.#resyncs };
  }

  begin(): void {
    this.#running ??= this.#run();
  }
  async close(): Promise<void> {
    this.#stop.abort();
    this.lose('the service is stopping');
    await this.#running;
  }
  /** Throws `engine_unavailable` unless the link is up. */
  requireActions(): AmiConnection {
    const { actions } = this;
    if (actions === null || this.#state !== 'up')
      throw markNotBegun(
        new ServiceError('engine_unavailable', `the engine is not connected: ${this.#reason || this.#state}`),
      );
    return actions;
  }
  /** Runs `work` on a connection of its own, so that no command waits behind a long list. Throws as `requireActions`. */
  async aside<T>(work: (ami: AmiConnection) => Promise<T>): Promise<T> {
    this.requireActions();
    const { target, over } = this.#session!;
    const ami = await this.#openActions({ target }, over.signal).catch((error: unknown) => {
      if (!(error instanceof AmiClosed)) throw error;
      throw new ServiceError('engine_unavailable', `the engine is not connected: ${error.message}`, {
        cause: error,
      });
    });
    try {
      return await work(ami);
    } finally {
      ami.close();
    }
  }
  /** Resolves once a snapshot has shown the effect of every timed-out command; throws `engine_unavailable` after `ms`. */
  async settled(ms: number): Promise<void> {
    if (this.#session === null) this.requireActions();
    await this.#outcomes.settled(ms);
  }
  /** Call when the consumer has processed every fact. */
  consumed(): void {
    this.#outcomes.known(this.#answeredTo);
    for (const [request, resolve] of this.#awaited) {
      if (request > this.#shownTo) break;
      this.#awaited.delete(request);
      resolve();
    }
  }
  /** Has a fresh snapshot read; resolves once the consumer has processed it, after a new connection if need be. */
  shown(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited.set(++this.#requested, resolve);
    this.want();
    return promise;
  }
  /** Has a fresh snapshot read. */
  want(): void {
    this.#wanted = true;
    this.#wake();
  }
  /** Has a snapshot read after a reload, which emits several events. */
  reloaded(): void {
    this.#wantIn(RELOAD_SETTLE_MS);
  }
  /** Has a snapshot read because the state may be wrong. */
  suspect(): void {
    if (this.#clock.now() - this.#lastSuspicion < SUSPICION_EVERY_MS) return;
    this.#lastSuspicion = this.#clock.now();
    this.want();
    // By then the lists are believed even about a channel whose end was reported.
    this.#wantIn(STALE_ROW_MS + RELOAD_SETTLE_MS);
  }
  /** Publishes at once that the link is gone, and closes both connections. */
  lose(why: string): void {
    const lost = this.#session;
    if (lost === null) return;
    this.#session = null;
    this.#outcomes.lost();
    this.#strays += lost.events.strays() + (lost.actions?.strays() ?? 0);
    lost.over.abort();
    lost.events.close();
    lost.actions?.close();
    this.#move('down', why);
    if (this.#announced) {
      this.#announced = false;
      this.#parts.flow.publish(this.#linkEvent(false, why, this.#bootId ?? ''));
    }
  }

  #wantIn(ms: number): void {
    if (this.#wantedIn.has(ms)) return;
    this.#wantedIn.add(ms);
    this.#clock.sleep(ms, this.#stop.signal).then(
      () => {
        this.#wantedIn.delete(ms);
        this.want();
      },
      () => {},
    );
  }
  #move(to: LinkState, why: string): void {
    if (this.#state === to && this.#reason === why) return;
    this.#state = to;
    this.#reason = why;
    this.#since = this.#clock.now();
    this.#parts.log.info({ link: to, reason: why }, 'engine link');
  }
  #linkEvent(up: boolean, reason: string, boot_id: string): EngineEventOf<'engine.link'> {
    return { at: this.#clock.now(), type: 'engine.link', node: this.#parts.node, up, reason, boot_id };
  }

  #openActions(on: Pick<Session, 'target'>, signal: AbortSignal): Promise<AmiConnection> {
    return AmiConnection.open({
      host: on.target.host,
      port: on.target.port,
      dial: on.target.dial,
      ...on.target.actions,
      events: 'off',
      awaitBoot: false,
      clock: this.#clock,
      log: this.#parts.log,
      signal,
      fence: this.#parts.fence,
      unanswered: () => {
        this.#outcomes.unanswered();
        this.want();
      },
    });
  }
  /** Facts arrive without the actions connection, but no command can be given. */
  #watchActions(on: Session, actions: AmiConnection): void {
    void actions.closed.then((closed) => {
      if (this.#session !== on || on.actions !== actions) return;
      this.#strays += actions.strays();
      on.actions = null;
      this.#move('down', `actions connection: ${closed.detail}`);
      this.#wake();
    });
  }

  /** Reads a fresh snapshot and emits it, unless the link was lost meanwhile. */
  async #sync(on: Session, why: 'connect' | 'resync'): Promise<void> {
    const actions = on.actions;
    if (actions === null) return;
    this.#wanted = false;
    const upTo = this.#outcomes.open;
    const requested = this.#requested;
    this.#parts.flow.begin();
    const reading = await readSnapshot(this.#parts.node, actions, () => this.#clock.now(), on.over.signal);
    // Events from before the request arrive ahead of its answer on the same connection.
    await on.events.action('Ping', {}, { signal: on.over.signal });
    if (this.#session !== on) return;
    const life = reading.snapshot.boot_id;
    const snapshot = { ...reading.snapshot, restarted: this.#bootId === null ? null : this.#bootId !== life };
    const up = this.#announced ? null : this.#linkEvent(true, '', life);
    this.#parts.flow.settle({ snapshot, began_at: reading.began_at, why, link: up });
    this.#answeredTo = upTo;
    this.#shownTo = requested;
    this.#bootId = life;
    this.#version = reading.version;
    this.#announced = true;
    this.#resyncs++;
  }

  /** Sleeps until the time is over, `wake` is called, or the link is lost. */
  async #nap(ms: number, gone: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await this.#clock.sleep(ms, AbortSignal.any([woken.signal, gone])).catch(() => {});
    this.#wake = () => {};
  }

  /** Keeps a link alive until it is lost; resolves then. */
  async #tend(on: Session): Promise<void> {
    const gone = on.over.signal;
    const resyncEvery = this.#parts.resync_ms ?? RESYNC_MS;
    const backoff = new Backoff({ ...RETRY, random: this.#random });
    let wait = resyncEvery;
    while (this.#session === on) {
      if (on.actions === null) {
        try {
          const actions = await this.#openActions(on, gone);
          on.actions = actions;
          this.#watchActions(on, actions);
          backoff.reset();
          this.#wanted = true;
        } catch (error) {
          const refused = error instanceof AmiClosed && error.reason.kind === 'refused';
          if (this.#session === on)
            this.#move(refused ? 'refused' : 'down', `actions connection: ${messageOf(error)}`);
          await (refused ? this.#refusals : backoff).wait(this.#clock, gone);
        }
        continue;
      }
      if (!this.#wanted) await this.#nap(Math.round(wait * (0.9 + this.#random() / 5)), gone);
      if (this.#session !== on) return;
      if (on.actions === null) continue;
      try {
        if (this.#state !== 'up') this.#move('syncing', 'reading the state');
        const begun = this.#clock.now();
        await this.#sync(on, 'resync');
        wait = Math.max(resyncEvery, Math.min((this.#clock.now() - begun) * READING_SHARE, MOST_RESYNC_MS));
        if (this.#session === on && on.actions !== null) this.#move('up', '');
      } catch (error) {
        this.#parts.flow.abandon();
        wait = RETRY_RESYNC_MS;
        if (this.#session === on)
          this.#parts.log.warn({ error: messageOf(error) }, 'the state could not be read');
      }
    }
  }

  /** One life of a link, from the first byte to the last. */
  async #live(target: ManagerTarget): Promise<void> {
    this.#parts.flow.hold();
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#stop.signal]);
    const events = await AmiConnection.open({
      host: target.host,
      port: target.port,
      dial: target.dial,
      ...target.events,
      events: EVENT_CLASSES,
      awaitBoot: true,
      clock: this.#clock,
      log: this.#parts.log,
      signal,
      wants: this.#parts.facts.wants,
      event: this.#parts.facts.event,
      ignored: this.#parts.facts.ignored,
      dropped: this.#parts.facts.dropped,
      state: (now) => {
        if (now === 'booting') this.#move('booting', 'the engine is starting');
      },
    });
    let actions: AmiConnection;
    try {
      actions = await this.#openActions({ target }, signal);
    } catch (error) {
      events.close();
      throw error;
    }
    const on: Session = { target, events, actions, over };
    this.#session = on;
    void events.closed.then((closed) => {
      if (this.#session === on) this.lose(closed.detail);
    });
    this.#watchActions(on, actions);
    this.#move('syncing', 'reading the state');
    try {
      await this.#sync(on, 'connect');
    } catch (error) {
      const failed = this.#session === on;
      if (failed) this.lose(messageOf(error));
      if (failed) throw error;
      return;
    }
    if (this.#session === on) this.#move('up', '');
    await this.#tend(on);
  }

  async #run(): Promise<void> {
    const backoff = new Backoff({ ...RETRY, random: this.#random });
    let lackedAt: number | null = null;
    while (!this.#stop.signal.aborted) {
      let wait: number;
      const begun = this.#clock.now();
      try {
        const target = await this.#parts.connect();
        if (this.#stop.signal.aborted) break;
        if (target === null) {
          this.#move('down', 'there is no engine yet');
          backoff.reset();
          lackedAt ??= begun;
          const isAway = begun - lackedAt > SOON_MS;
          await this.#clock.sleep(isAway ? AWAY_MS : NO_ENGINE_MS, this.#stop.signal).catch(() => {});
          continue;
        }
        lackedAt = null;
        if (this.#state !== 'refused') this.#move('connecting', this.#reason);
        await this.#live(target);
        if (this.#clock.now() - begun > STEADY_MS) backoff.reset();
        wait = backoff.next();
      } catch (error) {
        const closed: CloseReason | null = error instanceof AmiClosed ? error.reason : null;
        if (this.#stop.signal.aborted) break;
        if (closed?.kind === 'refused') {
          wait = this.#refusals.next();
          this.#move('refused', closed.detail);
          this.#parts.log.error({ reason: closed.detail }, 'the engine refused the login of the service');
        } else {
          wait = backoff.next();
          this.#move('down', messageOf(error));
        }
      }
      this.#reconnects++;
      await this.#clock.sleep(wait, this.#stop.signal).catch(() => {});
    }
    this.lose('the service is stopping');
    this.#move('down', 'closed');
  }
}
