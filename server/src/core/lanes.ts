import { ServiceError } from './errors.ts';
import { say } from './said.ts';

export interface Lanes {
  /** Runs `work` after everything before it of this extension. Rejects `too_many_requests` when too many wait. */
  run<T>(extension: string, work: () => Promise<T>): Promise<T>;
  idle(): Promise<void>;
}

/** One line for each extension: two changes of the same one never cross. */
export function createLanes(most: number): Lanes {
  const lanes = new Map<string, { tail: Promise<unknown>; depth: number }>();
  return {
    async run(extension, work) {
      const lane = lanes.get(extension) ?? { tail: Promise.resolve(), depth: 0 };
      if (lane.depth > most) {
        throw new ServiceError('too_many_requests', say`${lane.depth} changes of ${extension} are waiting`, {
          retry_after_seconds: 1,
        });
      }
      lane.depth += 1;
      lanes.set(extension, lane);
      const done = lane.tail.then(work);
      lane.tail = done.catch(() => {});
      try {
        return await done;
      } finally {
        lane.depth -= 1;
        if (lane.depth === 0) lanes.delete(extension);
      }
    },
    async idle() {
      while (lanes.size > 0) await Promise.all(Array.from(lanes.values(), (lane) => lane.tail));
    },
  };
}
