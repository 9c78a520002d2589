/** Description of this machine, and its noise before a run, which limits the precision of every figure. */
import os from 'node:os';
import { SEED, quantile } from './lib.ts';

const SLICES = 100;
const STEPS = 2_000_000;
export interface Machine {
  readonly hardware: string;
  /** Half the distance from the 5th to the 95th percentile of one fixed piece of work, as a share of its median. */
  readonly noise: number;
  /** Runnable processes over the last minute. */
  readonly load: number;
  readonly seed: number;
}
/** Milliseconds of work that needs the processor only. */
function slice(): number {
  const began = performance.now();
  let mixed = 1;
  for (let i = 0; i < STEPS; i++) mixed = Math.imul(mixed ^ i, 0x9e3779b1);
  if (mixed === 0.5) throw new Error('not a whole number');
  return performance.now() - began;
}
/** Takes about a second. */
export function readMachine(): Machine {
  const load = os.loadavg()[0]!;
  for (let i = 0; i < 10; i++) slice();
  const ms = Array.from({ length: SLICES }, slice);
  const noise = (quantile(ms, 0.95) - quantile(ms, 0.05)) / 2 / quantile(ms, 0.5);
  const cpus = os.cpus();
  const hardware = `${cpus.length} cores (${cpus[0]?.model.trim() ?? 'unknown'}), ${Math.round(os.totalmem() / 2 ** 30)} GiB, ${os.type()} ${os.release()}, Node ${process.version}`;
  return { hardware, noise, load, seed: SEED };
}
export const machineText = ({ hardware, noise, load, seed }: Machine): string =>
  `${hardware}; noise ±${(noise * 100).toFixed(1)} %, load ${load.toFixed(1)}, seed ${seed}`;
