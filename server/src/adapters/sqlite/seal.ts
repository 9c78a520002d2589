import fs from 'node:fs';
import type { Seal } from '../../core/epoch.ts';

/**
 * A file beside the log with the newest seq that may have been read, written after each commit and before its rows are visible.
 * A copy of the data folder invalidates it: it names its own inode and the time of its last write, which the file system
 * records itself (`ctime`) and no program can set, so a copied, restored or unpacked file has another inode or a later time. It
 * cannot detect what the file system itself turns back (a disk snapshot, a virtual machine); a client that sends the `check` of
 * its newest event can.
 */
export interface SealFile {
  /** The last seal; null where none is readable. */
  readonly kept: Seal | null;
  /** Never throws: where the seal cannot be written it is emptied, so that the next start does not trust it. */
  write(id: string, epoch: string, head: number, check: string): void;
  close(): void;
}
const SIZE = 160;
/** Tolerated difference between our clock and the file system's time of the same write, beyond their usual distance. */
const TOLERANCE_MS = 50;
const HEAD = 'offhook-seal 1 ';
/** Fields after the head: inode, skew, id and epoch of the log, its head with the check, and the time. */
const FIELDS = [/^\d+$/, /^-?\d+$/, /^[\w-]{8,32}$/, /^[\w-]{8,64}$/, /^\d+$/, /^[0-9a-f]*$/, /^\d+$/];

export function openSeal(file: string): SealFile {
  const kept = readSeal(file);
  const descriptor = fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600);
  const { ino } = fs.fstatSync(descriptor);
  /** Clock of the file system, if on another machine, minus ours. */
  let skew: number | undefined;

  let written = '';
  const put = (log: string, head: number, check: string): number => {
    const at = Date.now();
    const first = `${HEAD}${ino} ${skew ?? 0} ${log} `;
    const rest = `${String(head).padStart(16, '0')} ${check} ${at}`;
    if (first === written) {
      // Nearly always only the changed part is written.
      fs.writeSync(descriptor, rest, first.length, 'latin1');
      return at;
    }
    written = '';
    fs.writeSync(descriptor, `${first}${rest}`.padEnd(SIZE - 1) + '\n', 0, 'latin1');
    written = first;
    return at;
  };
  return {
    kept,
    write(id, epoch, head, check) {
      const log = `${id} ${epoch}`;
      try {
        if (skew === undefined) {
          const at = put(log, head, check);
          skew = Math.round(fs.fstatSync(descriptor).ctimeMs - at);
        }
        put(log, head, check);
      } catch {
        try {
          written = '';
          fs.ftruncateSync(descriptor);
        } catch {
          // A disk that accepts neither accepts no commit either.
        }
      }
    },
    close() {
      try {
        fs.fsyncSync(descriptor);
      } finally {
        fs.closeSync(descriptor);
      }
    },
  };
}

function readSeal(file: string): Seal | null {
  let text: string;
  let stat: fs.Stats;
  try {
    const descriptor = fs.openSync(file, 'r');
    try {
      stat = fs.fstatSync(descriptor);
      text = fs.readFileSync(descriptor, 'latin1');
    } finally {
      fs.closeSync(descriptor);
    }
  } catch {
    return null;
  }
  const found = fieldsOf(text);
  if (found === null) return null;
  const [ino, skew, id = '', epoch = '', head, check = '', at] = found;
  const late = stat.ctimeMs - Number(at) - Number(skew);
  const exact = Number(ino) === stat.ino && Math.abs(late) <= TOLERANCE_MS;
  return { id, epoch, head: Number(head), check, at: Number(at), exact };
}
function fieldsOf(text: string): string[] | null {
  if (text.length !== SIZE || !text.startsWith(HEAD) || !text.endsWith('\n')) return null;
  const fields = text.slice(HEAD.length).trimEnd().split(' ');
  const whole = fields.length === FIELDS.length && FIELDS.every((field, i) => field.test(fields[i]!));
  return whole ? fields : null;
}
