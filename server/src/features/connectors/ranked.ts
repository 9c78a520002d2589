import { AsyncLocalStorage } from 'node:async_hooks';
import { messageOf } from '../../core/errors.ts';
import type { Budget, Rank } from '../../outbound/budget.ts';
import type { Send } from '../../outbound/json.ts';
import { unsent } from '../../outbound/transport.ts';
import type { Transport } from '../../outbound/transport.ts';
import type { Clock } from '../../ports/clock.ts';

/** Rank of the requests in an asynchronous context; requests without a rank have that of entries. */
const rankOf = new AsyncLocalStorage<Rank>();
/** Runs `work`; its requests have this rank in the budget. */
export const ranked = <R>(rank: Rank, work: () => Promise<R>): Promise<R> => rankOf.run(rank, work);

/** As `ranked`, and aborts the signal after `ms`, because the limits of a file can delay a request by a day. */
export async function rankedWithin<R>(
  clock: Pick<Clock, 'sleep'>,
  rank: Rank,
  ms: number,
  work: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const late = new AbortController();
  const done = new AbortController();
  clock.sleep(ms, done.signal).then(
    () => late.abort(new Error(`no answer within ${ms / 1_000} s`)),
    () => undefined,
  );
  try {
    return await ranked(rank, () => work(late.signal));
  } finally {
    done.abort();
  }
}

/** Sends within the budget of one connector; a request that waits too long for the budget is `unsent`. */
export const budgeted =
  (transport: Transport, budget: Budget): Send =>
  async (request, signal) => {
    try {
      return await budget.run(rankOf.getStore() ?? 'entry', signal, async () => {
        const result = await transport.send(request, signal);
        if (result.status === 429 && result.retry_after_seconds !== null)
          budget.hold(result.retry_after_seconds);
        return result;
      });
    } catch (error) {
      return unsent(messageOf(error));
    }
  };
