import type { ReactNode } from 'react';
import { Menu, useMantineColorScheme } from '@mantine/core';
import type { MantineColorScheme } from '@mantine/core';
import { LogOut, Monitor, Moon, Sun, UserRound } from 'lucide-react';
import { Link } from 'wouter';
import { PAGE_PATHS } from './app/paths.ts';
import type { Floating } from './app/opener.tsx';
import { useSession } from './app/session.tsx';
import { tellFailure } from './app/tell.ts';
import { wordsOf } from './app/words.ts';

const t = wordsOf('app');

const SCHEMES = [
  ['light', Sun],
  ['dark', Moon],
  ['auto', Monitor],
] as const satisfies readonly (readonly [MantineColorScheme, unknown])[];
function SchemeItems(): ReactNode {
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
export function UserMenu({ target, ...menu }: Floating): ReactNode {
  const { signOut } = useSession();
  return (
    <Menu {...menu} position="bottom-end" width={240}>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          component={Link}
          href={PAGE_PATHS.account}
          leftSection={<UserRound size={16} aria-hidden />}
        >
          {t('account')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{t('appearance')}</Menu.Label>
        <SchemeItems />
        <Menu.Divider />
        <Menu.Item
          leftSection={<LogOut size={16} aria-hidden />}
          onClick={() => void signOut().catch(tellFailure)}
        >
          {t('sign_out')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
