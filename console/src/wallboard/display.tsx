/** A board on a wall: opened by a key without a session, and reconnected after any failure. */
import { useEffect, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { KeyRound, Radio, Unplug, WifiOff } from 'lucide-react';
import { createClient } from '@offhook/client';
import type { Client } from '@offhook/client';
import { formatClock, formatTime } from '../app/format.ts';
import { LiveContext, createLive, useLive, useStale } from '../app/live.ts';
import { serverNow, useSecond } from '../app/now.ts';
import { Queries } from '../app/queries.ts';
import { cssVariables, styleNonce, theme } from '../app/theme.ts';
import type { PageProps } from '../pages.tsx';
import { BoardView } from './board-view.tsx';
import { AGAIN_MS, followBoard } from './display-board.ts';
import type { Look } from './display-board.ts';
import { wordsOf } from '../app/words.ts';
import styles from './page.module.css';

const t = wordsOf('wallboard');

/** The key of this display: from the address, from which it is removed, or from storage. */
function keyOf(board: string): string | null {
  const kept = `offhook.display.${board}`;
  const given = new URLSearchParams(location.hash.slice(1)).get('key');
  if (given !== null) {
    localStorage.setItem(kept, given);
    history.replaceState(null, '', location.pathname);
  }
  return localStorage.getItem(kept);
}

/** The board, reloaded at an interval; a page older than the service reloads itself. */
function useBoard(client: Client, id: number): Look {
  const [look, setLook] = useState<Look>({ board: null, is: 'asking' });
  useEffect(() => followBoard(client, id, setLook), [client, id]);
  return look;
}

function Message({
  icon,
  title,
  text,
}: {
  readonly icon: ReactNode;
  readonly title: string;
  readonly text?: string;
}): ReactNode {
  return (
    <main className={styles.display}>
      <div className={styles.message} role="status">
        {icon}
        <h1>{title}</h1>
        {text !== undefined && <p>{text}</p>}
      </div>
    </main>
  );
}
const Clock = (): ReactNode => <time className={styles.clock}>{formatTime(useSecond() * 1000)}</time>;

/** Shows at once that the wall is not live; after the end of the stream it checks whether the key is still valid. */
function Liveness(): ReactNode {
  const live = useLive();
  const stale = useStale();
  const [since, setSince] = useState<number | null>(null);
  useEffect(() => {
    if (!stale) return setSince(null);
    setSince(serverNow());
    dispatchEvent(new Event('offhook-look'));
    // A stream closed by a changed key does not reconnect by itself.
    const soon = setTimeout(() => live.restart(), 1_000);
    const timer = setInterval(() => live.restart(), 2 * AGAIN_MS);
    return () => {
      clearTimeout(soon);
      clearInterval(timer);
    };
  }, [stale, live]);
  return (
    <div role="status" aria-live="assertive">
      {stale && (
        <div className={styles.stale} data-stale>
          <WifiOff aria-hidden />
          {t('stale', { time: formatClock(since ?? serverNow()) })} · {t('stale_hint')}
        </div>
      )}
    </div>
  );
}
function Lamp(): ReactNode {
  if (useStale()) return null;
  return (
    <span className={styles.lamp}>
      <Radio aria-hidden />
      {t('live')}
    </span>
  );
}
/** Keeps the screen of a wall on; where the browser refuses, its own settings apply. */
function useAwake(): void {
  useEffect(() => {
    let lock: WakeLockSentinel | null = null;
    const hold = (): void => {
      if (document.visibilityState !== 'visible') return;
      navigator.wakeLock?.request('screen').then(
        (held) => {
          lock = held;
        },
        () => undefined,
      );
    };
    hold();
    document.addEventListener('visibilitychange', hold);
    return () => {
      document.removeEventListener('visibilitychange', hold);
      void lock?.release();
    };
  }, []);
}

function Screen({ id, apiKey }: { readonly id: number; readonly apiKey: string }): ReactNode {
  const [parts] = useState(() => {
    const client = createClient({ base: location.origin, token: apiKey });
    return { client, live: createLive(client), queries: new Queries() };
  });
  const { board, is } = useBoard(parts.client, id);
  useAwake();
  const view = useMemo(
    () => (board === null ? null : <BoardView client={parts.client} board={board} screen partners={false} />),
    [board, parts],
  );
  if (is === 'refused')
    return <Message icon={<KeyRound aria-hidden />} title={t('key_revoked')} text={t('key_revoked_text')} />;
  if (board === null) {
    const away = is === 'away';
    return (
      <Message
        icon={<Unplug aria-hidden />}
        title={t('connecting')}
        {...(away ? { text: t('cannot_connect') } : {})}
      />
    );
  }
  return (
    <LiveContext value={parts.live}>
      <QueryClientProvider client={parts.queries}>
        <main className={styles.display}>
          <Liveness />
          <header className={styles.displayHead}>
            <h1>{board.name}</h1>
            <Lamp />
            <Clock />
          </header>
          {view}
        </main>
      </QueryClientProvider>
    </LiveContext>
  );
}
export function DisplayPage({ params }: PageProps): ReactNode {
  const board = params['board'] ?? '';
  const [apiKey] = useState(() => keyOf(board));
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      forceColorScheme="dark"
      getStyleNonce={styleNonce}
    >
      {apiKey === null || !/^[1-9]\d{0,14}$/.test(board) ? (
        <Message icon={<KeyRound aria-hidden />} title={t('key_missing')} text={t('key_missing_text')} />
      ) : (
        <Screen id={Number(board)} apiKey={apiKey} />
      )}
    </MantineProvider>
  );
}
