/**
 * Runs `work` once for all requests that arrived while it ran for earlier ones, so that many share one commit. `work`
 * resolves with one result for each request, in order; if it rejects, each of these requests rejects.
 */
export function batched<T, R>(work: (all: readonly T[]) => Promise<readonly R[]>): (one: T) => Promise<R> {
  let next: { readonly all: T[]; readonly results: Promise<readonly R[]> } | null = null;
  let running: Promise<unknown> = Promise.resolve();
  return async (one) => {
    if (next === null) {
      const all: T[] = [];
      const results = running.then(() => {
        next = null;
        return work(all);
      });
      running = results.catch(() => undefined);
      next = { all, results };
    }
    const at = next.all.push(one) - 1;
    return (await next.results)[at]!;
  };
}
