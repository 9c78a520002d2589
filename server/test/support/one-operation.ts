import type { z } from 'zod';
import type { Operation } from '@offhook/contract/operation.ts';
import type { Actor, AnyServed } from '../../src/ports/operations.ts';

/** An operation of a test, with its handler. */
export function oneOperation<B extends z.ZodType>({
  run,
  ...one
}: Omit<Operation, 'body'> & {
  readonly body?: B;
  readonly run: (actor: Actor, input: { readonly body: z.output<B> }) => Promise<unknown>;
}): AnyServed {
  return { operations: { one }, handlers: { one: run } };
}
