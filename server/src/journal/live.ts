import { ServiceError } from '../core/errors.ts';
import type { LiveView, ModelView } from '../ports/live.ts';

interface Waiter {
  readonly holds: () => boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}
/** Limit of waiters, reached only if the engine no longer confirms anything. */
const MAX_WAITERS = 10_000;

/** The model's view with `until`, and the function that makes the waiters check again. */
export function createLiveView(view: ModelView): { readonly view: LiveView; changed(): void } {
  const waiters = new Set<Waiter>();
  const down = (): ServiceError =>
    new ServiceError('engine_unavailable', 'the engine link is down', { retry_after_seconds: 5 });
  const until: LiveView['until'] = async (holds, { ms, waitingFor, signal }) => {
    signal?.throwIfAborted();
    if (!view.live) throw down();
    if (holds()) return;
    if (waiters.size >= MAX_WAITERS) throw new ServiceError('overloaded', 'too many commands are waiting');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { holds, resolve, reject };
    const stop = (): void => reject(signal?.reason);
    const timer = setTimeout(() => {
      reject(new ServiceError('engine_timeout', `the engine did not confirm in time: ${waitingFor}`));
    }, ms);
    waiters.add(waiter);
    signal?.addEventListener('abort', stop, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      waiters.delete(waiter);
      signal?.removeEventListener('abort', stop);
    }
  };
  return {
    // The prototype's getters show the state of each read; a copy would keep that of now.
    view: Object.assign(Object.create(view) as ModelView, { until }),
    changed() {
      for (const waiter of waiters) {
        try {
          if (!view.live) waiter.reject(down());
          else if (waiter.holds()) waiter.resolve();
        } catch (error) {
          waiter.reject(error);
        }
      }
    },
  };
}
