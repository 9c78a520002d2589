import type { NodeId } from '@offhook/contract/ids.ts';
import { Backoff } from '../../core/backoff.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  CallVerbs,
  Engine,
  EngineEventOf,
  EngineStatus,
  ExtensionFeatures,
  FeatureVerbs,
  LinkState,
  QueueVerbs,
  SipRefusal,
} from '../../ports/engine.ts';
import { callerActions } from './actions/callers.ts';
import { callActions } from './actions/calls.ts';
import { featureActions } from './actions/features.ts';
import { memberActions } from './actions/members.ts';
import { AmiClosed, connectAmi } from './ami/connection.ts';
import type { AmiConnection, CloseReason } from './ami/connection.ts';
import { createHealthCalls } from './health-call.ts';
import type { HealthCalls } from './health-call.ts';
import { FactFlow } from './fact-flow.ts';
import { FactReader } from './fact-reader.ts';
import { memberOf } from './events/names.ts';
import { Outcomes } from './outcomes.ts';
import { featureReader } from './feature-reader.ts';
import { readSnapshot, STALE_ROW_MS } from './snapshot.ts';

export interface ManagerAccount {
  readonly user: string;
  readonly secret: string;
}
export interface ManagerTarget {
  readonly host: string;
  readonly port: number;
  readonly events: ManagerAccount;
  readonly actions: ManagerAccount;
}
export interface AsteriskEngineOptions {
  readonly node: NodeId;
  /** Where the engine can be reached now; null while there is none. Asked before every attempt. */
  readonly connect: () => Promise<ManagerTarget | null>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for every SIP request that the engine refused. */
  readonly refused?: (refusal: SipRefusal) => void;
  /** 0 to 1, for the spread of retries. */
  readonly random?: () => number;
  /** How often the state is read afresh although nothing seems wrong; 60 s, and more where reading takes long. */
  readonly resync_ms?: number;
  /** How many events may wait for the consumer; 200,000. */
  readonly buffer?: number;
}
export interface AsteriskEngine extends Engine, CallVerbs, QueueVerbs, FeatureVerbs {
  /** For support: the last frames that could not be read, newest last. */
  malformed(): readonly string[];
  /** Places a test call, which stream, history and live view leave out. */
  readonly placeHealthCall: HealthCalls['place'];
  diagnostics(): { readonly dropped: number; readonly strays: number; readonly resyncs: number };
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
const BUFFER = 200_000;
/** A reload of several modules makes several events; they are answered by one fresh snapshot. */
const RELOAD_SETTLE_MS = 250;
/** A frame without a head may be the rest of a forged one, so the state is read again, but not for each. */
const SUSPICION_EVERY_MS = 30_000;
/** While there is no engine nobody is knocked at, so asking again is cheap and a start is not kept waiting. */
const NO_ENGINE_MS = 100;
const RETRY_RESYNC_MS = 5_000;
/** However lucky the draw, an engine that is away is not asked more often than every 50 ms. */
const RETRY = { first_ms: 200, most_ms: 10_000, least_ms: 50, spread: [0, 1] } as const;
/** Each refused login costs the engine a second and looks like an attack. */
const RETRY_REFUSED = { first_ms: 30_000, most_ms: 30_000, spread: [1, 1.5] } as const;
/** A link that held for so long starts the next series of attempts afresh. */
const STEADY_MS = 2_000;

interface Link {
  readonly target: ManagerTarget;
  readonly events: AmiConnection;
  actions: AmiConnection | null;
  readonly over: AbortController;
}

export const createAsteriskEngine = (options: AsteriskEngineOptions): AsteriskEngine => {
  const { node, clock } = options;
  const log = options.log.child({ part: 'engine', node });
  const random = options.random ?? Math.random;
  const resyncEvery = options.resync_ms ?? RESYNC_MS;
  const stop = new AbortController();

  let link: Link | null = null;
  let state: LinkState = 'down';
  let reason = 'not started';
  let since = clock.now();
  let announced = false;
  let version: string | null = null;
  let bootId: string | null = null;
  let reconnects = 0;
  let resyncs = 0;
  let strays = 0;
  let lastSuspicion = Number.NEGATIVE_INFINITY;
  const refusals = new Backoff({ ...RETRY_REFUSED, random });
  let running: Promise<void> | null = null;
  let consumed = false;

  /** True when somebody wants a fresh snapshot and nobody has begun to read it. */
  let wanted = false;
  let wake = (): void => {};
  let wantedSoon = false;
  const want = (): void => {
    wanted = true;
    wake();
  };
  const wantIn = (ms: number): void => {
    if (wantedSoon) return;
    wantedSoon = true;
    clock.sleep(ms, stop.signal).then(
      () => {
        wantedSoon = false;
        want();
      },
      () => {},
    );
  };

  const outcomes = new Outcomes(clock);
  /** Number of timed-out commands whose effect the newest snapshot includes. */
  let answeredTo = 0;

  const flow = new FactFlow({ clock, log, most: options.buffer ?? BUFFER, overflowed: want });

  const move = (to: LinkState, why: string): void => {
    if (state === to && reason === why) return;
    state = to;
    reason = why;
    since = clock.now();
    log.info({ link: to, reason: why }, 'engine link');
  };

  const toldFeatures = (extension: string, features: ExtensionFeatures): void =>
    flow.receive({ at: clock.now(), type: 'extension.features', extension, features });
  const changed = featureReader({ ami: () => link?.actions ?? null, told: toldFeatures, failed: want });

  const healthCalls = createHealthCalls(() => requireActions(), clock);
  const facts = new FactReader({
    node,
    health: healthCalls.seen,
    known: flow.known,
    now: () => clock.now(),
    emit: (event) => flow.receive(event),
    system(event) {
      if (event.type === 'reload') {
        wantIn(RELOAD_SETTLE_MS);
      } else if (event.type === 'features') {
        changed.read(event.extension);
      } else if (event.type === 'refusal') {
        options.refused?.(event.refusal);
      } else if (event.type === 'shutdown') {
        const why = event.restart ? 'the engine is restarting' : 'the engine is shutting down';
        lose(why);
      }
    },
    suspicious() {
      if (clock.now() - lastSuspicion < SUSPICION_EVERY_MS) return;
      lastSuspicion = clock.now();
      want();
      // By then the lists are believed even about a channel whose end was told.
      wantIn(STALE_ROW_MS + RELOAD_SETTLE_MS);
    },
  });

  const linkEvent = (up: boolean, why: string, life: string): EngineEventOf<'engine.link'> => ({
    at: clock.now(),
    type: 'engine.link',
    node,
    up,
    reason: why,
    boot_id: life,
  });

  /** Says at once that the link is gone, and lets both connections go. */
  const lose = (why: string): void => {
    const lost = link;
    if (lost === null) return;
    link = null;
    outcomes.lost();
    strays += lost.events.strays() + (lost.actions?.strays() ?? 0);
    lost.over.abort();
    lost.events.close();
    lost.actions?.close();
    move('down', why);
    if (announced) {
      announced = false;
      flow.publish(linkEvent(false, why, bootId ?? ''));
    }
  };

  const openActions = async (on: Pick<Link, 'target'>, signal: AbortSignal): Promise<AmiConnection> =>
    connectAmi({
      host: on.target.host,
      port: on.target.port,
      ...on.target.actions,
      events: 'off',
      awaitBoot: false,
      clock,
      log,
      signal,
      unanswered() {
        outcomes.unanswered();
        want();
      },
    });
  /** Facts go on without the actions connection, but no command can be given. */
  const watchActions = (on: Link, actions: AmiConnection): void => {
    void actions.closed.then((closed) => {
      if (link !== on || on.actions !== actions) return;
      strays += actions.strays();
      on.actions = null;
      move('down', `actions connection: ${closed.detail}`);
      wake();
    });
  };

  /** Reads a fresh snapshot and has it told; nothing is told when the link was lost meanwhile. */
  const sync = async (on: Link, why: 'connect' | 'resync'): Promise<void> => {
    const actions = on.actions;
    if (actions === null) return;
    wanted = false;
    const upTo = outcomes.open;
    flow.begin();
    const reading = await readSnapshot(node, actions, () => clock.now(), on.over.signal);
    // What the events connection still had to say of the time before comes ahead of its answer.
    await on.events.action('Ping', {}, { signal: on.over.signal });
    if (link !== on) return;
    const life = reading.snapshot.boot_id;
    const snapshot = { ...reading.snapshot, restarted: bootId === null ? null : bootId !== life };
    const up = announced ? null : linkEvent(true, '', life);
    flow.settle({ snapshot, began_at: reading.began_at, why, link: up });
    answeredTo = upTo;
    bootId = life;
    version = reading.version;
    announced = true;
    resyncs++;
  };

  /** Sleeps until the time is over, somebody wakes the loop, or the link is gone. */
  const nap = async (ms: number, gone: AbortSignal): Promise<void> => {
    const woken = new AbortController();
    wake = () => woken.abort();
    await clock.sleep(ms, AbortSignal.any([woken.signal, gone])).catch(() => {});
    wake = () => {};
  };

  /** Keeps a link alive until it is lost; resolves then. */
  const tend = async (on: Link): Promise<void> => {
    const gone = on.over.signal;
    const backoff = new Backoff({ ...RETRY, random });
    let wait = resyncEvery;
    while (link === on) {
      if (on.actions === null) {
        try {
          const actions = await openActions(on, gone);
          on.actions = actions;
          watchActions(on, actions);
          backoff.reset();
          wanted = true;
        } catch (error) {
          const refused = error instanceof AmiClosed && error.reason.kind === 'refused';
          if (link === on) move(refused ? 'refused' : 'down', `actions connection: ${messageOf(error)}`);
          await (refused ? refusals : backoff).wait(clock, gone);
        }
        continue;
      }
      if (!wanted) await nap(Math.round(wait * (0.9 + random() / 5)), gone);
      if (link !== on) return;
      if (on.actions === null) continue;
      try {
        if (state !== 'up') move('syncing', 'reading the state');
        const begun = clock.now();
        await sync(on, 'resync');
        wait = Math.max(resyncEvery, Math.min((clock.now() - begun) * READING_SHARE, MOST_RESYNC_MS));
        if (link === on && on.actions !== null) move('up', '');
      } catch (error) {
        flow.abandon();
        wait = RETRY_RESYNC_MS;
        if (link === on) log.warn({ error: messageOf(error) }, 'the state could not be read');
      }
    }
  };

  /** One life of a link, from the first byte to the last. */
  const live = async (target: ManagerTarget): Promise<void> => {
    flow.hold();
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, stop.signal]);
    const events = await connectAmi({
      host: target.host,
      port: target.port,
      ...target.events,
      events: EVENT_CLASSES,
      awaitBoot: true,
      clock,
      log,
      signal,
      wants: facts.wants,
      event: facts.event,
      ignored: facts.ignored,
      dropped: facts.dropped,
      state: (now) => {
        if (now === 'booting') move('booting', 'the engine is starting');
      },
    });
    let actions: AmiConnection;
    try {
      actions = await openActions({ target }, signal);
    } catch (error) {
      events.close();
      throw error;
    }
    const on: Link = { target, events, actions, over };
    link = on;
    void events.closed.then((closed) => {
      if (link === on) lose(closed.detail);
    });
    watchActions(on, actions);
    move('syncing', 'reading the state');
    try {
      await sync(on, 'connect');
    } catch (error) {
      const failed = link === on;
      if (failed) lose(messageOf(error));
      if (failed) throw error;
      return;
    }
    if (link === on) move('up', '');
    await tend(on);
  };

  const run = async (): Promise<void> => {
    const backoff = new Backoff({ ...RETRY, random });
    while (!stop.signal.aborted) {
      let wait: number;
      const begun = clock.now();
      try {
        const target = await options.connect();
        if (stop.signal.aborted) break;
        if (target === null) {
          move('down', 'there is no engine yet');
          backoff.reset();
          await clock.sleep(NO_ENGINE_MS, stop.signal).catch(() => {});
          continue;
        }
        if (state !== 'refused') move('connecting', reason);
        await live(target);
        if (clock.now() - begun > STEADY_MS) backoff.reset();
        wait = backoff.next();
      } catch (error) {
        const closed: CloseReason | null = error instanceof AmiClosed ? error.reason : null;
        if (stop.signal.aborted) break;
        if (closed?.kind === 'refused') {
          wait = refusals.next();
          move('refused', closed.detail);
          log.error({ reason: closed.detail }, 'the engine refused our login');
        } else {
          wait = backoff.next();
          move('down', messageOf(error));
        }
      }
      reconnects++;
      await clock.sleep(wait, stop.signal).catch(() => {});
    }
    lose('the service is stopping');
    move('down', 'closed');
  };

  const requireActions = (): AmiConnection => {
    const actions = link?.actions ?? null;
    if (actions === null || state !== 'up')
      throw new ServiceError('engine_unavailable', `the engine is not connected: ${reason || state}`);
    return actions;
  };

  return {
    node,
    status: (): EngineStatus => ({
      node,
      link: state,
      reason,
      since,
      version,
      boot_id: bootId,
      counters: {
        ...facts.counters(),
        drift: flow.drift,
        reconnects,
        pending_actions: (link?.actions?.pending() ?? 0) + (link?.events.pending() ?? 0),
      },
    }),
    async *events(signal) {
      if (consumed) throw new Error('the events of an engine have one consumer');
      consumed = true;
      running ??= run();
      const ended = AbortSignal.any([signal, stop.signal]);
      try {
        while (!ended.aborted) {
          const batch = await flow.take(ended);
          if (batch.length > 0) yield batch;
          // The generator resumes only after the consumer has processed the batch.
          if (flow.drained) outcomes.known(answeredTo);
        }
      } finally {
        consumed = false;
      }
    },
    resync: want,
    async settled(ms) {
      if (link === null) requireActions();
      await outcomes.settled(ms);
    },
    async roundTrip(ms) {
      await requireActions().action('Ping', {}, { ms });
    },
    ...memberActions(requireActions),
    ...callActions(requireActions),
    ...featureActions(requireActions, toldFeatures),
    ...callerActions(requireActions, (id) => flow.known.channel(id)?.name),
    memberOf,
    async close() {
      stop.abort();
      lose('the service is stopping');
      await running;
    },
    placeHealthCall: healthCalls.place,
    malformed: () => facts.malformed(),
    diagnostics: () => ({
      dropped: flow.dropped,
      strays: strays + (link === null ? 0 : link.events.strays() + (link.actions?.strays() ?? 0)),
      resyncs,
    }),
  };
};
