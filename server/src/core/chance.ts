/**
 * Random ids, secrets and jitter. Inside `seededChance`, which only the simulator uses, they are derived from its
 * seed, so that two runs are equal; elsewhere they come from `node:crypto`, and jitter from `Math.random`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import crypto, { createHash } from 'node:crypto';

type Draw = (purpose: string, size: number) => Buffer;
const seeded = new AsyncLocalStorage<Draw>();

/** Returns a function that runs sync or async work with values of the seed; a further call continues the series. */
export function seededChance(seed: string): <T>(run: () => T) => T {
  // A series for each purpose: the order in which parallel work draws for different purposes has no effect.
  const drawn = new Map<string, number>();
  const draw: Draw = (purpose, outputLength) => {
    const count = (drawn.get(purpose) ?? 0) + 1;
    drawn.set(purpose, count);
    return createHash('shake256', { outputLength }).update(`${seed}\0${purpose}\0${count}`).digest();
  };
  return (run) => seeded.run(draw, run);
}

export const randomBytes = (size: number, purpose: string): Buffer =>
  seeded.getStore()?.(purpose, size) ?? crypto.randomBytes(size);

export function randomUUID(purpose: string): string {
  const draw = seeded.getStore();
  if (draw === undefined) return crypto.randomUUID();
  const hex = draw(purpose, 16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}
const WORD = 2 ** 32;
/** An integer from 0 to `below` - 1. */
export const randomInt = (below: number, purpose: string): number => {
  const draw = seeded.getStore();
  return draw === undefined ? crypto.randomInt(below) : draw(purpose, 4).readUInt32BE() % below;
};
/** A number from 0 to below 1. */
export const random = (purpose: string): number => {
  const draw = seeded.getStore();
  return draw === undefined ? Math.random() : draw(purpose, 4).readUInt32BE() / WORD;
};
