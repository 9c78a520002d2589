import { lazy } from 'react';
import type { ComponentType, ReactNode } from 'react';
import { Boundary, NotLoaded } from './states.tsx';
import { loadWords } from './words.ts';

/**
 * A part that is loaded when it is first shown. React keeps a failed load for ever; here a retry loads it again, and nothing
 * around it fails with it. The caller provides the `Suspense`.
 */
export function late<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  const begin = (): ComponentType<P> =>
    lazy(async () => {
      try {
        const Loaded = await load();
        await loadWords();
        return { default: Loaded };
      } catch (cause) {
        throw new NotLoaded('a file of the console cannot be had', { cause });
      }
    }) as unknown as ComponentType<P>;
  let Part = begin();
  const Now = (props: P): ReactNode => <Part {...props} />;
  return (props) => (
    <Boundary onAgain={() => void (Part = begin())}>
      <Now {...props} />
    </Boundary>
  );
}
