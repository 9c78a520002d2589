import type { MoveCaller, Queue, QueueMember, QueueReply, QueuesReply } from '@offhook/contract/queues.ts';
import type { z } from 'zod';
import { Commands } from '../../commands/kernel.ts';
import type { Line } from '../../commands/audited.ts';
import type { Command } from '../../commands/kernel.ts';
import { rfc3339 } from '../../core/clock.ts';
import { shownTo } from '../../rights/display.ts';
import { queuesOf, reaches } from '../../rights/rights.ts';
import type { Objects, Principal } from '../../rights/rights.ts';
import { ServiceError, markNotBegun } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Directory } from '../../ports/directory.ts';
import type { QueueVerbs } from '../../ports/engine-verbs.ts';
import type { Engine } from '../../ports/engine.ts';
import type { ModelInput } from '../../ports/live.ts';
import type { Memberships } from '../../ports/memberships.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { TopicSource } from '../../ports/stream.ts';
import { createCallerCommands } from './callers.ts';
import type { Taken, Withdrawn } from './callers.ts';
import { membersOf, queueView } from './view.ts';
import type { QueueSettings } from './view.ts';

export interface QueuesDeps extends Common<'audit' | 'clock' | 'live' | 'log'> {
  readonly engine: QueueVerbs & Pick<Engine, 'resync' | 'settled' | 'roundTrip'>;
  readonly directory: Pick<Directory, 'queuesOf'>;
  /** The site's current queues. */
  readonly settings: () => readonly QueueSettings[];
  readonly memberships: Memberships;
  /** Passes input to the model, in order with the engine's facts. */
  readonly tell: (input: ModelInput) => void;
  /** Timeout of the engine's confirmation, including a fresh snapshot; 5,000 ms by default. */
  readonly confirm_ms?: number;
}
/** Queues and a supervisor's commands on them. Every command is audited, and confirmed by the engine's events. */
export interface Queues extends TopicSource {
  snapshot(objects: Objects): { as_of: string; stale: boolean; queues: Queue[] };
  /** Queues that `who` may see. */
  list(who: Principal): z.infer<typeof QueuesReply>;
  /** Throws `no_such_queue` also for a queue that `who` may not see. */
  one(who: Principal, name: string): z.infer<typeof QueueReply>;
  /** Moves a caller to another position, or to another queue as a new visit. `no_such_caller`: it does not wait. */
  move(actor: Actor, name: string, id: string, wanted: MoveCaller): Promise<Taken>;
  /** Sends the caller to the queue's destination for callers who waited too long. */
  withdraw(actor: Actor, name: string, id: string): Promise<Withdrawn>;
  prioritise(actor: Actor, name: string, id: string, priority: number): Promise<Taken>;
  addMember(actor: Actor, name: string, extension: string): Promise<QueueMember[]>;
  removeMember(actor: Actor, name: string, extension: string): Promise<QueueMember[]>;
}

const CONFIRM_MS = 5_000;

export function createQueues(deps: QueuesDeps): Queues {
  const { engine, live, directory, memberships, clock, tell } = deps;
  const ms = deps.confirm_ms ?? CONFIRM_MS;
  const commands = new Commands(deps, {
    prefix: 'queue',
    confirm_ms: ms,
    limit: { counts: 'asked', refusal: (count, who) => say`${count} changes of ${who} are under way` },
    unsent: 'by_code',
  });

  const settingsFor = (who: Principal, name: string, access: 'read' | 'control'): QueueSettings => {
    const found = deps.settings().find((queue) => queue.name === name);
    if (found === undefined || !reaches(seen(who, access), name)) {
      throw new ServiceError('no_such_queue', say`there is no queue ${name}`);
    }
    return found;
  };
  const seen = (who: Principal, access: 'read' | 'control') =>
    queuesOf(
      who,
      directory.queuesOf(who.extension).map((queue) => queue.name),
      access,
    );
  const callers = createCallerCommands({ engine, live, clock, tell, ms });
  /** Runs a command on a caller of a queue that the actor controls. */
  const steer = async <T>(
    { caller, ip }: Actor,
    action: string,
    object: string,
    detail: NonNullable<Line['detail']>,
    plan: (operationId: string) => Command<T>,
  ): Promise<T> => {
    const asked = { action, actor: caller.username, object, ip, detail };
    const { value } = await commands.run(asked, (id) => {
      settingsFor(caller, object, 'control');
      return plan(id);
    });
    return value;
  };
  /** Changes the membership of an agent; the agents feature audits what this feature does not refuse. */
  const changeMembers = async (
    { caller, ip }: Actor,
    action: 'agent.login' | 'agent.logout',
    name: string,
    extension: string,
    change: () => Promise<void>,
  ): Promise<QueueMember[]> => {
    let begun = false;
    try {
      return await commands.limited(caller.username, async () => {
        settingsFor(caller, name, 'control');
        // A key needs the extension too: a membership belongs to the agent as much as to the queue.
        if (caller.key !== null && !reaches(caller.key.extensions, extension)) {
          throw new ServiceError('forbidden', say`this key may not change the agent ${extension}`);
        }
        begun = true;
        await change();
        return membersOf(live.queue(name));
      });
    } catch (error) {
      if (begun) throw error;
      const detail = { queue: name };
      await commands.refused({ action, actor: caller.username, object: extension, ip, detail }, error);
      throw markNotBegun(error);
    }
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
      steer(
        actor,
        'queue.move_caller',
        name,
        { leg_id: id, to: wanted.queue ?? name, position: wanted.position ?? null },
        (operationId) => {
          const to = settingsFor(actor.caller, wanted.queue ?? name, 'control');
          return callers.move(operationId, name, id, to, wanted);
        },
      ),
    withdraw: (actor, name, id) =>
      steer(actor, 'queue.withdraw_caller', name, { leg_id: id }, (operationId) =>
        callers.withdraw(operationId, name, id),
      ),
    prioritise: (actor, name, id, priority) =>
      steer(actor, 'queue.prioritise_caller', name, { leg_id: id, priority }, (operationId) =>
        callers.prioritise(operationId, name, id, priority),
      ),
    addMember: (actor, name, extension) =>
      changeMembers(actor, 'agent.login', name, extension, () => memberships.join(actor, extension, name)),
    removeMember: (actor, name, extension) =>
      changeMembers(actor, 'agent.logout', name, extension, () => memberships.leave(actor, extension, name)),
  };
}
