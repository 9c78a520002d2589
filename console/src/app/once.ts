/** Changes that run once, however often the button is clicked. */
import { useRef } from 'react';
import { useMutation } from '@tanstack/react-query';
import type { UseMutationOptions, UseMutationResult } from '@tanstack/react-query';

export interface Once<T, Input> extends Pick<
  UseMutationResult<T, unknown, Input>,
  'data' | 'error' | 'isError' | 'isPending' | 'isSuccess' | 'reset' | 'variables'
> {
  readonly mutate: (input: Input) => void;
  readonly mutateAsync: (input: Input) => Promise<T>;
}
/**
 * `useMutation` that starts once: a second call with the same input shares the result of the running one. A second click is
 * faster than the render that shows the button as busy.
 */
export function useOnce<T, Input = void>(options: UseMutationOptions<T, unknown, Input>): Once<T, Input> {
  const mutation = useMutation(options);
  const running = useRef(new Map<string | undefined, Promise<T>>());
  const mutateAsync = (input: Input): Promise<T> => {
    const name = JSON.stringify(input);
    const before = running.current.get(name);
    if (before !== undefined) return before;
    const work = mutation.mutateAsync(input).finally(() => running.current.delete(name));
    running.current.set(name, work);
    return work;
  };
  return {
    ...mutation,
    mutateAsync,
    mutate: (input: Input) => void mutateAsync(input).catch(() => undefined),
  };
}
