/** What every row shares: pinned child processes, interleaved repeats, medians with their spread. */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';

export const SUBJECT_CORE = 0;
export const GENERATOR_CORE = os.availableParallelism() > 1 ? 1 : 0;
/** A figure whose repeats lie further apart is not published. */
export const MOST_SPREAD = 0.15;

const pinned = spawnSync('taskset', ['-c', '0', 'true']).status === 0;
const folder = import.meta.dirname;

/** Starts `bench/<file>` on one core; its standard output is read as JSON lines. */
export function start(file: string, args: readonly (string | number)[], core: number): ChildProcess {
  const command = [process.execPath, '--expose-gc', path.join(folder, file), ...args.map(String)];
  const [program = '', ...rest] = pinned ? ['taskset', '-c', String(core), ...command] : command;
  return spawn(program, rest, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
  });
}
/** The first line of JSON that the child prints. Rejects when it ends without one. */
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
/** Ends a child and waits until it is gone. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}

export interface Series {
  readonly median: number;
  /** (max − min) / median. */
  readonly spread: number;
  readonly values: readonly number[];
}
export function series(values: readonly number[]): Series {
  const sorted = values.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return { median, spread: ((sorted.at(-1) ?? 0) - (sorted[0] ?? 0)) / median, values };
}
/** The value below which `share` of the values lie. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN;

/** A-B-A-B…: every subject once in each round, so that a machine that drifts drifts for all. */
export async function interleave<T>(
  subjects: readonly string[],
  rounds: number,
  measure: (subject: string) => Promise<T>,
): Promise<Map<string, T[]>> {
  const results = new Map<string, T[]>(subjects.map((s) => [s, []]));
  for (let round = 0; round < rounds; round++) {
    for (const subject of subjects) results.get(subject)?.push(await measure(subject));
  }
  return results;
}

export interface Row {
  readonly id: string;
  readonly what: string;
  readonly figures: readonly { readonly name: string; readonly value: string; readonly spread?: number }[];
  /** The verdict against the row's gate: what was asked, what was measured. */
  readonly gates: readonly { readonly asked: string; readonly measured: string; readonly held: boolean }[];
}
export const count = (n: number): string => Math.round(n).toLocaleString('en-GB');
export const ratio = (n: number): string => `${n.toFixed(2)}×`;
