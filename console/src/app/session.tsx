/** The signed-in person. The session itself is a cookie that no script can read. */
import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import { MutationCache, QueryCache, QueryClientProvider, notifyManager } from '@tanstack/react-query';
import type { LoginInput, Client, LoginResult } from '@offhook/client';
import { OffhookError, createClient } from '@offhook/client';
import { includesLevel } from '@offhook/contract/ids.ts';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import { createAsking } from './asking.ts';
import type { Asking } from './asking.ts';
import { thisDevice } from './device.ts';
import { LiveContext, createLive } from './live.ts';
import type { Live } from './live.ts';
import { learnTime, onJump } from './now.ts';
import { Queries } from './queries.ts';
import { useLatest } from './use-latest.ts';
import { language } from './words.ts';

export type Me = LoginResult['user'];
/** `ended`: the session is over; the page keeps its content until the same person signs in again. */
export type SessionState =
  | { readonly is: 'loading' }
  | { readonly is: 'unreachable'; readonly error: unknown }
  | {
      readonly is: 'out';
      /** Code of a sign-in by the company that failed, in a window of its own or not. */
      readonly problem?: { readonly code: string; readonly window: boolean };
    }
  | { readonly is: 'in'; readonly me: Me }
  | { readonly is: 'ended'; readonly me: Me };
/** Limit of the request for the signed-in person, and the wait before the next one. */
const LOOK_MS = 10_000;
const AGAIN_MS = 3_000;
/** Limit of a change: after a network failure a browser may wait on a dead connection indefinitely. */
const CHANGE_MS = 10_000;
interface Session {
  readonly client: Client;
  readonly live: Live;
  /** Asks for the password when the service requires a confirmed session. */
  readonly asking: Asking;
  readonly state: SessionState;
  readonly siteTitle: string;
  /** Title of the sign-in by the company account; null without one. */
  readonly company: string | null;
  readonly signIn: (input: LoginInput) => Promise<void>;
  readonly signOut: () => Promise<void>;
  readonly retry: () => void;
}
const UNKNOWN = { siteTitle: 'Offhook', company: null };
const SessionContext = createContext<Session | null>(null);

// With the library's own scheduler, a task later, a button is still enabled at the second click of a double click.
notifyManager.setScheduler(queueMicrotask);

/** Reads are retried only where that can help, and never shown as fresh when they are stale. */
const newQueries = (onError: (error: unknown) => void): Queries =>
  new Queries({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        staleTime: 15_000,
        retry: (count, error) =>
          count < 2 && !(error instanceof OffhookError && error.status > 0 && error.status < 500),
        // Without a network both fail at once: a change must not run minutes later, when the network returns.
        networkMode: 'always',
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  });

const TABS = 'offhook.session';
/** Closes the window in which this person has signed in by the company, once the other tabs know. */
function closeWindow(user: Me): void {
  const tabs = new BroadcastChannel(TABS);
  tabs.postMessage(user);
  tabs.close();
  window.close();
}
/** Returns once what a sign-in by the company left in the address; a reload of the page must not find it again. */
function takeEnd() {
  const query = new URLSearchParams(location.search);
  const [code, closes] = [query.get('sign_in_error'), query.has('signed_in')];
  if (code !== null || closes) history.replaceState(null, '', location.pathname);
  let left = { problem: code === null ? null : { code, window: query.has('window') }, closes };
  return () => {
    const end = left;
    left = { problem: null, closes: false };
    return end;
  };
}
function createParts(onSignedOut: () => void) {
  const asking = createAsking();
  const client = createClient({
    base: location.origin,
    session: 'cookie',
    change_timeout_ms: CHANGE_MS,
    onConfirm: () => asking.ask(),
    language,
    onSignedOut,
  });
  return { client, asking, live: createLive(client) };
}
type Here = RefObject<SessionState>;
type Again = (me: Me) => Promise<void>;
/** Sets `check`, which compares the person of this page with the service; it also runs when the page becomes visible. */
function useLevelCheck(check: RefObject<() => void>, here: Here, client: Client, again: Again): void {
  useEffect(() => {
    const ask = async (): Promise<void> => {
      const { user } = await client.session.whoAmI();
      const now = here.current;
      if (now.is !== 'in') return;
      if (user.extension !== now.me.extension) location.reload();
      else if (user.level !== now.me.level) await again(user);
    };
    // Without an answer the page already shows that it is not live.
    check.current = () => void ask().catch(() => undefined);
    const onVisibility = (): void => {
      if (!document.hidden && here.current.is === 'in') check.current();
    };
    document.addEventListener('visibilitychange', onVisibility);
    return () => document.removeEventListener('visibilitychange', onVisibility);
  }, [check, here, client, again]);
}
/** Follows a sign-in in another tab, whose cookie is also this one's; returns the function that announces one of this tab. */
function useTabs(here: Here, look: () => Promise<void>, again: Again, asking: Asking): (user: Me) => void {
  const tabs = useRef<BroadcastChannel | null>(null);
  useEffect(() => {
    const channel = new BroadcastChannel(TABS);
    channel.addEventListener('message', ({ data: user }: MessageEvent<Me>) => {
      const now = here.current;
      if (now.is !== 'in' && now.is !== 'ended') return void look();
      if (now.me.extension !== user.extension) location.reload();
      else if (now.is === 'ended') void again(user);
      // The window of a confirmation by the company; without it the service refuses again.
      else asking.settle(true);
    });
    tabs.current = channel;
    return () => channel.close();
  }, [here, look, again, asking]);
  return useCallback((user) => tabs.current?.postMessage(user), []);
}

export function SessionProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [state, setState] = useState<SessionState>({ is: 'loading' });
  const [site, setSite] = useState<Pick<Session, 'siteTitle' | 'company'>>(UNKNOWN);
  const [end] = useState(takeEnd);
  const check = useRef((): void => undefined);
  const [queries] = useState(() =>
    newQueries((error) => {
      if (error instanceof OffhookError && error.status === 403) check.current();
    }),
  );
  const here = useLatest(state);
  const [{ client, asking, live }] = useState(() =>
    createParts(() => {
      const now = here.current;
      if (now.is === 'in') setState({ is: 'ended', me: now.me });
    }),
  );

  const learn = useMemo(
    () =>
      async (signal?: AbortSignal): Promise<boolean> => {
        const asked = Date.now();
        const ping = await client.ping(signal);
        learnTime(ping.server_time, asked, Date.now());
        setSite({ siteTitle: ping.site_title, company: ping.company_sign_in });
        return ping.signed_in;
      },
    [client],
  );
  // Where the service does not answer, the page already shows that it is not live.
  useEffect(() => onJump(() => void learn().catch(() => undefined)), [learn]);
  const look = useMemo(
    () => async (): Promise<void> => {
      const inTime = AbortSignal.timeout(LOOK_MS);
      try {
        const signedIn = await learn(inTime);
        const { problem, closes } = end();
        // Anybody can write an address with a problem, so it signs nobody out; a window of its own has nothing else to show.
        if (!signedIn || problem?.window === true)
          return setState({ is: 'out', ...(problem && { problem }) });
        const { user } = await client.session.whoAmI(inTime);
        if (closes) closeWindow(user);
        setState({ is: 'in', me: user });
      } catch (error) {
        const signedOut = error instanceof OffhookError && error.status === 401;
        setState(signedOut ? { is: 'out' } : { is: 'unreachable', error });
      }
    },
    [client, learn, end],
  );
  useEffect(() => void look(), [look]);
  const away = state.is === 'unreachable' ? state : null;
  useEffect(() => {
    if (away === null) return;
    // A wallboard has no user to press a button, so the page retries; each failure is a new state.
    const timer = setTimeout(() => void look(), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [away, look]);

  const again = useMemo(
    () =>
      async (me: Me): Promise<void> => {
        setState({ is: 'in', me });
        live.restart();
        await queries.invalidateQueries();
      },
    [live, queries],
  );
  useLevelCheck(check, here, client, again);
  const announce = useTabs(here, look, again, asking);

  const session = useMemo(
    (): Session => ({
      client,
      live,
      asking,
      state,
      ...site,
      async signIn(input) {
        const { user } = await client.login({ ...input, ...thisDevice() });
        announce(user);
        const before = here.current;
        if (before.is === 'ended' && before.me.extension !== user.extension) {
          // The page must keep nothing of the previous person.
          location.reload();
          return;
        }
        if (before.is === 'ended') await again(user);
        else setState({ is: 'in', me: user });
      },
      async signOut() {
        try {
          await client.logout();
        } catch (error) {
          // A session that is over already is signed out, too.
          if (!(error instanceof OffhookError && error.status === 401)) throw error;
        }
        location.assign('/');
      },
      retry() {
        setState({ is: 'loading' });
        void look();
      },
    }),
    [client, live, asking, state, site, look, again, announce],
  );
  return (
    <SessionContext.Provider value={session}>
      <LiveContext.Provider value={live}>
        <QueryClientProvider client={queries}>{children}</QueryClientProvider>
      </LiveContext.Provider>
    </SessionContext.Provider>
  );
}
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('useSession needs the session provider around it');
  return session;
}
export const useClient = (): Client => useSession().client;
/** The signed-in person. Throws in a component that is rendered without a session. */
export function useMe(): Me {
  const { state } = useSession();
  if (state.is !== 'in' && state.is !== 'ended') throw new Error('nobody is signed in');
  return state.me;
}
export const useMay = (level: PersonLevel): boolean => includesLevel(useMe().level, level);
