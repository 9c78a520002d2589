import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';

export interface Lanes {
  /**
   * Runs `work` after everything this agent asked before; other agents are not held up. Rejects `too_many_requests`
   * when too many wait already; `internal` work is always taken.
   */
  run<T>(agent: string, work: () => Promise<T>, options?: { internal?: boolean }): Promise<T>;
  /** Resolves when nothing runs or waits. */
  idle(): Promise<void>;
}

/** One line per agent, with at most `waiting` requests in it behind the one that runs. */
export function createLanes(waiting: number): Lanes {
  const lanes = new Map<string, { tail: Promise<unknown>; depth: number }>();
  return {
    run(agent, work, options = {}) {
      const lane = lanes.get(agent) ?? { tail: Promise.resolve(), depth: 0 };
      if (!options.internal && lane.depth > waiting) {
        return Promise.reject(
          new ServiceError('too_many_requests', say`${lane.depth} actions of ${agent} are still under way`, {
            retry_after_seconds: 1,
          }),
        );
      }
      lanes.set(agent, lane);
      lane.depth += 1;
      const result = lane.tail.then(work);
      lane.tail = result
        .catch(() => {})
        .finally(() => {
          lane.depth -= 1;
          if (lane.depth === 0) lanes.delete(agent);
        });
      return result;
    },
    async idle() {
      while (lanes.size > 0) await Promise.all([...lanes.values()].map((lane) => lane.tail));
    },
  };
}
