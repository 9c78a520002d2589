import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
  /** Given to its stdin, which is then closed; without it stdin is empty. */
  readonly input?: string;
  /** Milliseconds after which the child is killed; the outcome then has `timed_out`. */
  readonly timeout_ms?: number;
  /** Called for each line the child writes to its file descriptor 3. */
  readonly onStatusLine?: (line: string) => void;
  /** Limit of the text kept per stream; keeps the end of a longer one. */
  readonly limit?: number;
  /** Collects stdout in an unnamed file, so that the child never waits until this process reads. */
  readonly unread?: boolean;
}
export interface RunOutcome {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timed_out: boolean;
}

function collect(stream: Readable, limit: number): () => string {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text += chunk;
    if (text.length > limit) text = text.slice(-limit);
  });
  return () => text;
}

/** An unnamed file, in memory where the machine offers it: a full disk would cut the output. */
function openScratch(folders: readonly string[] = ['/dev/shm', os.tmpdir()]): number {
  const [folder = '', ...others] = folders;
  const file = path.join(folder, `offhook-${randomUUID()}`);
  let fd: number;
  try {
    fd = fs.openSync(file, 'wx+', 0o600);
  } catch (error) {
    if (others.length === 0) throw error;
    return openScratch(others);
  }
  fs.unlinkSync(file);
  return fd;
}
/** The end of the file's text, which is closed after it. */
function takeText(fd: number, limit: number): string {
  try {
    const { size } = fs.fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, limit));
    return bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, bytes.length, size - bytes.length));
  } finally {
    fs.closeSync(fd);
  }
}

function eachLine(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(-4096);
    lines.forEach(onLine);
  });
}

/**
 * Runs `command` (an argument vector, never a shell) to its end and resolves with its output. Rejects when it cannot be
 * started, or with the signal's reason when aborted; the child has ended by then.
 */
export function run(command: readonly string[], options: RunOptions = {}): Promise<RunOutcome> {
  const [program = '', ...args] = command;
  const { signal, limit = 4 * 1024 * 1024 } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const scratch = options.unread ? openScratch() : undefined;
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: [
        options.input === undefined ? 'ignore' : 'pipe',
        scratch ?? 'pipe',
        'pipe',
        options.onStatusLine ? 'pipe' : 'ignore',
      ],
    });
    // 'close' follows 'error' where the program could not be started.
    child.once('error', reject);
    // Without free file descriptors the child has no streams, and 'close' does not follow.
    if (!child.stderr) {
      if (scratch !== undefined) fs.closeSync(scratch);
      return;
    }
    // A child that ends before it has read everything reports the reason by its exit code.
    child.stdin?.on('error', () => undefined).end(options.input);
    const piped = child.stdout && collect(child.stdout, limit);
    const stdout = (): string => (scratch === undefined ? (piped?.() ?? '') : takeText(scratch, limit));
    const stderr = collect(child.stderr, limit);
    if (options.onStatusLine) eachLine(child.stdio[3] as Readable, options.onStatusLine);
    let timedOut = false;
    const timer =
      options.timeout_ms === undefined
        ? undefined
        : setTimeout(() => {
            timedOut = true;
            child.kill('SIGKILL');
          }, options.timeout_ms);
    // A moment for its own clean-up (apt's locks, partial files); a child that ignores SIGTERM is killed.
    let hard: NodeJS.Timeout | undefined;
    const abort = (): void => {
      child.kill('SIGTERM');
      hard = setTimeout(() => child.kill('SIGKILL'), 2_000);
    };
    signal?.addEventListener('abort', abort, { once: true });
    const settled = (): void => {
      clearTimeout(timer);
      clearTimeout(hard);
      signal?.removeEventListener('abort', abort);
    };
    child.once('close', (code) => {
      settled();
      const outcome = { code, stdout: stdout(), stderr: stderr(), timed_out: timedOut };
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve(outcome);
    });
  });
}
