/** `npm test`: runs test files, each in its own process, as many at once as the cores allow. */
import os from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import type { EventData } from 'node:test';
import { parseArgs } from 'node:util';
import { chooseFiles } from './test-files.ts';
import type { TestFile } from './test-files.ts';
import { Report } from './test-report.ts';
import type { Failure, FileResult } from './test-report.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
/** Load allowed for each core, in cores: more than 1, because some of the processes always wait. */
const SHARE = 1.38;
/** Limit of one file, in seconds; the longest passing one took a third of it. */
const LONGEST = 900;
/** Limit of a file once all its tests have ended, in seconds; the hooks that end a site take up to 40. */
const LINGER = 120;

/** Puts test sites into PostgreSQL (server/test/support/site-store.ts). */
const POSTGRES = `process.env.TEST_SITE_STORE = 'postgres';`;
/** Lowers the priority of the process and its children below that of files that measure the times of calls. */
const YIELD = `import os from 'node:os'; os.setPriority(Math.min(19, os.getPriority() + 5));`;
const inline = (text: string): string => `data:text/javascript,${text}`;
const QUICK_PASSWORDS = import.meta.resolve('./quick-passwords.mjs');

interface Options {
  readonly names?: readonly string[];
  readonly signal: AbortSignal;
  /** Limit of one file, in seconds. */
  readonly longest: number;
  /** Limit after the end of its tests, in seconds. */
  readonly linger: number;
  /** Called for each test as it ends. */
  readonly each?: (passed: boolean, data: EventData.TestPass | EventData.TestFail) => void;
}

/**
 * Aborts `seconds` after the end of the last top-level test, because an open handle, such as a phone, keeps the file
 * alive.
 */
class Linger {
  readonly #stop = new AbortController();
  readonly #seconds: number;
  #open = 0;
  #timer: NodeJS.Timeout | undefined;
  constructor(seconds: number) {
    this.#seconds = seconds;
  }
  get signal(): AbortSignal {
    return this.#stop.signal;
  }
  note(
    type: string,
    data: { readonly name?: string; readonly nesting?: number; readonly file?: string },
  ): void {
    // The runner counts the file itself as a test, too.
    if (data.nesting !== 0 || data.name === data.file) return;
    if (type === 'test:enqueue') this.#open += 1;
    else if (type === 'test:complete') this.#open -= 1;
    else return;
    this.end();
    if (this.#open === 0) this.#timer = setTimeout(() => this.#stop.abort(), this.#seconds * 1000);
  }
  end(): void {
    clearTimeout(this.#timer);
  }
}

/** Runs one file to its end or the limit. A file that ends without its own totals, or with none, has failed. */
async function runFile(
  { name: file, kind, postgres, fullCost }: TestFile,
  { names, signal, longest, linger, each }: Options,
): Promise<FileResult> {
  const began = performance.now();
  const failures: Failure[] = [];
  const around: string[] = [];
  const running = new Set<string>();
  let output = '';
  let ran: number | undefined;
  let counts: FileResult['counts'] | undefined;
  const late = AbortSignal.timeout(longest * 1000);
  const left = new Linger(linger);
  const events = run({
    files: [path.join(ROOT, file)],
    concurrency: 1,
    signal: AbortSignal.any([signal, late, left.signal]),
    execArgv: [kind.yields && inline(YIELD), postgres && inline(POSTGRES), !fullCost && QUICK_PASSWORDS]
      .filter((url) => typeof url === 'string')
      .map((url) => `--import=${url}`),
    ...(names === undefined ? {} : { testNamePatterns: names }),
  });
  for await (const { type, data } of events) {
    left.note(type, data);
    if (type === 'test:dequeue') running.add(data.name);
    else if (type === 'test:complete') running.delete(data.name);
    else if (type === 'test:start') around.splice(data.nesting, Infinity, data.name);
    else if (type === 'test:stdout' || type === 'test:stderr') output += data.message;
    else if (type === 'test:diagnostic') {
      // Messages at the outermost level are totals, which the summary contains, too.
      if (data.nesting > 0 || data.message.startsWith('Error: ')) output += `${data.message}\n`;
    } else if (type === 'test:pass') each?.(true, data);
    else if (type === 'test:fail') {
      each?.(false, data);
      const failed = late.aborted
        ? { name: [...running].join(', '), at: file, error: `ran longer than ${longest} s and was ended` }
        : left.signal.aborted
          ? {
              name: '',
              at: `${file}:1`,
              error: `its tests ended ${linger} s ago, but a handle that they left open keeps it running`,
            }
          : failureOf(data, [...around.slice(0, data.nesting), data.name]);
      if (failed !== null) failures.push(failed);
    } else if (type === 'test:summary') {
      if (data.file === undefined) counts = countsOf(data);
      else ran = data.counts.tests;
    }
  }
  left.end();
  if (counts === undefined) throw new Error(`${file}: the test runner gave no totals`);
  if (failures.length === 0 && (ran ?? 0) === 0) {
    // The runner counts the file itself as a passed test.
    if (names === undefined) failures.push({ name: '', at: `${file}:1`, error: 'the file ran no test' });
    counts = { ...counts, tests: failures.length, passed: 0, failed: failures.length };
  }
  const over = (name: string): string => (postgres ? `${name} (PostgreSQL)` : name);
  const named = failures.map((one) => ({ ...one, name: over(one.name) }));
  return { file: over(file), counts, failures: named, output, ms: performance.now() - began };
}
function countsOf({ counts }: EventData.TestSummary): FileResult['counts'] {
  // Missing in Node's types.
  const { failed } = counts as typeof counts & { readonly failed: number };
  return { ...counts, failed };
}
/** Null for a test that failed only because of a nested test. */
function failureOf(data: EventData.TestFail, names: readonly string[]): Failure | null {
  const { error } = data.details;
  const { failureType, exitCode, signal } = error as {
    failureType?: string;
    exitCode?: number;
    signal?: string;
  };
  if (failureType === 'subtestsFailed') return null;
  const at = `${path.relative(ROOT, data.file ?? ROOT)}:${data.line ?? 1}`;
  // The process ended with a bad exit code although no test failed.
  if (data.name === data.file && exitCode !== undefined) {
    const end = signal ? `by ${signal}` : `with exit code ${exitCode}`;
    return { name: '', at, error: `the file ended ${end}, outside its tests` };
  }
  return { name: names.join(' > '), at, error: error.cause ?? error };
}

/** Runs all files; the next one starts when the cores have room for its kind. */
async function runAll(
  files: readonly TestFile[],
  limit: { readonly cores: number; readonly files: number },
  work: (file: TestFile) => Promise<void>,
): Promise<void> {
  const left = [...files];
  const running = new Map<TestFile, Promise<void>>();
  const fits = ({ kind }: TestFile): boolean => {
    const kinds = [...running.keys()].map((file) => file.kind);
    if (kinds.length === 0) return true;
    const busy = kinds.reduce((sum, { cores }) => sum + cores, kind.cores);
    const same = kinds.filter((one) => one === kind).length;
    return kinds.length < limit.files && same < limit.cores * kind.most && busy <= limit.cores * SHARE;
  };
  while (left.length > 0 || running.size > 0) {
    const next = left.findIndex(fits);
    if (next < 0) {
      await Promise.race(running.values());
      continue;
    }
    const [file] = left.splice(next, 1) as [TestFile];
    running.set(
      file,
      work(file).finally(() => running.delete(file)),
    );
  }
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'test-name-pattern': { type: 'string', multiple: true },
      'test-concurrency': { type: 'string' },
      // Seconds until a file is ended.
      longest: { type: 'string', default: String(LONGEST) },
      // Seconds from the end of a file's tests until the file is ended.
      linger: { type: 'string', default: String(LINGER) },
      // Shows each test, as a run of one file does.
      each: { type: 'boolean' },
      // Default files if none is given.
      else: { type: 'string', multiple: true },
    },
  });
  const files = chooseFiles(ROOT, positionals.length > 0 ? positionals : values.else);
  const stop = new AbortController();
  let code = 0;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      code = 128 + os.constants.signals[signal];
      stop.abort();
    });
  }
  const report = new Report(ROOT, (text) => void process.stdout.write(text));
  const names = values['test-name-pattern'];
  const options: Options = {
    signal: stop.signal,
    longest: Number(values.longest),
    linger: Number(values.linger),
    ...(names === undefined ? {} : { names }),
    ...(values.each === true || files.length === 1
      ? { each: (passed, data) => report.test(passed, data) }
      : {}),
  };
  const cores = os.availableParallelism();
  const together = Number(values['test-concurrency'] ?? Infinity);
  const began = performance.now();
  await runAll(files, { cores, files: together }, async (file) => {
    if (stop.signal.aborted) return;
    const result = await runFile(file, options);
    // With a pattern, most files have no test.
    if (result.counts.tests > 0) report.file(result);
  });
  const good = report.end(performance.now() - began);
  return code || (good ? 0 : 1);
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`offhook: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
