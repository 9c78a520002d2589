/** Copies to the clipboard, which a browser may refuse, as at a plain http address. */
import { useEffect } from 'react';
import type { ReactNode } from 'react';
import { useClipboard } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { wordsOf } from './words.ts';

const t = wordsOf('app');

const reportRefusal = (): void => void notifications.show({ color: 'red', message: t('copy_failed') });

interface CopyButtonProps {
  readonly value: string;
  /** Time for which `copied` is true, ms. */
  readonly timeout?: number;
  readonly children: (state: { readonly copied: boolean; readonly copy: () => void }) => ReactNode;
}
/** As Mantine's, and reports a refused copy. */
export function CopyButton({ value, timeout = 1_000, children }: CopyButtonProps): ReactNode {
  const { copied, copy, error } = useClipboard({ timeout });
  useEffect(() => {
    if (error !== null) reportRefusal();
  }, [error]);
  return children({ copied, copy: () => copy(value) });
}
/** Copies a text of a menu, which closes, and reports the result. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notifications.show({ message: t('copied') });
  } catch {
    reportRefusal();
  }
}
