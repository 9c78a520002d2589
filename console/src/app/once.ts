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
/** True during the second click of a double click, and later ones. */
let repeats = false;
addEventListener(
  'click',
  (event) => {
    repeats = event.detail > 1;
    setTimeout(() => (repeats = false));
  },
  { capture: true },
);

const files = new WeakMap<Blob, number>();
let counted = 0;
/** Equal for equal inputs; a file is equal to itself only, because JSON has nothing of its content. */
const nameOf = (input: unknown): string | undefined =>
  JSON.stringify(input, (_key, value: unknown) => {
    if (!(value instanceof Blob)) return value;
    const number = files.get(value) ?? (counted += 1);
    files.set(value, number);
    return { file: number };
  });

/**
 * `useMutation` that starts once: a second call with the same input shares the result of the running one. A second click is
 * faster than the render that shows the button as busy. The service may be faster than both clicks: the second click of a
 * double click shares the result of a change that has ended, too.
 */
export function useOnce<T, Input = void>(options: UseMutationOptions<T, unknown, Input>): Once<T, Input> {
  const mutation = useMutation(options);
  const running = useRef(new Map<string | undefined, Promise<T>>());
  const last = useRef<{ readonly name: string | undefined; readonly work: Promise<T> }>(null);
  const mutateAsync = (input: Input): Promise<T> => {
    const name = nameOf(input);
    const before = running.current.get(name);
    if (before !== undefined) return before;
    if (repeats && last.current !== null && last.current.name === name) return last.current.work;
    const work = mutation.mutateAsync(input).finally(() => running.current.delete(name));
    running.current.set(name, work);
    last.current = { name, work };
    return work;
  };
  return {
    ...mutation,
    mutateAsync,
    mutate: (input: Input) => void mutateAsync(input).catch(() => undefined),
  };
}
