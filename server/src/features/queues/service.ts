import { randomUUID } from 'node:crypto';
import type {
  MoveCaller,
  Queue,
  QueueCaller,
  QueueMember,
  QueueReply,
  QueuesReply,
} from '@offhook/contract/queues.ts';
import type { z } from 'zod';
import { rfc3339 } from '../../core/clock.ts';
import { shownTo } from '../../rights/display.ts';
import { queuesOf, reaches } from '../../rights/rights.ts';
import type { Objects, Principal } from '../../rights/rights.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Said } from '../../core/said.ts';
import type { Log } from '../../core/log.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Engine, QueuePlace, QueueVerbs } from '../../ports/engine.ts';
import type { CallerTaken, ExpectedEvent, LiveCaller, LiveView, ModelInput } from '../../ports/live.ts';
import type { Memberships } from '../../ports/memberships.ts';
import type { Actor } from '../../ports/operations.ts';
import type { TopicSource } from '../../ports/stream.ts';
import { callerOf, membersOf, queueView } from './view.ts';
import type { QueueSettings } from './view.ts';

export interface QueuesDeps {
  readonly engine: QueueVerbs & Pick<Engine, 'resync' | 'settled' | 'roundTrip'>;
  readonly live: LiveView;
  readonly directory: Pick<Directory, 'queuesOf'>;
  /** The site's queues as they are now. */
  readonly settings: () => readonly QueueSettings[];
  readonly memberships: Memberships;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly log: Log;
  /** In order with the engine's facts. */
  readonly tell: (input: ModelInput) => void;
  /** How long the engine may take to confirm, with a fresh snapshot read within it; 5,000 ms. */
  readonly confirm_ms?: number;
}
export interface Taken {
  readonly operation_id: string;
  readonly queue: string;
  readonly caller: QueueCaller;
}
/** Queues as they are now, and what a supervisor does to them; every change is audited and confirmed by the engine's own facts. */
export interface Queues extends TopicSource {
  snapshot(objects: Objects): { as_of: string; stale: boolean; queues: Queue[] };
  /** Those that may be seen. */
  list(who: Principal): z.infer<typeof QueuesReply>;
  /** Throws `no_such_queue` also for one that may not be seen. */
  one(who: Principal, name: string): z.infer<typeof QueueReply>;
  /** To another place of its queue, or to another queue, where it is a new visit. Throws `no_such_caller` for who does not wait, or no longer. */
  move(actor: Actor, name: string, id: string, wanted: MoveCaller): Promise<Taken>;
  /** The caller goes on as one who has waited too long. */
  withdraw(actor: Actor, name: string, id: string): Promise<Omit<Taken, 'caller'> & { call_id: string }>;
  prioritise(actor: Actor, name: string, id: string, priority: number): Promise<Taken>;
  addMember(actor: Actor, name: string, extension: string): Promise<QueueMember[]>;
  removeMember(actor: Actor, name: string, extension: string): Promise<QueueMember[]>;
}

const CONFIRM_MS = 5_000;
/** Changes that may be under way at once for one person or key. */
const MOST_AT_ONCE = 8;

export function createQueues(deps: QueuesDeps): Queues {
  const { engine, live, directory, memberships, audit, clock, log, tell } = deps;
  const ms = deps.confirm_ms ?? CONFIRM_MS;
  const underWay = new Map<string, number>();

  const seen = (who: Principal, access: 'read' | 'control') =>
    queuesOf(
      who,
      directory.queuesOf(who.extension).map((queue) => queue.name),
      access,
    );
  const settingsFor = (who: Principal, name: string, access: 'read' | 'control'): QueueSettings => {
    const found = deps.settings().find((queue) => queue.name === name);
    if (found === undefined || !reaches(seen(who, access), name)) {
      throw new ServiceError('no_such_queue', say`there is no queue ${name}`);
    }
    return found;
  };
  /** A key is kept to its extensions here too: a membership is the agent's as much as the queue's. */
  const ensureReaches = ({ caller }: Actor, extension: string): void => {
    if (caller.key === null || reaches(caller.key.extensions, extension)) return;
    throw new ServiceError('forbidden', say`this key may not change the agent ${extension}`);
  };
  const noSuchCaller = (why: Said | string): ServiceError => new ServiceError('no_such_caller', why);
  const find = (queue: string, leg: string): LiveCaller | undefined =>
    live.queue(queue)?.callers.find((caller) => caller.leg === leg);
  const waiting = (queue: string, leg: string): LiveCaller => {
    if (!live.live) {
      throw new ServiceError('engine_unavailable', 'The engine is not connected; nothing was done', {
        retry_after_seconds: 5,
      });
    }
    const caller = find(queue, leg);
    if (caller === undefined) throw noSuchCaller(say`nobody of this id waits in ${queue}`);
    return caller;
  };
  /** Still the same visit, not a later one of the same caller. */
  const waits = (visit: LiveCaller): boolean => find(visit.queue, visit.leg)?.joined_at === visit.joined_at;

  const begin = (caller: LiveCaller, types: readonly ExpectedEvent['type'][]): string => {
    const operation_id = `queue-${randomUUID()}`;
    const at = clock.now();
    const expects = types.map((type) => ({ type, leg: caller.leg }));
    tell({ type: 'operation.sent', at, operation_id, until: at + ms, expects });
    return operation_id;
  };
  /** A late answer is no failure: the fact decides. */
  const sent = async (action: Promise<void>): Promise<void> => {
    await action.catch((error: unknown) => {
      if (!(error instanceof ServiceError && error.code === 'engine_timeout')) throw error;
    });
  };
  const confirmed = (holds: () => boolean, waitingFor: string): Promise<void> =>
    live.until(holds, { ms, waitingFor });
  const mark = ({ channel }: LiveCaller, why: CallerTaken['why']): void =>
    tell({ type: 'caller.taken', at: clock.now(), channel, why });
  const take = async (
    visit: LiveCaller,
    why: 'moved' | 'placed' | 'withdrawn',
    to: QueuePlace | null,
    operation_id: string,
  ): Promise<void> => {
    mark(visit, why);
    try {
      await sent(engine.takeCaller(visit.queue, visit.channel, to, { action_id: operation_id }));
    } catch (error) {
      mark(visit, null);
      throw error;
    }
  };
  /** No event tells a priority, a snapshot does. */
  const showPriority = async (queue: string, leg: string, priority: number): Promise<void> => {
    const shown = (): boolean => {
      const caller = find(queue, leg);
      return caller === undefined || caller.priority === priority;
    };
    if (shown()) return;
    engine.resync();
    await confirmed(shown, `the priority of ${leg} in ${queue}`);
  };

  const limited = async <T>(who: string, work: () => Promise<T>): Promise<T> => {
    const n = underWay.get(who) ?? 0;
    if (n >= MOST_AT_ONCE) {
      throw new ServiceError('too_many_requests', say`${n} changes of ${who} are under way`, {
        retry_after_seconds: 1,
      });
    }
    underWay.set(who, n + 1);
    try {
      return await work();
    } finally {
      const left = (underWay.get(who) ?? 1) - 1;
      if (left > 0) underWay.set(who, left);
      else underWay.delete(who);
    }
  };
  const audited = async <T>(
    actor: Actor,
    action: string,
    object: string,
    detail: NonNullable<AuditEntry['detail']>,
    work: () => Promise<T>,
  ): Promise<T> => {
    const entry = { action, actor: actor.caller.username, object, ip: actor.ip };
    let result: T;
    try {
      result = await limited(actor.caller.username, async () => {
        await engine.settled(ms);
        return await work();
      });
    } catch (error) {
      const known = error instanceof ServiceError ? error : null;
      const outcome = known !== null && known.status < 500 ? 'refused' : 'failed';
      await audit
        .record({ ...entry, outcome, detail: { ...detail, code: known?.code ?? 'internal' } })
        .catch((e: unknown) => log.warn({ error: messageOf(e), action }, 'a refusal was not audited'));
      throw error;
    }
    await audit.record({ ...entry, outcome: 'ok', detail });
    return result;
  };

  const known = () => ({
    as_of: rfc3339(live.as_of > 0 ? live.as_of : clock.now()),
    stale: !live.live,
  });
  const snapshot = (objects: Objects) => ({
    ...known(),
    queues: deps
      .settings()
      .filter((queue) => reaches(objects, queue.name))
      .map((queue) => queueView(queue, live.queue(queue.name))),
  });
  return {
    snapshot,
    list: (who) => shownTo(who, { success: true as const, ...snapshot(seen(who, 'read')) }),
    one: (who, name) =>
      shownTo(who, {
        success: true as const,
        ...known(),
        queue: queueView(settingsFor(who, name, 'read'), live.queue(name)),
      }),

    move: (actor, name, id, wanted) =>
      audited(
        actor,
        'queue.move_caller',
        name,
        { leg_id: id, to: wanted.queue ?? name, position: wanted.position ?? null },
        async () => {
          settingsFor(actor.caller, name, 'control');
          const to = settingsFor(actor.caller, wanted.queue ?? name, 'control');
          const visit = waiting(name, id);
          const priority = wanted.priority ?? visit.priority ?? 0;
          const stays = to.name === name;
          const operation_id = begin(
            visit,
            stays ? ['queue.caller_changed'] : ['queue.caller_left', 'queue.caller_joined'],
          );
          const place = { number: to.number, position: wanted.position ?? null, priority };
          await take(visit, stays ? 'placed' : 'moved', place, operation_id);
          const arrived = (): LiveCaller | undefined => {
            const caller = find(to.name, id);
            const there = stays ? caller?.moves !== visit.moves : caller?.joined_at !== visit.joined_at;
            return there ? caller : undefined;
          };
          const over = (): boolean => live.gone(visit.channel) || (stays && !waits(visit));
          try {
            await confirmed(() => arrived() !== undefined || over(), `${id} to wait in ${to.name}`);
          } catch (error) {
            if (stays) mark(visit, null);
            throw error;
          }
          const joined = arrived();
          if (joined === undefined) throw noSuchCaller('the caller waits no longer');
          await showPriority(to.name, id, priority);
          return { operation_id, queue: to.name, caller: callerOf(arrived() ?? joined) };
        },
      ),
    withdraw: (actor, name, id) =>
      audited(actor, 'queue.withdraw_caller', name, { leg_id: id }, async () => {
        settingsFor(actor.caller, name, 'control');
        const visit = waiting(name, id);
        const operation_id = begin(visit, ['queue.caller_left']);
        await take(visit, 'withdrawn', null, operation_id);
        await confirmed(() => !waits(visit), `${id} to leave ${name}`);
        return { operation_id, queue: name, call_id: visit.call };
      }),
    prioritise: (actor, name, id, priority) =>
      audited(actor, 'queue.prioritise_caller', name, { leg_id: id, priority }, async () => {
        settingsFor(actor.caller, name, 'control');
        const visit = waiting(name, id);
        const operation_id = begin(visit, ['queue.caller_changed']);
        if (visit.priority === priority) await engine.roundTrip(ms);
        if (waiting(name, id).priority !== priority) {
          await sent(engine.setCallerPriority(name, visit.channel, priority, { action_id: operation_id }));
          await showPriority(name, id, priority);
        }
        const caller = find(name, id);
        if (caller === undefined) throw noSuchCaller('the caller waits there no longer');
        return { operation_id, queue: name, caller: callerOf(caller) };
      }),
    // The agents' own trail says who was logged in or out, by whom.
    addMember: (actor, name, extension) =>
      limited(actor.caller.username, async () => {
        settingsFor(actor.caller, name, 'control');
        ensureReaches(actor, extension);
        await memberships.join(actor, extension, name);
        return membersOf(live.queue(name));
      }),
    removeMember: (actor, name, extension) =>
      limited(actor.caller.username, async () => {
        settingsFor(actor.caller, name, 'control');
        ensureReaches(actor, extension);
        await memberships.leave(actor, extension, name);
        return membersOf(live.queue(name));
      }),
  };
}
