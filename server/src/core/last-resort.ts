import fs from 'node:fs';
import path from 'node:path';

/** EX_SOFTWARE: exit code of a defect, after which a supervisor starts the service again. */
const FAULT_EXIT = 70;
const END_MS = 10_000;

/**
 * An uncaught error ends the process, because its state is unknown. The error is written to the log synchronously, `end`
 * stops the service while the engine and its calls go on, and the exit code reports the defect. A second uncaught error, or
 * an end that takes too long, kills the process.
 */
export function endOnFault(options: { readonly data: () => string | null; readonly end: () => void }): void {
  let ending = false;
  process.on('uncaughtException', (error: unknown, origin) => {
    note(options.data(), error, origin, ending);
    process.exitCode = FAULT_EXIT;
    // SIGKILL, because no handler can be trusted after a defect.
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
    // The disk may be full; standard error receives the line.
  }
  try {
    fs.writeSync(2, line);
  } catch {
    // Standard error may be closed.
  }
}
