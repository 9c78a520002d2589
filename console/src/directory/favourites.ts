/** Favourites of this person, stored in this browser. */
import { useCallback, useMemo, useState } from 'react';
import { useMe } from '../app/session.tsx';

const MOST = 200;
function read(key: string): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}
export function useFavourites(): readonly [
  favourites: ReadonlySet<string>,
  toggle: (extension: string) => void,
] {
  const key = `offhook.favourites.${useMe().extension}`;
  const [list, setList] = useState(() => read(key));
  const toggle = useCallback(
    (extension: string) => {
      const before = read(key);
      const next = before.includes(extension)
        ? before.filter((one) => one !== extension)
        : [...before, extension].slice(-MOST);
      localStorage.setItem(key, JSON.stringify(next));
      setList(next);
    },
    [key],
  );
  return [useMemo(() => new Set(list), [list]), toggle];
}
