/** Error of a field. */
import type { ReactNode } from 'react';
import { useForm } from './form-context.ts';
import type { Mistake } from './schema.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

/** Text of the error in the reader's language. */
export const mistakeText = ({ text, values, detail }: Mistake): string =>
  detail === '' ? t(text, values) : detail;
/** `deep` includes errors of nested fields, if these do not show them. */
export function useMistake(path: string, deep = false): ReactNode {
  const { mistakes } = useForm();
  const found = mistakes.find((m) => m.path === path || (deep && m.path.startsWith(`${path}.`)));
  return found === undefined ? undefined : mistakeText(found);
}
