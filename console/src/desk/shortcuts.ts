/** Keys of the desk. They can be switched off, and never act while a person types. */
import { useLayoutEffect, useRef, useSyncExternalStore } from 'react';
import { isTyped } from '../app/focus.ts';
import { storedChanges } from '../app/stored.ts';
import type { WordOf } from '../app/words.ts';

type Word = WordOf<'desk'>;
export const SHORTCUTS = {
  a: 'answer',
  r: 'ready',
  p: 'pause',
  c: 'cancel_pending',
  l: 'login_all',
  o: 'logout_all',
  f: 'finish',
  e: 'extend',
  h: 'hold_or_retrieve',
  t: 'transfer',
  g: 'park',
  x: 'hang_up',
  s: 'switch_call',
  n: 'note',
  u: 'outcome',
  k: 'crm',
  '?': 'help',
} as const satisfies Readonly<Record<string, Word>>;
export type ShortcutKey = keyof typeof SHORTCUTS;

const STORED = 'offhook.desk.shortcuts';
const changes = storedChanges();
const isOn = (): boolean => localStorage.getItem(STORED) !== 'off';
export function setShortcuts(on: boolean): void {
  localStorage.setItem(STORED, on ? 'on' : 'off');
  changes.notify();
}
export const useShortcutsOn = (): boolean => useSyncExternalStore(changes.subscribe, isOn);

/** Runs `run`, if given, while keys are on. */
export function useShortcut(key: ShortcutKey, run: (() => void) | null): void {
  const on = useShortcutsOn();
  const now = useRef(run);
  now.current = run;
  const there = run !== null;
  // A key works as soon as its button is visible.
  useLayoutEffect(() => {
    if (!on || !there) return;
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== key || event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.defaultPrevented || event.repeat || isTyped(event)) return;
      event.preventDefault();
      now.current?.();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [key, on, there]);
}
