import type { DomainEvent } from '@offhook/contract/events.ts';
import { LOGOUT, NO_ANSWER, WRAP_UP } from '../../pbx/agent-reasons.ts';
import { Backoff } from '../../core/backoff.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { QueueMember } from '../../ports/engine.ts';
import { CONFIRM_MS, applyChanges, changeTo } from './changes.ts';
import type { Change, EngineDeps } from './changes.ts';
import type { Lanes } from '../../commands/lanes.ts';
import { ABSENT, READY, pausedWith, rowsOf } from './membership.ts';
import type { Membership } from './membership.ts';

export interface FollowSettings {
  /** Offers in a row that are not answered before the agent is taken out; 0 never takes anybody out. */
  readonly noAnswerLimit: number;
  /** How long no device may be reached before the agent counts as unreachable. */
  readonly unreachableMs: number;
}
export interface FollowDeps extends EngineDeps {
  readonly lanes: Lanes;
  readonly settings: FollowSettings;
  readonly log: Log;
}
/** Makes the engine follow what agents are in the middle of. */
export interface Follower {
  /** Takes one committed event in; what follows from it runs by itself. */
  onDomainEvent(event: DomainEvent): void;
  /** Brings one agent to what its state asks for now; resolves when the engine shows it. */
  settle(extension: string): Promise<void>;
  idle(): Promise<void>;
  /** Nobody stays held back by a service that is gone: who is, is let go, for at most `ms`. */
  close(ms: number): Promise<void>;
}

const RETRY = { first_ms: 250, most_ms: 10_000 } as const;
const BUSY = new Set(['talking', 'held', 'offered', 'wrap_up']);
const pausedFor = (row: QueueMember, reason: string): boolean => row.paused && row.paused_reason === reason;

/** Timers of agents, one each and of one kind; setting one again replaces it. */
function createTimers({ clock }: Pick<EngineDeps, 'clock'>, fire: (extension: string) => void) {
  const timers = new Map<string, { readonly at: number; readonly stop: AbortController }>();
  const clear = (extension: string): void => {
    timers.get(extension)?.stop.abort('cleared');
    timers.delete(extension);
  };
  return {
    clear,
    set(extension: string, at: number): void {
      if (timers.get(extension)?.at === at) return;
      clear(extension);
      const stop = new AbortController();
      timers.set(extension, { at, stop });
      void clock.sleep(Math.max(0, at - clock.now()), stop.signal).then(
        () => {
          if (timers.get(extension)?.stop === stop) timers.delete(extension);
          fire(extension);
        },
        () => undefined,
      );
    },
    clearAll(): void {
      for (const extension of timers.keys()) clear(extension);
    },
  };
}

export function createFollower(deps: FollowDeps): Follower {
  const { engine, live, clock, lanes, settings, tell, log } = deps;
  const stopped = new AbortController();
  const workers = new Map<string, Promise<void>>();
  /** Agents whose hold an engine that was restarted may have forgotten. */
  const forgotten = new Set<string>();
  const missed = new Map<string, number>();

  /** The one state the system wants of this row now; undefined where it has no wish. */
  const wish = (extension: string, rows: readonly QueueMember[]) => {
    const agent = live.agent(extension);
    const deadline = agent?.wrap_up_deadline ?? null;
    const wraps = deadline !== null && deadline > clock.now();
    const hold = wraps && (forgotten.has(extension) || !rows.some((row) => pausedFor(row, WRAP_UP)));
    const takeOut = agent?.summary.not_responding === true && !rows.some((row) => pausedFor(row, NO_ANSWER));
    const free = agent !== undefined && !BUSY.has(agent.summary.engagement);
    return (row: QueueMember): Membership | undefined => {
      if (pausedFor(row, LOGOUT)) return free && row.membership === 'dynamic' ? ABSENT : undefined;
      if (takeOut && (!row.paused || pausedFor(row, WRAP_UP))) return pausedWith(NO_ANSWER);
      if (hold && !row.paused) return pausedWith(WRAP_UP);
      return !wraps && pausedFor(row, WRAP_UP) ? READY : undefined;
    };
  };
  const changesOf = (extension: string): Change[] => {
    const rows = rowsOf(live, extension);
    const wanted = wish(extension, rows);
    return rows.flatMap((row) => {
      const to = wanted(row);
      return (to && changeTo(engine, extension, row.queue, row, to)) ?? [];
    });
  };
  /** True where a wrap-up is past its deadline and only we can say so: nobody was held back for it. */
  const isPast = (extension: string): boolean => {
    const deadline = live.agent(extension)?.wrap_up_deadline ?? null;
    return deadline !== null && deadline <= clock.now();
  };

  const settle = (extension: string): Promise<void> =>
    lanes.run(
      extension,
      async () => {
        const changes = changesOf(extension);
        if (changes.length > 0) await applyChanges(deps, changes, CONFIRM_MS);
        forgotten.delete(extension);
        if (isPast(extension)) tell({ type: 'agent.wrap_up', at: clock.now(), extension, deadline: null });
      },
      { urgent: true },
    );
  const isOpen = (extension: string): boolean =>
    live.live && !stopped.signal.aborted && (isPast(extension) || changesOf(extension).length > 0);
  const work = async (extension: string): Promise<void> => {
    for (const backoff = new Backoff(RETRY); isOpen(extension);) {
      try {
        await settle(extension);
        backoff.reset();
      } catch (error) {
        const failures = backoff.failures + 1;
        log.warn({ extension, failures, error: messageOf(error) }, 'the engine does not follow an agent yet');
        await backoff.wait(clock, stopped.signal);
      }
    }
  };
  const kick = (extension: string): void => {
    if (workers.has(extension) || !isOpen(extension)) return;
    const worker = work(extension).finally(() => {
      workers.delete(extension);
      kick(extension);
    });
    workers.set(extension, worker);
  };

  const deadlines = createTimers(deps, kick);
  const absences = createTimers(deps, (extension) => {
    if (live.live) tell({ type: 'agent.absent', at: clock.now(), extension });
  });
  const look = (extension: string): void => {
    const agent = live.agent(extension);
    const deadline = agent?.wrap_up_deadline ?? null;
    if (deadline === null) deadlines.clear(extension);
    else deadlines.set(extension, deadline);
    lookForDevices(extension);
    kick(extension);
  };
  const gone = new Map<string, number>();
  /** Extensions with a device that this process has seen reachable: only these can be away for a moment. */
  const reached = new Set<string>();
  const lookForDevices = (extension: string): void => {
    const agent = live.agent(extension);
    const reachability = live.extension(extension)?.reachability;
    if (reachability === 'online' || reachability === 'push_only') reached.add(extension);
    const away =
      agent?.summary.session === 'logged_in' &&
      agent.summary.engagement !== 'unreachable' &&
      reachability === 'offline';
    if (!away) {
      gone.delete(extension);
      absences.clear(extension);
      return;
    }
    const since = gone.get(extension) ?? clock.now();
    gone.set(extension, since);
    absences.set(extension, since + (reached.has(extension) ? settings.unreachableMs : 0));
  };

  const countMissed = (extension: string | null): void => {
    if (extension === null || settings.noAnswerLimit === 0) return;
    const count = (missed.get(extension) ?? 0) + 1;
    missed.set(extension, count);
    if (count < settings.noAnswerLimit) return;
    missed.delete(extension);
    tell({ type: 'agent.not_responding', at: clock.now(), extension, missed: count });
  };

  return {
    settle,
    onDomainEvent(event) {
      switch (event.type) {
        case 'offer.timeout':
          return countMissed(event.data.extension);
        case 'offer.accepted':
          if (event.data.extension !== null) missed.delete(event.data.extension);
          return;
        case 'presence.changed':
          return lookForDevices(event.data.extension);
        case 'engine.resynced':
          for (const { extension, wrap_up_deadline } of live.agents()) {
            if (event.data.restarted && wrap_up_deadline !== null) forgotten.add(extension);
            look(extension);
          }
          return;
        case 'agent.logged_in':
        case 'agent.ready':
          if (event.data.queue != null) missed.delete(event.data.extension);
          return look(event.data.extension);
        default:
          if ('agent' in event.data) look(event.data.extension);
      }
    },
    async idle() {
      while (workers.size > 0) await Promise.all(workers.values());
    },
    async close(ms) {
      stopped.abort();
      deadlines.clearAll();
      absences.clearAll();
      await Promise.all(workers.values());
      if (!live.live) return;
      const held = live
        .agents()
        .flatMap(({ extension, members }) =>
          members
            .filter((row) => pausedFor(row, WRAP_UP))
            .flatMap((row) => changeTo(engine, extension, row.queue, row, READY) ?? []),
        );
      if (held.length > 0) await applyChanges(deps, held, ms).catch(() => undefined);
    },
  };
}
