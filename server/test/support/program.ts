import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PATIENCE_MS, until } from './until.ts';

/** A program run by a test, with its lines as they are written. */
export interface Program extends AsyncDisposable {
  readonly lines: readonly string[];
  /** Null while it runs. */
  readonly exitCode: number | null;
  write(line: string): void;
  /** The first matching line from the n-th on, once written. */
  says(pattern: RegExp, from?: number, ms?: number): Promise<string>;
  /** Kills the program and waits for its end. */
  kill(): Promise<void>;
}
export function runProgram(file: string, args: readonly string[]): Program {
  const child = spawn(process.execPath, [file, ...args], { stdio: 'pipe' });
  const lines: string[] = [];
  let rest = '';
  const note = (chunk: Buffer): void => {
    rest += chunk.toString('utf8');
    const whole = rest.split('\n');
    rest = whole.pop() ?? '';
    lines.push(...whole);
  };
  child.stdout.on('data', note);
  child.stderr.on('data', note);
  // Not its exit: its last lines may arrive after that.
  let closed = false;
  const gone = once(child, 'close').then(() => (closed = true));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
  };
  return {
    lines,
    get exitCode() {
      return closed ? child.exitCode : null;
    },
    write: (line) => void child.stdin.write(`${line}\n`),
    says: (pattern, from = 0, ms = PATIENCE_MS) =>
      until(`a line ${pattern}`, () => lines.slice(from).find((line) => pattern.test(line)), {
        ms,
        every: 10,
        seen: () => lines.slice(-15),
      }),
    kill,
    [Symbol.asyncDispose]: kill,
  };
}
