import type { Store } from '../../src/ports/store.ts';

const never = new Promise<never>(() => undefined);
/** A store whose process dies at its nth commit, before or after it: later requests never end. */
export function mortalStore(store: Store, at: number, side: 'before' | 'after') {
  let commits = 0;
  const life: { dead: boolean; readonly store: Store } = {
    dead: false,
    store: {
      ...store,
      async transaction(work) {
        if (life.dead) return never;
        commits += 1;
        if (commits === at && side === 'before') life.dead = true;
        if (life.dead) return never;
        const result = await store.transaction(work);
        if (commits === at) life.dead = true;
        return life.dead ? never : result;
      },
    },
  };
  return life;
}
