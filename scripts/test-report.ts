/** Output of a test run: a line for each file, the failures with their location, and the totals last. */
import path from 'node:path';
import { inspect } from 'node:util';
import type { EventData } from 'node:test';

/** Names of the runner's own totals, in its order. */
const TOTALS = ['tests', 'suites', 'passed', 'failed', 'cancelled', 'skipped', 'todo'] as const;
const WORDS: Readonly<Record<string, string>> = { passed: 'pass', failed: 'fail' };
export type Counts = Record<(typeof TOTALS)[number], number>;

export interface Failure {
  /** Name of the test with its suites. */
  readonly name: string;
  /** Location of the test, below the root. */
  readonly at: string;
  readonly error: unknown;
}
export interface FileResult {
  readonly file: string;
  readonly counts: Counts;
  readonly failures: readonly Failure[];
  /** Output of the file and its tests. */
  readonly output: string;
  readonly ms: number;
}
const noCounts = (): Counts => ({
  tests: 0,
  suites: 0,
  passed: 0,
  failed: 0,
  cancelled: 0,
  skipped: 0,
  todo: 0,
});
/** Lines of output shown with a file's failures. */
const KEPT_LINES = 150;
/** Characters of the failures in the list at the end of the run, shared by all: a CI log may be cut to its last 10,000. */
const KEPT_AT_END = 7_000;
const LEAST_KEPT = 300;
const SLOWEST = 10;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, '    ');

export class Report {
  readonly #root: string;
  readonly #write: (text: string) => void;
  readonly #results: FileResult[] = [];
  constructor(root: string, write: (text: string) => void) {
    this.#root = root;
    this.#write = write;
  }
  /** Shows one test, in a run that lists each. */
  test(passed: boolean, { name, nesting, skip, details }: EventData.TestPass | EventData.TestFail): void {
    const mark = passed ? (skip ? '﹣' : '✔') : '✖';
    this.#write(`${'  '.repeat(nesting)}${mark} ${name} (${Math.round(details.duration_ms)} ms)\n`);
  }
  file(result: FileResult): void {
    this.#results.push(result);
    const { file, counts, failures, ms } = result;
    const bad = failures.length > 0;
    const count = bad ? `${failures.length} of ${counts.tests} failed` : `${counts.tests} passed`;
    this.#write(`${bad ? '✖' : '✔'} ${seconds(ms).padStart(7)}  ${file}: ${count}\n`);
    if (!bad) return;
    this.#failures(result);
  }
  /** End of a run of several files; true if some test ran and none failed. */
  end(ms: number): boolean {
    const counts = noCounts();
    for (const result of this.#results) for (const key of TOTALS) counts[key] += result.counts[key];
    const failures = this.#results.flatMap((result) => result.failures);
    if (this.#results.length > SLOWEST) {
      const slow = this.#results.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
      this.#write(`\nslowest files: ${slow.map((r) => `${r.file} ${seconds(r.ms)}`).join(', ')}\n`);
    }
    if (failures.length > 0 && this.#results.length > 1) {
      this.#write('\nfailed:\n');
      const most = Math.max(LEAST_KEPT, Math.floor(KEPT_AT_END / failures.length));
      for (const failure of failures) this.#failure(failure, most);
    }
    const totals = TOTALS.map((key) => `ℹ ${WORDS[key] ?? key} ${counts[key]}`);
    this.#write(`\n${[...totals, `ℹ duration_ms ${Math.round(ms)}`].join('\n')}\n`);
    return failures.length === 0 && counts.failed === 0 && counts.cancelled === 0 && counts.tests > 0;
  }
  #failures({ failures, output }: FileResult): void {
    for (const failure of failures) this.#failure(failure);
    const lines = output.trimEnd().split('\n').slice(-KEPT_LINES);
    if (output !== '') this.#write(`${indent(`The file wrote last:\n${lines.join('\n')}`)}\n`);
  }
  #failure({ name, at, error }: Failure, most = Infinity): void {
    const { message: whole, frames } = this.#read(error);
    const message = whole.length > most ? `${whole.slice(0, most)} …` : whole;
    const where = frames.length > 0 ? `${frames.map((frame) => `at ${frame}`).join('\n')}\n` : '';
    this.#write(`  ✖ ${at}  ${name}`.trimEnd() + `\n${indent(`${message}\n${where}`)}`);
  }
  /** Messages of an error and its causes, and its stack frames in our own files. */
  #read(error: unknown): { message: string; frames: string[] } {
    if (!(error instanceof Error))
      return { message: typeof error === 'string' ? error : inspect(error), frames: [] };
    const lines = (error.stack ?? '').split('\n').filter((line) => /^ +at /.test(line));
    const frames = lines.flatMap((line) => {
      const file = line.match(/(?:file:\/\/|\()?(\/[^\s()]+:\d+:\d+)\)?$/)?.[1];
      const below = file === undefined ? '..' : path.relative(this.#root, file);
      return below.startsWith('..') || below.includes('node_modules') ? [] : [below];
    });
    const cause = error.cause === undefined ? '' : `\ncaused by: ${this.#read(error.cause).message}`;
    return { message: `${error.message.trim() || error.name}${cause}`, frames };
  }
}
