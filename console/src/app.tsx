import { Suspense, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import { Button, Center, MantineProvider, Stack } from '@mantine/core';
import { notificationsStore } from '@mantine/notifications';
import { Link, Route, Switch } from 'wouter';
import { includesLevel } from '@offhook/contract/ids.ts';
import { PAGES } from './pages.tsx';
import type { PageProps } from './pages.tsx';
import { PAGE_PATHS } from './app/paths.ts';
import type { PageName } from './app/paths.ts';
import { late } from './app/late.tsx';
import { SessionProvider, useSession } from './app/session.tsx';
import { Shell } from './shell.tsx';
import { Boundary, Empty, Failure, Loading } from './app/states.tsx';
import { cssVariables, styleNonce, themeOf } from './app/theme.ts';
import { language, onLanguage, wordsOf } from './app/words.ts';

const t = wordsOf('app');

/** Loaded late: a signed-in person needs neither until the session ends or a notice is shown. */
const SignInPage = late(async () => (await import('./app/sign-in.tsx')).SignInPage);
const ConfirmDialog = late(async () => (await import('./app/confirm.tsx')).ConfirmDialog);
const SignInAgain = late(async () => {
  try {
    return (await import('./app/sign-in.tsx')).SignInAgain;
  } catch (error) {
    // Only an answer of the service ends a session, so the network works: the file is missing because this page is outdated.
    location.reload();
    throw error;
  }
});
/** Notices wait until their file is loaded, because the first one may report that the network is away. */
const RETRY_MS = 2_000;
const Notices = late(async () => {
  for (;;) {
    try {
      return (await import('./app/notices.tsx')).Notices;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
});
function NoticesWhenNeeded(): ReactNode {
  const [needed, setNeeded] = useState(false);
  useEffect(() => notificationsStore.subscribe(() => setNeeded(true)), []);
  return (
    needed && (
      <Suspense fallback={null}>
        <Notices />
      </Suspense>
    )
  );
}

/** The router's own type also has numbered parts, which our paths do not use. */
const own = (params: object): PageProps['params'] => params as PageProps['params'];
const NAMES = Object.keys(PAGE_PATHS) as PageName[];
const PUBLIC = NAMES.filter((name) => PAGES[name].level === null);
const OPEN = NAMES.filter((name) => PAGES[name].open === true);
const SIGNED_IN = NAMES.filter((name) => PAGES[name].level !== null);

/** Loaded and shown when the service asks for a confirmation. */
function Confirm(): ReactNode {
  const { asking } = useSession();
  const asked = useSyncExternalStore((listener) => asking.subscribe(listener), asking.isAsked);
  const [needed, setNeeded] = useState(false);
  if (asked && !needed) setNeeded(true);
  return (
    needed && (
      <Suspense fallback={null}>
        <ConfirmDialog asking={asking} />
      </Suspense>
    )
  );
}
function SignedIn(): ReactNode {
  const { state } = useSession();
  if (state.is !== 'in' && state.is !== 'ended') return null;
  const { me } = state;
  return (
    <>
      <Confirm />
      <Shell>
        <Switch>
          {SIGNED_IN.map((name) => {
            const { level, Page } = PAGES[name];
            const allowed = level !== null && includesLevel(me.level, level);
            return (
              <Route key={name} path={PAGE_PATHS[name]}>
                {(params) =>
                  allowed ? <Page params={own(params)} /> : <Empty order={1} title={t('not_for_you')} />
                }
              </Route>
            );
          })}
          <Route>
            <Empty order={1} title={t('nothing_here')}>
              <Button component={Link} href={PAGE_PATHS.home} variant="light">
                {t('home')}
              </Button>
            </Empty>
          </Route>
        </Switch>
      </Shell>
      {state.is === 'ended' && (
        <Suspense fallback={null}>
          <SignInAgain />
        </Suspense>
      )}
    </>
  );
}
function SignedOut(): ReactNode {
  return (
    <Switch>
      {OPEN.map((name) => {
        const { Page } = PAGES[name];
        return (
          <Route key={name} path={PAGE_PATHS[name]}>
            {(params) => (
              <Suspense fallback={<Loading />}>
                <Page params={own(params)} />
              </Suspense>
            )}
          </Route>
        );
      })}
      <Route>
        <Suspense fallback={<Loading />}>
          <SignInPage />
        </Suspense>
      </Route>
    </Switch>
  );
}
function Door(): ReactNode {
  const { state, retry } = useSession();
  switch (state.is) {
    case 'loading':
      return <Loading />;
    case 'out':
      return <SignedOut />;
    case 'unreachable':
      return (
        <Center component="main" mih="100vh" p="md">
          <Stack maw={460}>
            <Empty title={t('unreachable')}>{t('unreachable_text')}</Empty>
            <Failure error={state.error} onRetry={retry} />
          </Stack>
        </Center>
      );
    case 'in':
    case 'ended':
      return <SignedIn />;
  }
}
export function App(): ReactNode {
  const lang = useSyncExternalStore(onLanguage, language);
  const [root] = useState(() => document.documentElement);
  root.lang = lang;
  const theme = useMemo(() => themeOf(t('close'), t('show_password')), [lang]);
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={styleNonce}
    >
      <NoticesWhenNeeded />
      <Boundary>
        <Switch>
          {PUBLIC.map((name) => {
            const { Page } = PAGES[name];
            return (
              <Route key={name} path={PAGE_PATHS[name]}>
                {(params) => (
                  <Suspense fallback={<Loading />}>
                    <Page key={lang} params={own(params)} />
                  </Suspense>
                )}
              </Route>
            );
          })}
          <Route>
            <SessionProvider>
              <Door key={lang} />
            </SessionProvider>
          </Route>
        </Switch>
      </Boundary>
    </MantineProvider>
  );
}
