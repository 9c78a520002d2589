/** Commands of a supervisor on a waiting caller; each is planned from the live view and run by the kernel. */
import type { MoveCaller, QueueCaller } from '@offhook/contract/queues.ts';
import { ensureLive, ignoreLate, sendAndConfirm } from '../../commands/confirm.ts';
import type { Step } from '../../commands/confirm.ts';
import type { Command } from '../../commands/kernel.ts';
import { ServiceError, hasCode } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { QueuePlace, QueueVerbs } from '../../ports/engine-verbs.ts';
import type { Engine } from '../../ports/engine.ts';
import type { CallerTaken, ExpectedEvent, LiveCaller, ModelInput } from '../../ports/live.ts';
import type { Common } from '../../ports/common.ts';
import { callerOf } from './view.ts';
import type { QueueSettings } from './view.ts';

export interface CallerDeps extends Common<'clock' | 'live'> {
  readonly engine: QueueVerbs & Pick<Engine, 'resync'>;
  readonly tell: (input: ModelInput) => void;
  /** Milliseconds in which the engine must confirm each step. */
  readonly ms: number;
}
export interface Taken {
  readonly operation_id: string;
  readonly queue: string;
  readonly caller: QueueCaller;
}
export type Withdrawn = Omit<Taken, 'caller'> & { readonly call_id: string };
/** Each throws `engine_unavailable`, or `no_such_caller` if the caller does not wait in that queue. */
export interface CallerCommands {
  move(
    operationId: string,
    queue: string,
    leg: string,
    to: QueueSettings,
    wanted: MoveCaller,
  ): Command<Taken>;
  withdraw(operationId: string, queue: string, leg: string): Command<Withdrawn>;
  prioritise(operationId: string, queue: string, leg: string, priority: number): Command<Taken>;
}

export function createCallerCommands({ engine, live, clock, tell, ms }: CallerDeps): CallerCommands {
  const find = (queue: string, leg: string): LiveCaller | undefined =>
    live.queue(queue)?.callers.find((caller) => caller.leg === leg);
  const waiting = (queue: string, leg: string): LiveCaller => {
    ensureLive(live);
    const caller = find(queue, leg);
    if (caller !== undefined) return caller;
    throw new ServiceError('no_such_caller', say`no caller with this id waits in ${queue}`);
  };
  /** True while the same visit is open, not a later one of the same caller. */
  const waits = (visit: LiveCaller): boolean => find(visit.queue, visit.leg)?.joined_at === visit.joined_at;
  const causes = ({ leg }: LiveCaller, ...types: ExpectedEvent['type'][]) => ({
    expects: types.map((type) => ({ type, leg })),
    ms,
  });
  const confirm = (step: Step, id: string): Promise<void> =>
    sendAndConfirm({ live, clock }, step, id, { ms, from: 'answer', refused_ms: 0 });
  const mark = ({ channel }: LiveCaller, why: CallerTaken['why']): void =>
    tell({ type: 'caller.taken', at: clock.now(), channel, why });
  const take = async (
    visit: LiveCaller,
    why: 'moved' | 'placed' | 'withdrawn',
    to: QueuePlace | null,
    id: string,
  ): Promise<void> => {
    mark(visit, why);
    try {
      await engine.takeCaller(visit.queue, visit.channel, to, { action_id: id });
    } catch (error) {
      // After a late answer the engine may still take the caller out.
      if (!hasCode(error, 'engine_timeout')) mark(visit, null);
      throw error;
    }
  };
  /** Reads the priority from a snapshot, because no event carries it. */
  const showPriority = async (queue: string, leg: string, priority: number): Promise<void> => {
    const shown = (): boolean => {
      const caller = find(queue, leg);
      return caller === undefined || caller.priority === priority;
    };
    if (shown()) return;
    engine.resync();
    await live.until(shown, { ms, waitingFor: `the priority of ${leg} in ${queue}` });
  };

  return {
    move(operation_id, name, leg, to, wanted) {
      const visit = waiting(name, leg);
      const priority = wanted.priority ?? visit.priority ?? 0;
      const stays = to.name === name;
      const arrived = (): LiveCaller | undefined => {
        const caller = find(to.name, leg);
        const there = stays ? caller?.moves !== visit.moves : caller?.joined_at !== visit.joined_at;
        return there ? caller : undefined;
      };
      const over = (): boolean => live.gone(visit.channel) || (stays && !waits(visit));
      const place = { queue: to.name, number: to.number, position: wanted.position ?? null, priority };
      return {
        // The second change is that of the priority, which a snapshot shows later.
        causes: stays
          ? causes(visit, 'queue.caller_changed', 'queue.caller_changed')
          : causes(visit, 'queue.caller_left', 'queue.caller_joined', 'queue.caller_changed'),
        async run(id) {
          const step: Step = {
            send: () => take(visit, stays ? 'placed' : 'moved', place, id),
            confirmed: () => arrived() !== undefined,
            failed: () => (over() ? new ServiceError('no_such_caller', 'the caller no longer waits') : null),
            waitingFor: `${leg} to wait in ${to.name}`,
          };
          try {
            await confirm(step, id);
          } catch (error) {
            const unknown = !(error instanceof ServiceError) || error.code !== 'no_such_caller';
            if (stays && unknown) mark(visit, null);
            throw error;
          }
          const joined = arrived()!;
          await showPriority(to.name, leg, priority);
          return { operation_id, queue: to.name, caller: callerOf(arrived() ?? joined) };
        },
        audit: 'must',
      };
    },
    withdraw(operation_id, name, leg) {
      const visit = waiting(name, leg);
      return {
        causes: causes(visit, 'queue.caller_left'),
        async run(id) {
          const step: Step = {
            send: () => take(visit, 'withdrawn', null, id),
            confirmed: () => !waits(visit),
            waitingFor: `${leg} to leave ${name}`,
          };
          await confirm(step, id);
          return { operation_id, queue: name, call_id: visit.call };
        },
        audit: 'must',
      };
    },
    prioritise(operation_id, name, leg, priority) {
      const visit = waiting(name, leg);
      const isSo = visit.priority === priority;
      return {
        causes: causes(visit, 'queue.caller_changed'),
        isSo,
        async run(action_id) {
          if (!isSo) {
            await engine.setCallerPriority(name, visit.channel, priority, { action_id }).catch(ignoreLate);
            await showPriority(name, leg, priority);
          }
          const caller = find(name, leg);
          if (caller === undefined)
            throw new ServiceError('no_such_caller', 'the caller no longer waits in this queue');
          return { operation_id, queue: name, caller: callerOf(caller) };
        },
        audit: 'must',
      };
    },
  };
}
