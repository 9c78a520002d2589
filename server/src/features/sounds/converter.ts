import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { ServiceError } from '../../core/errors.ts';
import { Queue } from '../../core/queue.ts';
import type { Said } from '../../core/said.ts';
import type { Converted } from './convert.ts';

export interface Task {
  /** The upload. */
  readonly from: string;
  /** File to create. */
  readonly to: string;
  readonly most_seconds: number;
}
/** The only message of a conversion's thread. */
export type ThreadReply =
  | { readonly converted: Converted }
  | { readonly refused: { readonly code: ErrorCode; readonly detail: Said | string } }
  | { readonly failed: string };

/** An hour of music takes 40 s, and twice that if it is too loud; the limit also ends a decoder in a loop. */
const DEADLINE_MS = 300_000;
const HEAP_MEGABYTES = 192;

/** Runs one conversion at a time, each in its own thread. */
export interface Converter {
  /** Waits for earlier conversions. Throws `not_audio`, `sound_too_long`, `storage_full`; `to` may then exist. */
  convert(task: Task): Promise<Converted>;
  /** Ends the running conversion; waiting ones are refused with `overloaded`. */
  close(): Promise<void>;
}
export function createConverter(deadlineMs = DEADLINE_MS): Converter {
  const conversions = new Queue();
  let worker: Worker | undefined;
  let closed = false;

  async function run(task: Task): Promise<Converted> {
    if (closed) throw new ServiceError('overloaded', 'the service is stopping; try again shortly');
    worker = new Worker(new URL('./thread.ts', import.meta.url), {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
      // Decoders write to the console.
      stdout: true,
      stderr: true,
    });
    worker.stdout.resume();
    worker.stderr.resume();
    const running = worker;
    const ending = new AbortController();
    try {
      const timer = setTimeout(() => ending.abort(), deadlineMs);
      ending.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
      const reply = await Promise.race([
        once(running, 'message', { signal: ending.signal }).then(([message]) => message as ThreadReply),
        once(running, 'exit', { signal: ending.signal }).then((): ThreadReply => {
          const why = closed ? 'overloaded' : 'not_audio';
          return { refused: { code: why, detail: 'its conversion was ended' } };
        }),
      ]).catch((error: unknown): ThreadReply => {
        // An hour of any sound takes less time, and a sound too large for the thread's memory is no prompt.
        if (ending.signal.aborted || (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') {
          return {
            refused: { code: 'not_audio', detail: 'it cannot be decoded in bounds of time and memory' },
          };
        }
        throw error;
      });
      if ('converted' in reply) return reply.converted;
      if ('failed' in reply) throw new Error(reply.failed);
      throw new ServiceError(reply.refused.code, reply.refused.detail);
    } finally {
      ending.abort();
      await running.terminate();
      worker = undefined;
    }
  }
  return {
    convert: (task) => conversions.run(() => run(task)),
    async close() {
      closed = true;
      await worker?.terminate();
      await conversions.idle();
    },
  };
}
