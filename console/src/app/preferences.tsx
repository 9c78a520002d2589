import type { ReactNode } from 'react';
import { NativeSelect } from '@mantine/core';
import { tellFailure } from './tell.ts';
import { LANGUAGES, language, setLanguage, wordsOf } from './words.ts';
import type { Language } from './words.ts';

const t = wordsOf('app');

export const LanguageSwitch = (): ReactNode => (
  <NativeSelect
    aria-label={t('language')}
    size="xs"
    value={language()}
    onChange={(event) => void setLanguage(event.currentTarget.value as Language).catch(tellFailure)}
    data={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
  />
);
