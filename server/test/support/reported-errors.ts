import type { TestContext } from 'node:test';

/** Collects the messages of errors that callbacks of the client threw, which would otherwise end the process. */
export function reportedErrors(t: TestContext): ReadonlySet<string> {
  const messages = new Set<string>();
  const later = globalThis.queueMicrotask;
  t.mock.method(globalThis, 'queueMicrotask', (run: () => void) =>
    later(() => {
      try {
        run();
      } catch (error) {
        messages.add((error as Error).message);
      }
    }),
  );
  return messages;
}
