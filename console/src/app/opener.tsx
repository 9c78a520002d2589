/** Menus and pop-ups. Their code, with floating-ui, loads at the first use of their button, not with the page. */
import { Suspense, useEffect, useId, useImperativeHandle, useRef, useState } from 'react';
import type { KeyboardEvent, ReactElement, ReactNode, Ref, RefObject } from 'react';
import styles from './opener.module.css';

/** Props of a menu or pop-up; `target` is the child of its `Target`. */
export interface Floating {
  readonly id: string;
  readonly opened: boolean;
  readonly onChange: (opened: boolean) => void;
  readonly target: ReactElement;
}
interface TargetProps {
  readonly button: RefObject<HTMLElement | null>;
  readonly onMount: () => void;
  readonly ref?: Ref<HTMLElement>;
}
/** Positions by the existing button: a remounted button would lose the focus. */
function Target({ button, onMount, ref }: TargetProps): ReactNode {
  useImperativeHandle(ref, () => button.current!, [button]);
  useEffect(onMount, [onMount]);
  return null;
}

/** `button`: props of the button; `floating`: props of what it opens, which `Opened` mounts at the first use. */
export function useOpener(popup: 'menu' | 'dialog') {
  const id = useId();
  const ref = useRef<HTMLButtonElement>(null);
  const [used, setUsed] = useState(false);
  const [mounted, setMounted] = useState(false);
  const [opened, setOpened] = useState(false);
  const [onMount] = useState(() => () => setMounted(true));
  const use = (): void => setUsed(true);
  const change = (next: boolean): void => {
    use();
    setOpened(next);
  };
  const button = {
    ref,
    id,
    'aria-haspopup': popup,
    'aria-expanded': opened,
    'aria-controls': opened ? `${id}-dropdown` : undefined,
    onPointerEnter: use,
    onFocus: use,
    onClick: () => change(!opened),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === 'Escape') setOpened(false);
    },
  };
  const target = <Target button={ref} onMount={onMount} />;
  // The library stores the focused element only at the change from closed to open.
  const floating: Floating = { id, opened: opened && mounted, onChange: change, target };
  return { used, opened, button, floating, open: () => change(true) };
}
interface OpenedProps {
  readonly by: { readonly used: boolean; readonly opened: boolean };
  readonly children: ReactNode;
}
/** Holds what a button opens. Only a failure to load shows here, below the header, while the button is pressed. */
export const Opened = ({ by, children }: OpenedProps): ReactNode =>
  by.used && (
    <div hidden={!by.opened} className={styles.opened}>
      <Suspense fallback={null}>{children}</Suspense>
    </div>
  );
