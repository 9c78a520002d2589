/**
 * Unsent text, stored in this browser until it is sent: it survives the end of the page, the session and the network.
 */
import { useCallback, useEffect, useRef, useState } from 'react';
import { useMe } from './session.tsx';

const PREFIX = 'offhook.draft.';
/** Number of drafts a browser keeps; the oldest are dropped. */
const MOST = 200;
interface Kept {
  readonly at: number;
  readonly text: string;
}
function read(key: string): string {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? 'null') as Kept | null)?.text ?? '';
  } catch {
    return '';
  }
}
function write(key: string, text: string): void {
  if (text === '') return localStorage.removeItem(key);
  const kept: Kept = { at: Date.now(), text };
  localStorage.setItem(key, JSON.stringify(kept));
  const own = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
  if (own.length <= MOST) return;
  const at = (name: string): number => (JSON.parse(localStorage.getItem(name) ?? '{"at":0}') as Kept).at;
  for (const name of own.toSorted((a, b) => at(a) - at(b)).slice(0, own.length - MOST))
    localStorage.removeItem(name);
}
/** Drafts of this person whose name starts with `prefix`, newest first; `at`: time of writing, ms since 1970. */
export function draftsOf(
  extension: string,
  prefix: string,
): { readonly name: string; readonly at: number }[] {
  const own = `${PREFIX}${extension}.`;
  return Object.keys(localStorage)
    .filter((key) => key.startsWith(own + prefix) && read(key) !== '')
    .map((key) => ({
      name: key.slice(own.length),
      at: (JSON.parse(localStorage.getItem(key) ?? '{"at":0}') as Kept).at,
    }))
    .toSorted((a, b) => b.at - a.at);
}
/**
 * One draft of this person; `name` is its key, e.g. `note.<conversation>`. Call `clear` once the draft is sent. `clear(sent)` keeps a
 * draft that was changed after `sent`, and returns false then.
 */
export function useDraft(
  name: string,
): readonly [text: string, set: (text: string) => void, clear: (sent?: string) => boolean] {
  const { extension } = useMe();
  const key = `${PREFIX}${extension}.${name}`;
  const [text, setText] = useState(() => read(key));
  const shown = useRef(key);
  useEffect(() => {
    if (shown.current === key) return;
    shown.current = key;
    setText(read(key));
  }, [key]);
  const set = useCallback(
    (next: string) => {
      setText(next);
      write(key, next);
    },
    [key],
  );
  const clear = useCallback(
    (sent?: string) => {
      if (sent !== undefined && read(key) !== sent) return false;
      write(key, '');
      // The page may show another draft by now.
      if (shown.current === key) setText('');
      return true;
    },
    [key],
  );
  return [text, set, clear];
}
