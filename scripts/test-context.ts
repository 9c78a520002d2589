/**
 * Imported before each test file: Node's runner finds the test of an error or of a nested `test` by following every promise from the
 * one that created it, which took a quarter of the processor time of files with many of them. Here it follows only its own tests, and
 * the context that V8 keeps for each promise names the test instead. Where a later runner does not call this, it follows all as before.
 */
import hooks, { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { HookCallbacks } from 'node:async_hooks';

const { createHook, executionAsyncId } = hooks;
const RUNNER = 'node:internal/test_runner/';
const current = new AsyncLocalStorage<number>();
const tests = new Set<number>();

function followTests(runner: HookCallbacks): ReturnType<typeof createHook> {
  const { prototype } = AsyncResource;
  const inScope: unknown = Reflect.get(prototype, 'runInAsyncScope');
  prototype.runInAsyncScope = function (work, self, ...args) {
    const id = this.asyncId();
    const named = (...given: typeof args) => current.run(id, () => Reflect.apply(work, self, given));
    return Reflect.apply(inScope as () => never, this, [tests.has(id) ? named : work, self, ...args]);
  };
  const options = {
    init(id: number, type: string, trigger: number, resource: object) {
      if (type !== 'Test') return;
      tests.add(id);
      runner.init?.(id, type, trigger, resource);
    },
    destroy(id: number) {
      if (tests.delete(id)) runner.destroy?.(id);
    },
    // Missing in Node's types.
    trackPromises: false,
  };
  return createHook(options);
}

Object.assign(hooks, {
  createHook: (callbacks: HookCallbacks) =>
    new Error().stack?.includes(RUNNER) ? followTests(callbacks) : createHook(callbacks),
  executionAsyncId: () => current.getStore() ?? executionAsyncId(),
});
