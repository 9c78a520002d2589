/** Shared by all rows: pinned child processes, interleaved repeats, medians with their intervals. */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export const SUBJECT_CORE = 0;
export const GENERATOR_CORE = os.availableParallelism() > 1 ? 1 : 0;
export const ALL_CORES = `0-${os.cpus().length - 1}`;
/** Small sizes, for a machine with other load; the results are not stored. */
export const QUICK = process.argv.includes('--quick');
/** Pairs of a row that names no other number. */
export const ROUNDS = QUICK ? 5 : 9;

export const pinned = spawnSync('taskset', ['-c', '0', 'true']).status === 0;
const folder = import.meta.dirname;

/** The command, bound to one core if the machine allows it. */
export const onCore = (core: number | string, command: readonly string[]): string[] =>
  pinned ? ['taskset', '-c', String(core), ...command] : [...command];
/** Binds a running process with all its threads. */
export function moveTo(core: number | string, pid: number): void {
  if (pinned) spawnSync('taskset', ['-acp', String(core), String(pid)]);
}
/** Flags of scripts/start.mjs for the service. */
export const SERVICE_FLAGS = [
  '--max-semi-space-size=4',
  '--v8-pool-size=1',
  '--no-concurrent-marking',
  '--initial-old-space-size=128',
  '--expose-gc',
];
const children = new Set<ChildProcess>();
const leftovers = new Set<() => void>();
/** Runs `clean` when the run is interrupted; it must be synchronous. Returns a function that cancels it. */
export function atExit(clean: () => void): () => void {
  leftovers.add(clean);
  return () => leftovers.delete(clean);
}
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  // The newest first: processes end before their folder is removed.
  for (const clean of [...leftovers].toReversed()) clean();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
/** A folder that is removed on disposal, or at the latest when the process exits. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-bench-'));
  const remove = (): void => fs.rmSync(made, { recursive: true, force: true, maxRetries: 5 });
  const forget = atExit(remove);
  return {
    path: made,
    [Symbol.dispose]() {
      forget();
      remove();
    },
  };
}
/** Starts `bench/<file>` on one core; it prints one line of JSON and accepts requests over IPC. */
export function start(
  file: string,
  args: readonly (string | number)[],
  core: number,
  flags: readonly string[] = [],
): ChildProcess {
  const [program = '', ...rest] = onCore(core, [
    process.execPath,
    ...flags,
    path.join(folder, file),
    ...args.map(String),
  ]);
  const child = spawn(program, rest, {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}
/** Sends a request to a child and waits for its reply; one at a time. */
export async function ask<T>(child: ChildProcess, question: object): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const died = (): void => reject(new Error(`${child.spawnargs.join(' ')} died`));
  child.once('exit', died);
  child.once('message', (answer) => resolve(answer as T));
  child.send(question);
  try {
    return await promise;
  } finally {
    child.off('exit', died);
  }
}
/** Runs `bench/<file>` until its line of JSON. */
export async function run<T>(
  file: string,
  args: readonly (string | number)[],
  core: number,
  flags: readonly string[] = [],
): Promise<T> {
  const child = start(file, args, core, flags);
  try {
    return await firstLine<T>(child);
  } finally {
    await end(child);
  }
}
/** CPU time of a process with all its threads, in microseconds. */
export function cpuOf(pid: number): number {
  const folderOf = `/proc/${pid}/task`;
  const ns = fs
    .readdirSync(folderOf)
    .map((task) => Number(fs.readFileSync(`${folderOf}/${task}/schedstat`, 'utf8').split(' ')[0]));
  return ns.reduce((sum, n) => sum + n, 0) / 1000;
}
/** First line of JSON that the child prints. Rejects when it ends without one. */
export async function firstLine<T>(child: ChildProcess): Promise<T> {
  let text = '';
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const end = text.indexOf('\n');
    if (end >= 0) resolve(JSON.parse(text.slice(0, end)) as T);
  });
  child.once('exit', (code) => reject(new Error(`${child.spawnargs.join(' ')} ended with ${code}`)));
  return await promise;
}
/** Ends a child and waits for its exit. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await gone;
}

/** Median of the observations with its 95 % interval, by bootstrap. */
export interface Series {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly values: readonly number[];
}
/** Uniform numbers from 0 to 1, the same ones for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
const middle = (sorted: readonly number[]): number =>
  ((sorted[(sorted.length - 1) >> 1] ?? Number.NaN) + (sorted[sorted.length >> 1] ?? Number.NaN)) / 2;
const ascending = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
const RESAMPLES = 2_000;
/** Percentile bootstrap of the median; one seed for all, so that the same observations have the same interval. */
export function series(values: readonly number[]): Series {
  const median = middle(ascending(values));
  if (values.length < 2) return { median, low: median, high: median, values };
  const random = randomOf(1);
  const medians = ascending(
    Array.from({ length: RESAMPLES }, () =>
      middle(ascending(values.map(() => values[Math.floor(random() * values.length)]!))),
    ),
  );
  return { median, low: quantile(medians, 0.025), high: quantile(medians, 0.975), values };
}
/** Value below which `share` of the values lie. */
export const quantile = (values: readonly number[], share: number): number =>
  ascending(values)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
/** Quantiles of the rounds of a subject, by the results of `interleave`. */
export const quantilesOf =
  (rounds: ReadonlyMap<string, readonly (readonly number[])[]>) =>
  (subject: string, share: number): number[] =>
    (rounds.get(subject) ?? []).map((values) => quantile(values, share));

/** Draws the order of the subjects in each round; printed, so that a run can be repeated with its order. */
export const SEED = Number(process.env.OFFHOOK_BENCH_SEED ?? Math.floor(Math.random() * 2 ** 31));
const drawn = randomOf(SEED);
function shuffled<T>(list: readonly T[]): T[] {
  const all = [...list];
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(drawn() * (i + 1));
    [all[i], all[j]] = [all[j]!, all[i]!];
  }
  return all;
}
/**
 * Measures every subject once in each round, in an order drawn anew: a drift of the machine affects all subjects, and
 * no subject always follows the same one. The observations of a round are a pair.
 */
export async function interleave<T>(
  subjects: readonly string[],
  rounds: number,
  measure: (subject: string) => Promise<T>,
): Promise<Map<string, T[]>> {
  const results = new Map<string, T[]>(subjects.map((s) => [s, []]));
  for (let round = 0; round < rounds; round++) {
    for (const subject of shuffled(subjects)) results.get(subject)?.push(await measure(subject));
  }
  return results;
}

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly series: Series;
  /** Subject of the figure: ours, another program, or the fastest possible. */
  readonly role: 'ours' | 'peer' | 'limit';
  /** Worse direction, for figures compared between runs: shares and ratios, which are stable on a noisy machine. */
  readonly worse?: 'higher' | 'lower';
}
export type Verdict = 'held' | 'broken' | 'undecided';
/** Demand on a row, and its result. */
export interface Gate {
  readonly what: string;
  readonly unit: string;
  readonly is: 'at least' | 'at most';
  readonly asked: number;
  readonly measured: Omit<Series, 'values'>;
  /** Undecided if the interval contains `asked`. */
  readonly verdict: Verdict;
}
/** Cost at several sizes; the documents draw its growth. */
export interface Growth {
  readonly name: string;
  readonly unit: string;
  readonly points: readonly (readonly [size: number, value: number])[];
}
export interface Row {
  readonly id: string;
  readonly title: string;
  readonly figures: readonly Figure[];
  readonly gates: readonly Gate[];
  readonly growth?: readonly Growth[];
  readonly notes?: readonly string[];
}
export const figure = (
  name: string,
  unit: string,
  role: Figure['role'],
  values: readonly number[],
  worse?: Figure['worse'],
): Figure => ({ name, unit, role, series: series(values), ...(worse === undefined ? {} : { worse }) });
function gate(
  is: Gate['is'],
  what: string,
  asked: number,
  observed: number | readonly number[],
  unit: string,
): Gate {
  const { median, low, high } = series(typeof observed === 'number' ? [observed] : observed);
  const [holds, breaks] = is === 'at least' ? [low >= asked, high < asked] : [high <= asked, low > asked];
  // A gate without a measured value is broken.
  const known = Number.isFinite(median);
  const verdict = holds && known ? 'held' : breaks || !known ? 'broken' : 'undecided';
  return { what, unit, is, asked, measured: { median, low, high }, verdict };
}
/** `observed`: one number for an exact value, otherwise every observation. */
export const atLeast = (what: string, floor: number, observed: number | readonly number[], unit = ''): Gate =>
  gate('at least', what, floor, observed, unit);
export const atMost = (
  what: string,
  ceiling: number,
  observed: number | readonly number[],
  unit = '',
): Gate => gate('at most', what, ceiling, observed, unit);
/** Difference of each pair. */
export const beyond = (ours: readonly number[], limit: readonly number[]): number[] =>
  ours.map((value, i) => value - (limit[i] ?? Number.NaN));
/** Ratio of each pair; both values are of one round, so that common delays cancel out. */
export const ratiosOf = (above: readonly number[], below: readonly number[]): number[] =>
  above.map((value, i) => value / (below[i] ?? Number.NaN));
/** Slope of a straight line through the points with logarithmic axes: 0 is no growth, 1 is proportional. */
function slopeOf(points: readonly (readonly [size: number, value: number])[]): number {
  const xs = points.map(([size]) => Math.log(size));
  const ys = points.map(([, value]) => Math.log(value));
  const mean = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0) / list.length;
  const [mx, my] = [mean(xs), mean(ys)];
  const top = xs.reduce((sum, x, i) => sum + (x - mx) * ((ys[i] ?? my) - my), 0);
  return top / xs.reduce((sum, x) => sum + (x - mx) ** 2, 0);
}
/**
 * The growth of a cost over its sizes, and a gate on its slope: each round has one, through its observations at all
 * sizes.
 */
export function growthOf(
  { name, unit, most }: { readonly name: string; readonly unit: string; readonly most: number },
  points: readonly (readonly [size: number, values: readonly number[]])[],
): { readonly growth: Growth; readonly gate: Gate } {
  const rounds = Math.min(...points.map(([, values]) => values.length));
  const slopes = Array.from({ length: rounds }, (_, round) =>
    slopeOf(points.map(([size, values]) => [size, values[round]!])),
  );
  const [first, last] = [points[0]?.[0] ?? Number.NaN, points.at(-1)?.[0] ?? Number.NaN];
  return {
    growth: { name, unit, points: points.map(([size, values]) => [size, series(values).median]) },
    gate: atMost(`P22: slope of ${name} from ${count(first)} to ${count(last)}`, most, slopes),
  };
}
export const count = (n: number): string => Math.round(n).toLocaleString('en-GB');
/** Three significant digits. */
export function digits(n: number): string {
  if (!Number.isFinite(n)) return '–';
  if (Math.abs(n) >= 1_000) return count(n);
  return String(Number(n.toPrecision(3)));
}
