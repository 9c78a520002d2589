import fs from 'node:fs';
import path from 'node:path';
import { processStart } from '../../../core/folder-lock.ts';
import { asteriskConf } from '../instance.ts';
import type { Instance } from '../instance.ts';

/** A process that is certainly this instance's engine; `start` distinguishes it from a later one with the same pid. */
export interface Living {
  readonly pid: number;
  readonly start: string;
  /** Command and leading arguments it was started with, up to its configuration. */
  readonly command: readonly string[];
}

/** Arguments after the program's configuration, which distinguish the engine from a console of the same instance. */
export const FOREGROUND = ['-f', '-n'] as const;

const bootId = (): string => {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
};
const noteOf = (instance: Instance): string => path.join(instance.folder, 'process.json');

/** Stores the engine's process for the next service. */
export function noteLiving(instance: Instance, living: Living): void {
  const file = noteOf(instance);
  fs.writeFileSync(`${file}.new`, `${JSON.stringify({ ...living, boot: bootId() })}\n`, { mode: 0o600 });
  fs.renameSync(`${file}.new`, file);
}

function argvOf(pid: number): string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  } catch {
    return [];
  }
}

/** The process `pid` as this instance's engine, or null when it is anything else. */
export function engineAt(instance: Instance, pid: number): Living | null {
  const start = processStart(pid);
  if (start === null) return null;
  const argv = argvOf(pid);
  const at = argv.indexOf('-C');
  const ours = argv[at + 1] === asteriskConf(instance) && FOREGROUND.every((f, i) => argv[at + 2 + i] === f);
  return at > 0 && ours ? { pid, start, command: argv.slice(0, at) } : null;
}

/** True while it is still the same process. */
export const lives = (living: Living): boolean => processStart(living.pid) === living.start;

/**
 * The running engine of this instance, or null. The note contains pid and start time; where it is missing or old (a service
 * killed between starting the engine and noting it), Asterisk's own pid file is used. A recycled pid never matches: the process
 * must run with this instance's own configuration.
 */
export function findLiving(instance: Instance): Living | null {
  try {
    const note = JSON.parse(fs.readFileSync(noteOf(instance), 'utf8')) as Living & { boot: string };
    const found = note.boot === bootId() ? engineAt(instance, note.pid) : null;
    if (found !== null && found.start === note.start) return found;
  } catch {
    // An unreadable note proves nothing about the process.
  }
  try {
    const pid = Number(fs.readFileSync(path.join(instance.run_dir, 'asterisk.pid'), 'utf8'));
    return Number.isInteger(pid) && pid > 1 ? engineAt(instance, pid) : null;
  } catch {
    return null;
  }
}
