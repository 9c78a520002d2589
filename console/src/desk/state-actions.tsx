/** The buttons of the agent's own state: sign in and out, pause, ready, wrap-up. */
import type { ReactNode } from 'react';
import { Button, Loader } from '@mantine/core';
import { CirclePlay, Coffee, Headphones, LogIn, LogOut, Timer } from 'lucide-react';
import type { Agent } from '@offhook/contract/agents.ts';
import { late } from '../app/late.tsx';
import { Opened, useOpener } from '../app/opener.tsx';
import { useClient, useMay } from '../app/session.tsx';
import { wordsOf } from '../app/words.ts';
import { phone, usePhone } from '../phone/phone.ts';
import { ActionButton, Key } from './action.tsx';
import type { Action } from './action.tsx';
import { useShortcut } from './shortcuts.ts';
import { usePauseReasons, useSettling } from './use-desk.ts';
import { canLeave, choicesWait, mustStay } from './view.ts';
import styles from './desk.module.css';

const t = wordsOf('desk');

const EXTEND_SECONDS = 60;

interface ActionsProps {
  readonly agent: Agent;
  readonly action: Action;
}
interface StateActionsProps extends ActionsProps {
  /** No device of the agent is registered. */
  readonly noPhone: boolean;
}
export function StateActions({ agent, action, noPhone }: StateActionsProps): ReactNode {
  const client = useClient();
  const { extension, state, session, readiness, pending } = agent;
  const inside = session === 'logged_in';
  const waits = choicesWait(agent);
  const leaving = canLeave(agent);
  const outside = agent.queues.some((queue) => !queue.member);
  const away = !readiness.ready || state === 'not_responding';
  const doLogin = (): Promise<unknown> => client.agents.login(extension);
  const doReady = (): Promise<unknown> => client.agents.unpause(extension);
  const doFinish = (): Promise<unknown> => client.agents.wrapUp(extension, { finish: true });
  const doExtend = (): Promise<unknown> =>
    client.agents.wrapUp(extension, { extend_seconds: EXTEND_SECONDS });
  const doLogout = async (): Promise<void> => {
    // One static queue makes the service refuse a sign-out of all queues.
    if (mustStay(agent).length === 0) await client.agents.logout(extension);
    else for (const queue of leaving) await client.agents.logout(extension, { queue });
  };
  const wrapUp = state === 'wrap_up';
  const ready = inside && away && !wrapUp && !(waits && pending === 'ready');
  const login = outside;
  const logout = leaving.length > 0 && pending !== 'logged_out';
  const words = {
    login: t('login_all'),
    ready: t(waits ? 'ready_after' : 'ready'),
    logout: t(waits ? 'logout_after' : 'logout_all'),
    finish: t('finish'),
    extend: t('extend'),
  };
  useShortcut('l', login ? () => void action.run(words.login, doLogin) : null);
  useShortcut('r', ready ? () => void action.run(words.ready, doReady) : null);
  useShortcut('o', logout ? () => void action.run(words.logout, doLogout) : null);
  useShortcut('f', wrapUp ? () => void action.run(words.finish, doFinish) : null);
  useShortcut('e', wrapUp ? () => void action.run(words.extend, doExtend) : null);
  // Another button may have come to the place of the one that a click was meant for; keys have no places.
  const settling = useSettling([inside, ready, login, logout, wrapUp].join());
  const press: Action = settling ? { ...action, waits: true, run: async () => false } : action;
  return (
    <>
      {inside && <PauseButton agent={agent} action={press} waits={waits} />}
      {logout ? (
        <ActionButton
          action={press}
          label={words.logout}
          work={doLogout}
          shortcut="o"
          variant="default"
          icon={<LogOut size={18} aria-hidden />}
        />
      ) : (
        // Its queues are read after the state: without this, the button would push others aside under a click.
        inside && <span data-empty />
      )}
      {wrapUp && (
        <>
          <ActionButton
            action={press}
            label={words.finish}
            work={doFinish}
            shortcut="f"
            icon={<CirclePlay size={18} aria-hidden />}
          />
          <ActionButton
            action={press}
            label={words.extend}
            work={doExtend}
            shortcut="e"
            variant="default"
            icon={<Timer size={18} aria-hidden />}
          />
        </>
      )}
      {ready && (
        <ActionButton
          action={press}
          label={words.ready}
          work={doReady}
          shortcut="r"
          variant={waits ? 'default' : 'filled'}
          icon={<CirclePlay size={18} aria-hidden />}
        />
      )}
      {login && (
        <ActionButton
          action={press}
          label={words.login}
          work={doLogin}
          shortcut="l"
          variant={inside ? 'default' : 'filled'}
          className={inside ? styles.login : undefined}
          icon={<LogIn size={18} aria-hidden />}
        />
      )}
      <BrowserPhone action={action} settling={settling} offered={noPhone} />
    </>
  );
}
/** The phone of this browser, offered where no other device is registered; its key answers calls. */
function BrowserPhone({
  action,
  settling,
  offered,
}: {
  readonly action: Action;
  readonly settling: boolean;
  readonly offered: boolean;
}): ReactNode {
  const { status, calls } = usePhone();
  const rings = calls.find((call) => call.state === 'incoming');
  const answer = async (): Promise<void> => {
    if (rings !== undefined) await phone.softphone?.answer(rings.id);
  };
  useShortcut('a', rings === undefined ? null : () => void action.run(t('answer'), answer));
  if (!offered || status.is !== 'off') return null;
  return (
    <Button
      className={styles.wide}
      leftSection={<Headphones size={18} aria-hidden />}
      aria-disabled={settling}
      onClick={() => settling || phone.switchOn()}
    >
      {t('browser_phone')}
    </Button>
  );
}
const PauseMenu = late(async () => (await import('./pause-menu.tsx')).PauseMenu);
function PauseButton({ agent, action, waits }: ActionsProps & { readonly waits: boolean }): ReactNode {
  const client = useClient();
  const supervisor = useMay('supervisor');
  const read = usePauseReasons();
  const reasons = (read.data ?? []).filter((reason) => supervisor || !reason.supervisor_only);
  const menu = useOpener('menu');
  // A reason chosen while another action runs would be dropped without an error.
  const free = action.busy === null;
  useShortcut('p', () => free && menu.open());
  const paused = agent.state === 'not_ready' || agent.state === 'not_responding';
  const word = t(waits ? 'break_after' : paused ? 'other_reason' : 'pause');
  const busy = action.busy !== null && reasons.some((reason) => action.busy === `${word}: ${reason.name}`);
  return (
    <>
      <Button
        variant={agent.state === 'available' ? 'filled' : 'default'}
        aria-keyshortcuts="p"
        aria-busy={busy}
        leftSection={busy ? <Loader size={16} color="currentColor" /> : <Coffee size={18} aria-hidden />}
        rightSection={<Key name="p" />}
        {...menu.button}
        aria-disabled={!free || action.waits}
        onClick={() => free && !action.waits && menu.button.onClick()}
      >
        {word}
      </Button>
      <Opened by={menu}>
        <PauseMenu
          {...menu.floating}
          read={read}
          reasons={reasons}
          onPause={(reason) =>
            void action.run(`${word}: ${reason.name}`, () =>
              client.agents.pause(agent.extension, { reason: reason.id }),
            )
          }
        />
      </Opened>
    </>
  );
}
