import fs from 'node:fs';
import path from 'node:path';

/** EX_SOFTWARE: a defect of ours, not wrong settings; a supervisor starts the service again. */
export const FAULT_EXIT = 70;
const END_MS = 10_000;

/**
 * What nobody caught ends the process, because nothing says what is half done: it is written to the log, at once and past
 * everything that may be broken, `end` gives up work in order while the engine and its calls go on, and the exit code says
 * that it was a fault. A second one, or an end that takes too long, kills the process there.
 */
export function endOnFault(options: { readonly data: () => string | null; readonly end: () => void }): void {
  let ending = false;
  process.on('uncaughtException', (error: unknown, origin) => {
    note(options.data(), error, origin, ending);
    process.exitCode = FAULT_EXIT;
    // What is left may be broken in any way: nothing of it is asked.
    const now = (): void => void process.kill(process.pid, 'SIGKILL');
    if (ending) return now();
    ending = true;
    setTimeout(now, END_MS).unref();
    options.end();
  });
}

function note(data: string | null, error: unknown, origin: string, again: boolean): void {
  const known = error instanceof Error;
  const err = known
    ? { type: error.name, message: error.message, stack: error.stack ?? '' }
    : { type: typeof error, message: String(error), stack: '' };
  const msg = again
    ? 'a defect while the service ends; it ends now'
    : 'a defect that nothing caught; the service ends and is to be started again';
  const line = `${JSON.stringify({ level: 60, time: new Date().toISOString(), pid: process.pid, origin, err, msg })}\n`;
  try {
    if (data !== null) fs.appendFileSync(path.join(data, 'logs', 'offhook.log'), line, { mode: 0o600 });
  } catch {
    // A full disk: standard error has it.
  }
  try {
    fs.writeSync(2, line);
  } catch {
    // Nobody reads it.
  }
}
