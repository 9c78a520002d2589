/** Language of prompts. */
import type { ReactNode } from 'react';
import { NativeSelect } from '@mantine/core';
import { language, wordsOf } from '../app/words.ts';

const t = wordsOf('admin');
/** Languages with sounds of their own, and those of the console. */
const OFFERED = ['de', 'en', 'es', 'fr', 'it', 'ru', 'tr'];

export interface LanguageInputProps {
  readonly id: string;
  readonly label: string;
  readonly description: string | undefined;
  readonly error: ReactNode;
  readonly withAsterisk: boolean;
  /** True if the field may be empty, because another object then decides the language. */
  readonly nullable: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
}
export function LanguageInput({ nullable, value, onChange, ...common }: LanguageInputProps): ReactNode {
  const names = new Intl.DisplayNames([language()], { type: 'language' });
  const codes = [...new Set(value === '' ? OFFERED : [...OFFERED, value])];
  const options = codes
    .map((code) => ({ value: code, label: names.of(code.replace('_', '-')) ?? code }))
    .toSorted((a, b) => a.label.localeCompare(b.label, language()));
  return (
    <NativeSelect
      {...common}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[...(nullable ? [{ value: '', label: t('language_default') }] : []), ...options]}
    />
  );
}
