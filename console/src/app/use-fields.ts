import { useState } from 'react';
import { equal, merged } from './merge.ts';

interface FormFields<T> {
  readonly fields: T;
  readonly set: (part: Partial<T>) => void;
  /** Call it with the fields that were sent and those that were stored: what was typed since then stays. */
  readonly saved: (sent: T, stored: T) => void;
}
/** Fields of a form for an object. If the object is read again and has changed, the fields that were changed here stay. */
export function useFields<T extends object>(read: T): FormFields<T> {
  const [state, setState] = useState({ read, base: read, fields: read });
  if (!equal(state.read, read))
    setState(({ base, fields }) => ({ read, base: read, fields: merged(base, fields, read) }));
  return {
    fields: state.fields,
    set: (part) => setState((now) => ({ ...now, fields: { ...now.fields, ...part } })),
    saved: (sent, stored) =>
      setState((now) => ({ ...now, base: stored, fields: merged(sent, now.fields, stored) })),
  };
}
