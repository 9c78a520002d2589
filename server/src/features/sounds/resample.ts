/** Changes the sample rate of a stream, with a low-pass filter against aliasing. */
export interface Resampler {
  push(samples: Float32Array): Float32Array;
  /** Returns the rest; no `push` after it. */
  flush(): Float32Array;
}

/** Zero crossings on each side, counted at the slower of the two rates: 80 dB down within 1.3 kHz at 16 kHz. */
const CROSSINGS = 32;
const BETA = 8;
/** Half-power point of the low-pass filter, as a part of half the slower rate: aliases lie beyond it. */
const CUTOFF = 0.92;

/** Modified Bessel function of the first kind, order 0. */
function bessel(x: number): number {
  let [sum, term] = [1, 1];
  for (let k = 1; term > sum * 1e-9; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}
function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
const same = (): Resampler => ({ push: (samples) => samples, flush: () => new Float32Array() });

/** Both in samples per second, whole numbers. `n` samples in give `ceil(n * to / from)` out, without delay. */
export function createResampler(from: number, to: number): Resampler {
  if (from === to) return same();
  const divisor = greatestCommonDivisor(from, to);
  const [step, phases] = [from / divisor, to / divisor];
  const slower = Math.min(1, to / from) * CUTOFF;
  const half = Math.ceil(CROSSINGS * Math.max(1, from / to));
  const taps = 2 * half;
  const kernel = new Float32Array(phases * taps);
  const top = bessel(BETA);
  for (let phase = 0; phase < phases; phase++) {
    let sum = 0;
    for (let k = 0; k < taps; k++) {
      const x = k - half + 1 - phase / phases;
      const window = bessel(BETA * Math.sqrt(Math.max(0, 1 - (x / half) ** 2))) / top;
      const y = Math.PI * x * slower;
      const value = (y === 0 ? 1 : Math.sin(y) / y) * window;
      kernel[phase * taps + k] = value;
      sum += value;
    }
    for (let k = 0; k < taps; k++) kernel[phase * taps + k]! /= sum;
  }
  // Leading silence, so that the first sample has predecessors.
  let held = new Float32Array(half - 1);
  let [at, phase, taken, given] = [0, 0, 0, 0];

  function run(fresh: Float32Array, most: number): Float32Array {
    const all = new Float32Array(held.length + fresh.length);
    all.set(held);
    all.set(fresh, held.length);
    const out = new Float32Array(Math.ceil(((all.length + 1) * phases) / step) + 1);
    let count = 0;
    while (at + taps <= all.length && given < most) {
      let sum = 0;
      const row = phase * taps;
      for (let k = 0; k < taps; k++) sum += all[at + k]! * kernel[row + k]!;
      out[count++] = sum;
      given++;
      phase += step;
      at += Math.floor(phase / phases);
      phase %= phases;
    }
    const done = Math.min(at, all.length);
    held = all.slice(done);
    at -= done;
    return out.subarray(0, count);
  }
  return {
    push(samples) {
      taken += samples.length;
      return run(samples, Infinity);
    },
    flush: () => run(new Float32Array(half + 1), Math.ceil((taken * to) / from)),
  };
}
