/**
 * Runs `work` for all requests that came while it ran for earlier ones: one commit for many. It resolves with one result for
 * each, in order; where it throws, each request rejects.
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
