import { useRef } from 'react';

/** The value of the latest render, for callbacks and work that began in an earlier one. */
export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  latest.current = value;
  return latest;
}
