import fs from 'node:fs';
import path from 'node:path';
import { logDir } from '../conf/instance.ts';
import type { Instance } from '../conf/instance.ts';

const LIMIT = 8 * 1024 * 1024;
const TAIL_BYTES = 16 * 1024;
const TAIL_LINES = 12;

/** File for the engine's standard output and error, which must outlive this service. */
export const consoleFile = (instance: Instance): string => path.join(logDir(instance), 'console.log');

/** Keeps a console file below twice its limit; programs append, so truncating it while they run is safe. */
export function trimConsole(file: string): void {
  try {
    if (fs.statSync(file).size <= LIMIT) return;
    fs.copyFileSync(file, `${file}.1`);
    fs.truncateSync(file, 0);
  } catch {
    // A log that cannot be trimmed now is trimmed the next time.
  }
}

/** Opens the console file of a program; `from` is the offset of this run's lines. */
export function openConsole(file: string): { readonly fd: number; readonly from: number } {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  trimConsole(file);
  const fd = fs.openSync(file, 'a', 0o600);
  return { fd, from: fs.fstatSync(fd).size };
}

/** The last lines of the console since `from`, only the errors among them where there are any. */
export function consoleTail(file: string, from: number): string[] {
  try {
    const fd = fs.openSync(file, 'r');
    try {
      const { size } = fs.fstatSync(fd);
      // A smaller file was trimmed meanwhile.
      const start = Math.max(size < from ? 0 : from, size - TAIL_BYTES);
      const buffer = Buffer.alloc(TAIL_BYTES);
      const text = buffer.toString('utf8', 0, fs.readSync(fd, buffer, 0, TAIL_BYTES, start));
      const lines = text.split('\n').filter((line) => line.trim() !== '');
      const errors = lines.filter((line) => /\bERROR\b/.test(line));
      return (errors.length > 0 ? errors : lines).slice(-TAIL_LINES);
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return [];
  }
}
