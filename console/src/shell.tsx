import { Suspense, useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import {
  Anchor,
  AppShell,
  Avatar,
  Burger,
  Group,
  NavLink,
  Text,
  UnstyledButton,
  VisuallyHidden,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Radio } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import { includesLevel } from '@offhook/contract/ids.ts';
import type { StreamItem } from '@offhook/client';
import type { Alert, AlertsSnapshot } from '@offhook/contract/alerts.ts';
import { useMissed, useMissedEvents } from './history/missed.ts';
import { NAVIGATION } from './pages.tsx';
import { PAGE_PATHS } from './app/paths.ts';
import { OwnPresence } from './presence/own-presence.tsx';
import { PhoneDock } from './phone/dock.tsx';
import { useKept, useStale } from './app/live.ts';
import { Opened, useOpener } from './app/opener.tsx';
import { LanguageSwitch } from './app/preferences.tsx';
import { useMe, useSession } from './app/session.tsx';
import { Boundary, Loading } from './app/states.tsx';
import { wordsOf } from './app/words.ts';
import styles from './shell.module.css';
import { late } from './app/late.tsx';
import { StaleBanner } from './app/stale-banner.tsx';
import { useStream } from './app/use-stream.ts';

const t = wordsOf('app');

function LiveLamp(): ReactNode {
  if (useStale()) return null;
  return (
    <Group gap={6} visibleFrom="sm" c="var(--offhook-ok)">
      <Radio size={14} aria-hidden />
      <Text size="xs" fw={600}>
        {t('live')}
      </Text>
    </Group>
  );
}
const UserMenu = late(async () => (await import('./user-menu.tsx')).UserMenu);
function UserButton(): ReactNode {
  const me = useMe();
  const menu = useOpener('menu');
  const name = me.full_name ?? me.username;
  return (
    <>
      <UnstyledButton className={styles.user} {...menu.button}>
        <Avatar aria-hidden size={30} radius="xl" color="offhook" name={name} />
        <div className={styles.userName}>
          <Text size="sm" fw={600} truncate>
            {name}
          </Text>
          <Text size="xs" c="dimmed">
            {me.extension}
          </Text>
        </div>
      </UnstyledButton>
      <Opened by={menu}>
        <UserMenu {...menu.floating} />
      </Opened>
    </>
  );
}
function Unseen({ count }: { readonly count: number }): ReactNode {
  if (count === 0) return null;
  return (
    <span className={styles.count}>
      <span aria-hidden>{count}</span>
      <VisuallyHidden>{t('unseen', { count })}</VisuallyHidden>
    </span>
  );
}
interface NavigationProps {
  /** Number of missed calls not seen yet. */
  readonly unseen: number;
  readonly onGo: () => void;
}
function Navigation({ unseen, onGo }: NavigationProps): ReactNode {
  const me = useMe();
  const [location] = useLocation();
  return (['work', 'admin'] as const).map((group) => {
    const items = NAVIGATION.filter((item) => item.group === group && includesLevel(me.level, item.level));
    if (items.length === 0) return null;
    return (
      <div key={group} className={styles.group}>
        <Text size="xs" fw={650} c="dimmed" className={styles.groupName} id={`nav-${group}`}>
          {t(group === 'work' ? 'group_work' : 'group_admin')}
        </Text>
        <ul aria-labelledby={`nav-${group}`} className={styles.list}>
          {items.map(({ path, label, Icon }) => {
            const active = location === path || location.startsWith(`${path}/`);
            return (
              <li key={path}>
                <NavLink
                  component={Link}
                  href={path}
                  active={active}
                  aria-current={active ? 'page' : undefined}
                  label={t(label)}
                  leftSection={<Icon size={18} aria-hidden />}
                  rightSection={path === PAGE_PATHS.missed ? <Unseen count={unseen} /> : null}
                  className={styles.link ?? ''}
                  onClick={onGo}
                />
              </li>
            );
          })}
        </ul>
      </div>
    );
  });
}

const DraftBar = late(async () => (await import('./admin/draft-bar.tsx')).DraftBar);
/** Alerts of the last half hour when the page opens, then each new one. */
function alertsOf(item: StreamItem): readonly Alert[] {
  if (item.type === 'snapshot') return (item.data as AlertsSnapshot).alerts;
  return item.type === 'call.emergency' || item.type === 'call.refused' ? [item as Alert] : [];
}
/** Shows alerts on every page: emergency calls, and calls that a call limit refused. */
function useAlerts(): void {
  useStream('alerts', {
    snapshot: true,
    async onItem(item) {
      const alerts = alertsOf(item);
      if (alerts.length === 0) return;
      const past = item.type === 'snapshot';
      // A file that cannot be had must not end the stream: the next alert loads it again.
      await import('./app/alert-notice.ts')
        .then(({ showAlert }) => Promise.all(alerts.map((alert) => showAlert(alert, past))))
        .catch(() => undefined);
    },
  });
}

/** The frame of every page of a signed-in person. */
export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  const { siteTitle } = useSession();
  // One stream is always open, so that every page learns the end of the session at once.
  useKept('presence', [useMe().extension]);
  useMissedEvents();
  useAlerts();
  const unseen = useMissed().unseen.length;
  const [opened, { toggle, close }] = useDisclosure(false);
  const [location] = useLocation();
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const here = NAVIGATION.find(({ path }) => location === path || location.startsWith(`${path}/`));
  const name = here !== undefined ? t(here.label) : location === PAGE_PATHS.account ? t('account') : null;
  const title = `${unseen === 0 ? '' : `(${unseen}) `}${name === null ? '' : `${name} · `}${siteTitle}`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(() => {
    // Announces a new page to a screen reader, which reads the first one by itself.
    if (first.current) first.current = false;
    else main.current?.focus({ preventScroll: true });
  }, [location]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
      classNames={{ header: styles.header ?? '', navbar: styles.navbar ?? '' }}
    >
      <Anchor href="#content" className={styles.skip ?? ''}>
        {t('skip')}
      </Anchor>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap" miw={0}>
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={t('menu')} />
            <Anchor
              component={Link}
              href={PAGE_PATHS.home}
              underline="never"
              c="inherit"
              className={styles.brand ?? ''}
            >
              <img src="/favicon.svg" width={28} height={28} alt="" />
              <Text fw={700} truncate>
                {siteTitle}
              </Text>
            </Anchor>
            <LiveLamp />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <div className={styles.language}>
              <LanguageSwitch />
            </div>
            <OwnPresence />
            <PhoneDock />
            <UserButton />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t('menu')}>
        <Navigation unseen={unseen} onGo={close} />
      </AppShell.Navbar>
      <AppShell.Main>
        <StaleBanner />
        {location.startsWith('/admin/') && (
          <Suspense fallback={null}>
            <DraftBar />
          </Suspense>
        )}
        <div id="content" ref={main as never} tabIndex={-1} className={styles.content}>
          <Boundary key={location}>
            <Suspense fallback={<Loading />}>{children}</Suspense>
          </Boundary>
        </div>
      </AppShell.Main>
    </AppShell>
  );
}
