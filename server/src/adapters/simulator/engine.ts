/** The engine's port over the simulated exchange. */
import type { NodeId } from '@offhook/contract/ids.ts';
import { ServiceError, markNotBegun } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SiteEngine } from '../../ports/engine-site.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import { memberOf } from './members.ts';
import { commandVerbs } from './verbs.ts';
import type { Perform } from './verbs.ts';
import type { World } from './world.ts';

const VERSION = 'simulated';
const NO_COUNTS = {
  frames: 0,
  unknown: 0,
  malformed: 0,
  oversize: 0,
  drift: 0,
  reconnects: 0,
  pending_actions: 0,
} as const;
const unavailable = (): ServiceError => new ServiceError('engine_unavailable', 'the engine is not connected');

/** A fault of the next command: the engine refuses it with a text, or runs it and never replies. */
export type CommandFault = { readonly refuse: string } | 'unanswered';

export interface SimulatedLink {
  readonly engine: SiteEngine;
  /** Emits an event of the exchange; while the link is down it is lost, as with a real engine. */
  fact(event: EngineEvent): void;
  /** Resolves once every event is processed; at once without a reader. */
  processed(): Promise<void>;
  /** Call once the exchange has loaded its configuration. */
  boot(): void;
  /** Cuts the link, or restores it; `restarted`: to an engine that started anew meanwhile. */
  cut(reason: string): void;
  restore(restarted: boolean): void;
  /** Faults of the next commands, in order. */
  readonly faults: CommandFault[];
}
export interface SimulatedLinkOptions {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly world: World;
  /** Writes the file of a recording that begins. */
  readonly record: (name: string) => Promise<void>;
}

export function createLink({ node, clock, world, record }: SimulatedLinkOptions): SimulatedLink {
  const queue: EngineEvent[] = [];
  const faults: CommandFault[] = [];
  const seen: (() => void)[] = [];
  let wake: () => void = () => undefined;
  let up = false;
  let since = clock.now();
  let closed = false;
  let known = false;
  let reading = false;
  let idle = false;
  let reason = 'the engine is starting';

  const push = (event: EngineEvent): void => {
    queue.push(event);
    wake();
  };
  const link = (): void => {
    since = clock.now();
    const boot_id = up ? world.bootId : '';
    push({ at: since, type: 'engine.link', node, up, reason: up ? '' : reason, boot_id });
  };
  const snapshot = (why: 'connect' | 'resync', restarted: boolean | null): void =>
    push({ at: clock.now(), type: 'engine.snapshot', why, snapshot: world.snapshot(restarted) });
  const connect = (restarted: boolean): void => {
    up = true;
    link();
    snapshot('connect', known ? restarted : null);
    known = true;
    world.serve();
  };
  const requireUp = (): void => {
    if (!up) throw markNotBegun(unavailable());
  };
  /** Runs a command at once, unless a fault is set for it. */
  const command: Perform = async (act, options, repeated = false) => {
    requireUp();
    options?.signal?.throwIfAborted();
    const [next] = faults;
    const fault = repeated && typeof next === 'object' ? next : faults.shift();
    if (typeof fault === 'object') throw new ServiceError('engine_refused', fault.refuse);
    await act();
    if (fault === 'unanswered') throw new ServiceError('engine_timeout', 'the engine did not answer in time');
  };

  const engine: SiteEngine = {
    node,
    status: () => ({
      node,
      link: up ? 'up' : 'down',
      reason: up ? '' : reason,
      since,
      version: VERSION,
      boot_id: up ? world.bootId : null,
      counters: NO_COUNTS,
    }),
    async *events(signal) {
      const stop = (): void => wake();
      signal.addEventListener('abort', stop, { once: true });
      reading = true;
      try {
        while (!signal.aborted && !closed) {
          if (queue.length === 0) {
            for (const shown of seen.splice(0)) shown();
            idle = true;
            await new Promise<void>((resolve) => (wake = resolve));
            idle = false;
            continue;
          }
          yield queue.splice(0);
        }
      } finally {
        signal.removeEventListener('abort', stop);
        reading = false;
        for (const shown of seen.splice(0)) shown();
      }
    },
    resync: () => {
      if (up) snapshot('resync', false);
    },
    resynced() {
      if (!up) return Promise.reject(unavailable());
      return new Promise((resolve) => {
        seen.push(resolve);
        snapshot('resync', false);
      });
    },
    settled: async () => requireUp(),
    roundTrip: async () => requireUp(),
    memberOf,
    ...commandVerbs(world, record, command),
    async close() {
      closed = true;
      wake();
    },
  };
  return {
    engine,
    faults,
    fact(event) {
      if (up) push(event);
    },
    processed: () =>
      !reading || (idle && queue.length === 0)
        ? Promise.resolve()
        : new Promise((resolve) => seen.push(resolve)),
    boot: () => connect(true),
    cut(why) {
      if (!up) return;
      reason = why;
      up = false;
      link();
    },
    restore(restarted) {
      if (up) return;
      if (restarted) world.restart();
      connect(restarted);
    },
  };
}
