import fs from 'node:fs';
import path from 'node:path';
import pino from 'pino';
import type { Log } from './log.ts';

const FILE_LIMIT = 16 * 1024 * 1024;
const KEPT = 3;

/** `file` → `file.1` → … → dropped, so that logs take at most `(KEPT + 1) * FILE_LIMIT` bytes. */
function rotate(file: string): void {
  for (let n = KEPT - 1; n >= 1; n--) {
    if (fs.existsSync(`${file}.${n}`)) fs.renameSync(`${file}.${n}`, `${file}.${n + 1}`);
  }
  if (fs.existsSync(file)) fs.renameSync(file, `${file}.1`);
}

/** One line of JSON for each record, to a rotated file; warnings and errors also to standard error. */
export function openLog(file: string, level: string): { log: Log; close(): void } {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const destination = pino.destination({
    dest: file,
    mkdir: false,
    sync: false,
    minLength: 0,
    maxLength: 4 * 1024 * 1024,
  });
  // A full disk drops lines instead of stopping the service.
  destination.on('error', () => undefined);
  let written = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const counted = {
    write(line: string): void {
      written += line.length;
      if (written > FILE_LIMIT) {
        written = 0;
        try {
          rotate(file);
          destination.reopen(file);
        } catch {
          // Records continue in the old file; the next attempt follows after another FILE_LIMIT.
        }
      }
      destination.write(line);
    },
  };
  const streams = pino.multistream([
    { level: level as pino.Level, stream: counted },
    { level: 'warn', stream: process.stderr },
  ]);
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, streams);
  /** A field set by several parts is in the line once, with the value of the innermost part. */
  const childOf = (fields: object): Log => {
    const own = log.child(fields);
    return {
      debug: (more, message) => own.debug(more, message),
      info: (more, message) => own.info(more, message),
      warn: (more, message) => own.warn(more, message),
      error: (more, message) => own.error(more, message),
      child: (more) => childOf({ ...fields, ...more }),
    };
  };
  return {
    log: childOf({}),
    close() {
      try {
        destination.flushSync();
      } catch {
        // Nothing was open yet, or the disk is full: the error cannot be reported.
      }
      destination.end();
    },
  };
}
