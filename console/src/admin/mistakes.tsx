/** What is wrong with a field. */
import type { ReactNode } from 'react';
import { Text } from '@mantine/core';
import { useForm } from './form-context.ts';
import type { Mistake } from './schema.ts';
import { language, wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

/** What is wrong: in the reader's language, and then as the service said it. */
export const mistakeText = ({ text, values }: Mistake): string => t(text, values);
/** What a field is refused for is said by the service, in English; who reads another language is told that it is refused. */
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
/** `deep` takes what is wrong inside of it too, where nothing inside says it itself. */
export function useMistake(path: string, deep = false): ReactNode {
  const { mistakes } = useForm();
  const found = mistakes.find((m) => m.path === path || (deep && m.path.startsWith(`${path}.`)));
  return found === undefined ? undefined : <Wrong mistake={found} />;
}
