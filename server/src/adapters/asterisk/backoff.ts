const FIRST_MS = 200;
const MOST_MS = 10_000;
const REFUSED_MS = 30_000;
/** However lucky the draw, a peer that is away is not asked more often than this. */
const LEAST_MS = 50;

/** Full jitter: anything up to a limit that doubles from 0.2 s to 10 s. `attempt` counts from 0. */
export const retryDelay = (attempt: number, random: () => number): number =>
  Math.max(LEAST_MS, Math.round(random() * Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(attempt, 16))));

/** After a refused login never before 30 s: each one costs the engine a second and looks like an attack. */
export const refusedDelay = (random: () => number): number => Math.round(REFUSED_MS * (1 + random() / 2));
