/** Delays of a timer in this process: the engine and the phones wait for the same cores. */
const STEP_MS = 20;
const NOTED_MS = 20;
const noted: { readonly at: number; readonly ms: number }[] = [];
let due = performance.now() + STEP_MS;
setInterval(() => {
  const now = performance.now();
  if (now - due > NOTED_MS) noted.push({ at: now, ms: now - due });
  due = now + STEP_MS;
}, STEP_MS).unref();

/** The longest delay of a timer, in milliseconds, between two times of `performance.now()`. */
export const worstLateness = (from: number, to: number): number =>
  Math.max(0, ...noted.filter(({ at, ms }) => at >= from && at - ms <= to).map(({ ms }) => ms));
