import type { DomainEvent } from '@offhook/contract/events.ts';
import { LOGIN, LOGOUT, NO_ANSWER, WRAP_UP } from '../../pbx/agent-reasons.ts';
import { sleepUntil } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { QueueMember } from '../../ports/engine-state.ts';
import { CONFIRM_MS, applyChanges, changeTo } from './changes.ts';
import type { Change, EngineDeps } from './changes.ts';
import type { Lanes } from '../../commands/lanes.ts';
import { ABSENT, READY, joinedAs, pausedWith, rowsOf } from './membership.ts';
import type { Membership } from './membership.ts';
import { Workers } from './workers.ts';

export interface FollowSettings {
  /** Consecutive unanswered offers after which the agent is paused; 0 for never. */
  readonly noAnswerLimit: number;
  /** Milliseconds without a reachable device before the agent counts as unreachable. */
  readonly unreachableMs: number;
}
export interface FollowDeps extends EngineDeps {
  readonly lanes: Lanes;
  /** Queues of this agent that are still to be restored. */
  readonly waiting: (extension: string) => readonly string[];
  readonly settings: FollowSettings;
  readonly log: Log;
}

const RETRY = { first_ms: 250, most_ms: 10_000 } as const;
const BUSY = new Set(['talking', 'held', 'offered', 'wrap_up']);
const pausedFor = (row: QueueMember, reason: string): boolean => row.paused && row.paused_reason === reason;

/** One timer for each agent; setting it again replaces it. */
class AgentTimers {
  readonly #clock: Clock;
  readonly #fire: (extension: string) => void;
  readonly #timers = new Map<string, { readonly at: number; readonly stop: AbortController }>();

  constructor(clock: Clock, fire: (extension: string) => void) {
    this.#clock = clock;
    this.#fire = fire;
  }
  /** Fires at `at`, milliseconds since 1970. */
  set(extension: string, at: number): void {
    if (this.#timers.get(extension)?.at === at) return;
    this.clear(extension);
    const stop = new AbortController();
    this.#timers.set(extension, { at, stop });
    void sleepUntil(this.#clock, at, stop.signal).then(
      () => {
        if (stop.signal.aborted) return;
        this.#timers.delete(extension);
        this.#fire(extension);
      },
      () => undefined,
    );
  }
  clear(extension: string): void {
    this.#timers.get(extension)?.stop.abort('cleared');
    this.#timers.delete(extension);
  }
  clearAll(): void {
    for (const extension of this.#timers.keys()) this.clear(extension);
  }
}

/** Makes the engine follow an agent's state: wrap-ups, missed offers, unreachable devices. */
export class Follower {
  readonly #deps: FollowDeps;
  readonly #workers: Workers;
  readonly #deadlines: AgentTimers;
  readonly #absences: AgentTimers;
  /** Agents whose wrap-up pause a restarted engine may have lost. */
  readonly #forgotten = new Set<string>();
  readonly #missed = new Map<string, number>();
  /** Time since which no device of an extension is reachable, in ms since 1970. */
  readonly #gone = new Map<string, number>();
  /** Extensions with a device that this process has seen reachable; only these get a grace period. */
  readonly #reached = new Set<string>();

  constructor(deps: FollowDeps) {
    const { live, clock, tell, log } = deps;
    this.#deps = deps;
    this.#workers = new Workers({
      clock,
      log,
      retry: RETRY,
      failed: 'the engine does not follow an agent yet',
      isOpen: (extension) => live.live && (this.#isPast(extension) || this.#changesOf(extension).length > 0),
      work: (extension) => this.settle(extension),
      ended: (extension) => this.#workers.start(extension),
    });
    this.#deadlines = new AgentTimers(clock, (extension) => this.#workers.start(extension));
    this.#absences = new AgentTimers(clock, (extension) => {
      if (live.live) tell({ type: 'agent.absent', at: clock.now(), extension });
    });
  }

  /** Takes a committed event; changes that follow from it run in the background. */
  onDomainEvent(event: DomainEvent): void {
    switch (event.type) {
      case 'offer.timeout':
        return this.#countMissed(event.data.extension);
      case 'offer.accepted':
        if (event.data.extension !== null) this.#missed.delete(event.data.extension);
        return;
      case 'presence.changed':
        return this.#lookForDevices(event.data.extension);
      case 'engine.resynced':
        for (const { extension, wrap_up_deadline } of this.#deps.live.agents()) {
          if (event.data.restarted && wrap_up_deadline !== null) this.#forgotten.add(extension);
          this.#look(extension);
        }
        return;
      case 'agent.logged_in':
      case 'agent.ready':
        if (event.data.queue != null) this.#missed.delete(event.data.extension);
        return this.#look(event.data.extension);
      default:
        if ('agent' in event.data) this.#look(event.data.extension);
    }
  }

  async idle(): Promise<void> {
    await this.#workers.idle();
  }

  /** Ends the pauses that this service set for a wrap-up, within `ms`, so that no agent stays paused after its stop. */
  async close(ms: number): Promise<void> {
    const { engine, live } = this.#deps;
    this.#workers.stop();
    this.#deadlines.clearAll();
    this.#absences.clearAll();
    await this.#workers.idle();
    if (!live.live) return;
    const held = live
      .agents()
      .flatMap(({ extension, members }) =>
        members
          .filter((row) => pausedFor(row, WRAP_UP))
          .flatMap((row) => changeTo(engine, extension, row.queue, row, READY) ?? []),
      );
    if (held.length > 0) await applyChanges(this.#deps, held, ms).catch(() => undefined);
  }

  /** Brings the engine to the state of an agent; resolves when the engine shows it. */
  settle(extension: string): Promise<void> {
    const { clock, lanes, tell } = this.#deps;
    return lanes.run(
      extension,
      async () => {
        const changes = this.#changesOf(extension);
        if (changes.length > 0) await applyChanges(this.#deps, changes, CONFIRM_MS);
        this.#forgotten.delete(extension);
        if (this.#isPast(extension))
          tell({ type: 'agent.wrap_up', at: clock.now(), extension, deadline: null });
      },
      { urgent: true },
    );
  }

  /** Returns the membership that the system wants for a row; undefined for no preference. */
  #wish(extension: string, rows: readonly QueueMember[]) {
    const { clock, live } = this.#deps;
    const agent = live.agent(extension);
    const deadline = agent?.wrap_up_deadline ?? null;
    const wraps = deadline !== null && deadline > clock.now();
    const hold = wraps && (this.#forgotten.has(extension) || !rows.some((row) => pausedFor(row, WRAP_UP)));
    const takeOut = agent?.summary.not_responding === true && !rows.some((row) => pausedFor(row, NO_ANSWER));
    const waiting = this.#deps.waiting(extension);
    const stays = rows.some((row) => !pausedFor(row, LOGIN) && !pausedFor(row, LOGOUT));
    const free = agent !== undefined && !BUSY.has(agent.summary.engagement);
    return (row: QueueMember): Membership | undefined => {
      if (pausedFor(row, LOGOUT)) return free && row.membership === 'dynamic' ? ABSENT : undefined;
      // An agent that is paused elsewhere has joined by `*81`; a restoration ends this pause itself.
      if (stays && pausedFor(row, LOGIN) && !waiting.includes(row.queue)) return joinedAs(rows, wraps);
      if (takeOut && (!row.paused || pausedFor(row, WRAP_UP))) return pausedWith(NO_ANSWER);
      if (hold && !row.paused) return pausedWith(WRAP_UP);
      return !wraps && pausedFor(row, WRAP_UP) ? READY : undefined;
    };
  }

  #changesOf(extension: string): Change[] {
    const { engine, live } = this.#deps;
    const rows = rowsOf(live, extension);
    const wanted = this.#wish(extension, rows);
    return rows.flatMap((row) => {
      const to = wanted(row);
      return (to && changeTo(engine, extension, row.queue, row, to)) ?? [];
    });
  }

  /** True if a wrap-up is past its deadline. Where no pause ended with it, only the service can report its end. */
  #isPast(extension: string): boolean {
    const { clock, live } = this.#deps;
    const deadline = live.agent(extension)?.wrap_up_deadline ?? null;
    return deadline !== null && deadline <= clock.now();
  }

  #look(extension: string): void {
    const agent = this.#deps.live.agent(extension);
    const deadline = agent?.wrap_up_deadline ?? null;
    if (deadline === null) this.#deadlines.clear(extension);
    else this.#deadlines.set(extension, deadline);
    this.#lookForDevices(extension);
    this.#workers.start(extension);
  }

  #lookForDevices(extension: string): void {
    const { clock, live, settings } = this.#deps;
    const agent = live.agent(extension);
    const reachability = live.extension(extension)?.reachability;
    if (reachability === 'online' || reachability === 'push_only') this.#reached.add(extension);
    const away =
      agent?.summary.session === 'logged_in' &&
      agent.summary.engagement !== 'unreachable' &&
      reachability === 'offline';
    if (!away) {
      this.#gone.delete(extension);
      this.#absences.clear(extension);
      return;
    }
    const since = this.#gone.get(extension) ?? clock.now();
    this.#gone.set(extension, since);
    this.#absences.set(extension, since + (this.#reached.has(extension) ? settings.unreachableMs : 0));
  }

  #countMissed(extension: string | null): void {
    const { clock, settings, tell } = this.#deps;
    if (extension === null || settings.noAnswerLimit === 0) return;
    const count = (this.#missed.get(extension) ?? 0) + 1;
    this.#missed.set(extension, count);
    if (count < settings.noAnswerLimit) return;
    this.#missed.delete(extension);
    tell({ type: 'agent.not_responding', at: clock.now(), extension, missed: count });
  }
}
