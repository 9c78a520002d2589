/** One action of a group at a time: its button is busy until the service answers, and shows the error. */
import { useCallback, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { Alert, Button, Kbd, Loader, Text } from '@mantine/core';
import type { ButtonProps } from '@mantine/core';
import { CircleAlert } from 'lucide-react';
import { errorDetail, errorText } from '../app/error-words.ts';
import { useShortcutsOn } from './shortcuts.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';

const tApp = wordsOf('app');

export interface Action {
  /** No action can start now. */
  readonly waits: boolean;
  /** The running action. */
  readonly busy: string | null;
  readonly failed: { readonly what: string; readonly error: unknown } | null;
  /** `what` is its label; resolves with false on failure. Does nothing while another action runs. */
  readonly run: (what: string, work: () => Promise<unknown>) => Promise<boolean>;
  readonly clear: () => void;
}
export function useAction(waits = false): Action {
  const [busy, setBusy] = useState<string | null>(null);
  const [failed, setFailed] = useState<Action['failed']>(null);
  const running = useRef(false);
  const waiting = useRef(waits);
  waiting.current = waits;
  const run = useCallback<Action['run']>(async (what, work) => {
    if (running.current || waiting.current) return false;
    running.current = true;
    setBusy(what);
    setFailed(null);
    try {
      await work();
      return true;
    } catch (error) {
      setFailed({ what, error });
      return false;
    } finally {
      running.current = false;
      setBusy(null);
    }
  }, []);
  const clear = useCallback(() => setFailed(null), []);
  return { waits, busy, failed, run, clear };
}

interface ActionButtonProps extends ButtonProps {
  readonly action: Action;
  readonly label: string;
  readonly work: () => Promise<unknown>;
  readonly icon?: ReactNode;
  /** Its keyboard shortcut. */
  readonly shortcut?: string;
}
/** The button keeps the focus while its action runs. */
export function ActionButton({ action, label, work, icon, shortcut, ...look }: ActionButtonProps): ReactNode {
  const mine = action.busy === label;
  return (
    <Button
      {...look}
      aria-busy={mine}
      aria-disabled={action.busy !== null || action.waits}
      {...(shortcut === undefined ? {} : { 'aria-keyshortcuts': shortcut })}
      leftSection={mine ? <Loader size={16} color="currentColor" /> : icon}
      rightSection={<Key name={shortcut} />}
      onClick={() => void action.run(label, work)}
    >
      {label}
    </Button>
  );
}
/** The shortcut of an action, where shortcuts are on. */
export function Key({ name }: { readonly name: string | undefined }): ReactNode {
  const on = useShortcutsOn();
  if (!on || name === undefined) return null;
  return (
    <Kbd aria-hidden className={styles.key ?? ''} visibleFrom="md">
      {name.toUpperCase()}
    </Kbd>
  );
}
export function ActionError({ action }: { readonly action: Action }): ReactNode {
  if (action.failed === null) return null;
  const { what, error } = action.failed;
  const detail = errorDetail(error);
  return (
    <Alert
      role="alert"
      color="red"
      variant="light"
      icon={<CircleAlert size={18} aria-hidden />}
      title={`${what}: ${errorText(error)}`}
      withCloseButton
      closeButtonLabel={tApp('close')}
      onClose={action.clear}
    >
      {detail !== '' && <Text size="sm">{detail}</Text>}
    </Alert>
  );
}
