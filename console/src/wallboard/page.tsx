import { Suspense, useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { ActionIcon, Button, Group, NativeSelect, Title } from '@mantine/core';

import { useQuery } from '@tanstack/react-query';
import { Copy, Ellipsis, Expand, Pencil, X } from 'lucide-react';
import { useLocation } from 'wouter';
import type { Board, NewBoard } from '@offhook/contract/boards.ts';
import { late } from '../app/late.tsx';
import { Opened, useOpener } from '../app/opener.tsx';
import { useClient, useMay, useMe } from '../app/session.tsx';
import { StaleBanner } from '../app/stale-banner.tsx';
import { Read, isMissing } from '../app/states.tsx';
import type { PageProps } from '../pages.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { BoardView } from './board-view.tsx';
import type { OpenedDialog } from './dialogs.tsx';
import { DEFAULT_LAYOUT, writable } from './model.ts';
import { wordsOf } from '../app/words.ts';
import styles from './page.module.css';

const t = wordsOf('wallboard');

const pathOf = (id: number): string => PAGE_PATHS.board.replace(':board', String(id));
const lastKey = (extension: string): string => `offhook.board.${extension}`;
/** Id of the built-in board in the address and the list; no saved board has it. */
const BUILT_IN = 0;
/** The built-in board; editing it saves a new one. */
const starting = (): Required<NewBoard> => ({
  name: t('every_queue'),
  queues: null,
  layout: DEFAULT_LAYOUT,
  shared: false,
});

const Dialogs = late(
  async () => (await Promise.all([import('./dialogs.tsx'), import('../app/all-styles.ts')]))[0].Dialogs,
);
const BoardMenu = late(async () => (await import('./board-menu.tsx')).BoardMenu);

/** The accessible boards and the shown one. */
export function WallboardPage({ params }: PageProps): ReactNode {
  const me = useMe();
  const [, go] = useLocation();
  const client = useClient();
  const boards = useQuery({ queryKey: ['boards'], queryFn: ({ signal }) => client.boards.list(signal) });
  const list = boards.data?.boards ?? [];
  const asked = params['board'];
  const last = localStorage.getItem(lastKey(me.extension));
  const choices = [
    { value: String(BUILT_IN), label: t('every_queue') },
    ...list.map((board) => ({ value: String(board.id), label: board.name })),
  ];
  const known = last !== null && choices.some(({ value }) => value === last);
  const id = asked === undefined ? Number(known ? last : (list[0]?.id ?? BUILT_IN)) : Number(asked);
  useEffect(() => {
    if (boards.isSuccess && list.length > 0) localStorage.setItem(lastKey(me.extension), String(id));
  }, [boards.isSuccess, list.length, id, me.extension]);
  const choose = (
    <NativeSelect
      aria-label={t('choose_board')}
      data={choices}
      value={String(id)}
      onChange={(event) => go(pathOf(Number(event.currentTarget.value)))}
      w={{ base: '100%', xs: 240 }}
    />
  );
  const board =
    id === BUILT_IN ? (
      <Kept key="new" board={null} choose={list.length === 0 ? null : choose} />
    ) : (
      <One key={id} id={id} choose={choose} />
    );
  return <Read of={boards}>{() => board}</Read>;
}
function One({ id, choose }: { readonly id: number; readonly choose: ReactNode }): ReactNode {
  const client = useClient();
  const read = useQuery({
    queryKey: ['board', id],
    queryFn: ({ signal }) => client.boards.get(id, signal),
  });
  return (
    <>
      {read.data === undefined && read.isError && !isMissing(read.error) && <Group mb="md">{choose}</Group>}
      <Read of={read} back={{ href: pathOf(BUILT_IN), label: t('every_queue') }}>
        {({ board }) => <Kept board={board} choose={choose} />}
      </Read>
    </>
  );
}

function Kept({ board, choose }: { readonly board: Board | null; readonly choose: ReactNode }): ReactNode {
  const me = useMe();
  const client = useClient();
  const isSupervisor = useMay('supervisor');
  const isAdmin = useMay('admin');
  const [opened, setOpened] = useState<OpenedDialog | null>(null);
  const [start] = useState(starting);
  const menu = useOpener('menu');
  const { screen, frame, toggle } = useFullScreen();
  const shown = board ?? start;
  const mine = board === null || isAdmin || board.owner === me.extension;
  const close = (): void => setOpened(null);
  const copy = (): void =>
    setOpened({
      is: 'editor',
      board: null,
      from: { ...from(), name: t('copy_of', { name: shown.name }).slice(0, 80), shared: false },
    });
  const from = (): Required<NewBoard> =>
    board === null ? { ...start, name: t('my_board') } : writable(board);
  return (
    <div ref={frame} className={styles.frame} data-screen={screen || undefined}>
      {screen && <StaleBanner />}
      <Group justify="space-between" mb="md" gap="sm" className={styles.head ?? ''}>
        <Group gap="sm" className={styles.names ?? ''}>
          <Title order={1} size="h3" className={styles.title ?? ''}>
            {screen || choose === null ? shown.name : t('title')}
          </Title>
          {!screen && choose}
          {!screen && board?.shared === true && <span className={styles.shared}>{t('shared_short')}</span>}
        </Group>
        <Group gap="xs">
          {!screen && (
            <Button
              variant="default"
              leftSection={mine ? <Pencil size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
              onClick={() => (mine ? setOpened({ is: 'editor', board, from: from() }) : copy())}
            >
              {t(mine ? 'edit' : 'copy_board')}
            </Button>
          )}
          <ActionIcon variant="default" size={36} onClick={toggle} aria-label={t(screen ? 'tv_leave' : 'tv')}>
            {screen ? <X size={18} aria-hidden /> : <Expand size={18} aria-hidden />}
          </ActionIcon>
          {!screen && (
            <>
              <ActionIcon variant="default" size={36} aria-label={t('actions')} {...menu.button}>
                <Ellipsis size={18} aria-hidden />
              </ActionIcon>
              <Opened by={menu}>
                <BoardMenu
                  {...menu.floating}
                  onNew={() =>
                    setOpened({ is: 'editor', board: null, from: { ...starting(), name: t('new_board') } })
                  }
                  onCopy={copy}
                  onDisplays={
                    mine && isSupervisor
                      ? () => setOpened({ is: 'displays', board, from: from() })
                      : undefined
                  }
                  onDelete={board !== null && mine ? () => setOpened({ is: 'delete', board }) : undefined}
                />
              </Opened>
            </>
          )}
        </Group>
      </Group>
      <BoardView
        client={client}
        board={shown}
        screen={screen}
        partners={isSupervisor}
        alone={!isSupervisor}
      />
      {opened !== null && (
        <Suspense fallback={null}>
          <Dialogs opened={opened} onClose={close} />
        </Suspense>
      )}
    </div>
  );
}
/** Full screen for the board; where the browser refuses, the whole window. */
function useFullScreen() {
  const frame = useRef<HTMLDivElement>(null);
  const [screen, setScreen] = useState(false);
  useEffect(() => {
    const look = (): void => {
      if (document.fullscreenElement === null) setScreen(false);
    };
    const leave = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') setScreen(false);
    };
    document.addEventListener('fullscreenchange', look);
    document.addEventListener('keydown', leave);
    return () => {
      document.removeEventListener('fullscreenchange', look);
      document.removeEventListener('keydown', leave);
    };
  }, []);
  const toggle = (): void => {
    setScreen(!screen);
    if (screen) void document.exitFullscreen().catch(() => undefined);
    else void frame.current?.requestFullscreen().catch(() => undefined);
  };
  return { screen, frame, toggle };
}
