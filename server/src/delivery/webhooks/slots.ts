/** A number of places; who finds none waits in line. */
export interface Slots {
  /** Resolves with what gives the place back; call it once. */
  take(): Promise<() => void>;
  readonly taken: number;
}
export function createSlots(places: number): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;
  const give = (): void => {
    const next = waiting.shift();
    if (next === undefined) taken -= 1;
    else next();
  };
  return {
    async take() {
      if (taken < places) taken += 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return give;
    },
    get taken() {
      return taken;
    },
  };
}
