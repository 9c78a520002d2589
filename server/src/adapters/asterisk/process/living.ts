import fs from 'node:fs';
import path from 'node:path';
import { processStart } from '../../../core/folder-lock.ts';
import { asteriskConf } from '../conf/instance.ts';
import type { Instance } from '../conf/instance.ts';

/** A process that is certainly this instance's engine; `start` distinguishes it from a later one with the same pid. */
export interface Living {
  readonly pid: number;
  readonly start: string;
  /** Command and leading arguments it was started with, up to its configuration. */
  readonly command: readonly string[];
  /** Hash of the configuration it was started with, where that is noted. */
  readonly config?: string;
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
/** A program that outlives the service, and what proves that a process is it. */
export interface Kept {
  /** File for the note of its process. */
  readonly note: string;
  /** The program's own pid file. */
  readonly pidFile: string;
  /** Arguments in a row that no other process has: those with the path of its configuration. */
  readonly marks: readonly string[];
}
const engineOf = (instance: Instance): Kept => ({
  note: path.join(instance.folder, 'process.json'),
  pidFile: path.join(instance.run_dir, 'asterisk.pid'),
  marks: ['-C', asteriskConf(instance), ...FOREGROUND],
});

/** Stores a program's process for the next service. */
export function noteKept({ note }: Kept, living: Living): void {
  fs.writeFileSync(`${note}.new`, `${JSON.stringify({ ...living, boot: bootId() })}\n`, { mode: 0o600 });
  fs.renameSync(`${note}.new`, note);
}
/** Stores the engine's process for the next service. */
export const noteLiving = (instance: Instance, living: Living): void => noteKept(engineOf(instance), living);

function argvOf(pid: number): string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  } catch {
    return [];
  }
}

/** The process `pid` as this program, or null when it is anything else. */
function keptAt({ marks }: Kept, pid: number): Living | null {
  const start = processStart(pid);
  if (start === null) return null;
  const argv = argvOf(pid);
  const at = argv.findIndex((_, i) => marks.every((mark, j) => argv[i + j] === mark));
  return at > 0 ? { pid, start, command: argv.slice(0, at) } : null;
}

/** The process `pid` as this instance's engine, or null. */
export const engineAt = (instance: Instance, pid: number): Living | null => keptAt(engineOf(instance), pid);

/** True while it is still the same process. */
export const lives = (living: Living): boolean => processStart(living.pid) === living.start;

/**
 * The running process of a program, or null. The note contains pid and start time; where it is missing or old (a service
 * killed between starting the program and noting it), the program's own pid file is used. A recycled pid never matches: the
 * process must run with this site's own configuration.
 */
export function findKept(kept: Kept): Living | null {
  try {
    const note = JSON.parse(fs.readFileSync(kept.note, 'utf8')) as Living & { boot: string };
    const found = note.boot === bootId() ? keptAt(kept, note.pid) : null;
    if (found !== null && found.start === note.start)
      return note.config === undefined ? found : { ...found, config: note.config };
  } catch {
    // An unreadable note proves nothing about the process.
  }
  try {
    const pid = Number(fs.readFileSync(kept.pidFile, 'utf8'));
    return Number.isInteger(pid) && pid > 1 ? keptAt(kept, pid) : null;
  } catch {
    return null;
  }
}
/** Processes that a program left when it was killed: its own children, which hold its addresses. */
export function strayOf(kept: Kept): Living[] {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => keptAt(kept, Number(pid)) ?? []);
}
/** The running engine of this instance, or null. */
export const findLiving = (instance: Instance): Living | null => findKept(engineOf(instance));
