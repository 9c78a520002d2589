/** Error of a field. */
import type { ReactNode } from 'react';
import { Text } from '@mantine/core';
import { useForm } from './form-context.ts';
import type { Mistake } from './schema.ts';
import { language, wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

/** Text of the error in the reader's language. */
const mistakeText = ({ text, values }: Mistake): string => t(text, values);
/** The service's refusal is shown in English; readers of other languages also get a sentence that the field is refused. */
export function Wrong({ mistake }: { readonly mistake: Mistake }): ReactNode {
  const { detail, text } = mistake;
  const said = text === 'refused' && detail !== '' && language() === 'en' ? '' : mistakeText(mistake);
  return (
    <>
      {said}
      {detail !== '' && (
        <Text span inherit lang="en">
          {said === '' ? detail : ` – ${detail}`}
        </Text>
      )}
    </>
  );
}
/** `deep` includes errors of nested fields, if these do not show them. */
export function useMistake(path: string, deep = false): ReactNode {
  const { mistakes } = useForm();
  const found = mistakes.find((m) => m.path === path || (deep && m.path.startsWith(`${path}.`)));
  return found === undefined ? undefined : <Wrong mistake={found} />;
}
