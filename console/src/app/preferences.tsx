import type { ReactNode } from 'react';
import { Menu, NativeSelect, useMantineColorScheme } from '@mantine/core';
import type { MantineColorScheme } from '@mantine/core';
import { Monitor, Moon, Sun } from 'lucide-react';
import { LANGUAGES, language, setLanguage, wordsOf } from './words.ts';
import type { Language } from './words.ts';

const t = wordsOf('app');

export const LanguageSwitch = (): ReactNode => (
  <NativeSelect
    aria-label={t('language')}
    size="xs"
    value={language()}
    onChange={(event) => void setLanguage(event.currentTarget.value as Language).catch(() => undefined)}
    data={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
  />
);
const SCHEMES = [
  ['light', Sun],
  ['dark', Moon],
  ['auto', Monitor],
] as const satisfies readonly (readonly [MantineColorScheme, unknown])[];
export function SchemeItems(): ReactNode {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return SCHEMES.map(([scheme, Icon]) => (
    <Menu.Item
      key={scheme}
      role="menuitemradio"
      aria-checked={colorScheme === scheme}
      leftSection={<Icon size={16} aria-hidden />}
      onClick={() => setColorScheme(scheme)}
      fw={colorScheme === scheme ? 650 : undefined}
    >
      {t(scheme)}
    </Menu.Item>
  ));
}
