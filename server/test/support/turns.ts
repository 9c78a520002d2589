/**
 * Counts turns of the event loop until its end. Work that blocks the loop leaves a few, and work that waits beside it leaves
 * hundreds, however slow the machine is.
 */
export function countTurns(): Disposable & { readonly turns: number } {
  let turns = 0;
  let next: NodeJS.Immediate;
  const turn = (): void => {
    turns += 1;
    next = setImmediate(turn);
  };
  next = setImmediate(turn);
  return {
    get turns() {
      return turns;
    },
    [Symbol.dispose]: () => clearImmediate(next),
  };
}
