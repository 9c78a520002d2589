import fs from 'node:fs';
import { crc32 } from 'node:zlib';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';

/** A commit of the store by its number; `at` is milliseconds since 1970, 0 for none. */
export interface Commit {
  readonly count: number;
  readonly at: number;
}
/**
 * A file beside the store with the newest commit on the disk, written after each flush. It is never ahead of the store, so a
 * store behind it has lost commits.
 */
export interface StoreSeal {
  /** Content at opening, and the store it belongs to; null where none is readable. */
  readonly kept: (Commit & { readonly id: string }) | null;
  /** Never throws: an older seal detects fewer losses and is never wrong. */
  write(id: string, commit: Commit): void;
  close(): void;
}
const RECORD = /^(offhook-store-seal 1 ([\w-]{8,32}) (\d{16}) (\d{16})) ([0-9a-f]{8})\n/;
const checkOf = (text: string): string => crc32(text).toString(16).padStart(8, '0');
const digits = (value: number): string => String(value).padStart(16, '0');

export function openStoreSeal(file: string, log: Log): StoreSeal {
  let descriptor: number | undefined;
  let failing = false;
  const attempt = (work: () => void): void => {
    try {
      work();
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ file, error: messageOf(error) }, 'the seal of the store was not written');
      failing = true;
    }
  };
  const kept = readSeal(file);
  const open = (): number =>
    (descriptor ??= fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600));
  attempt(open);
  let written = 0;
  return {
    kept,
    write(id, { count, at }) {
      // Commits that shared a flush arrive here in any order.
      if (count <= written) return;
      attempt(() => {
        const text = `offhook-store-seal 1 ${id} ${digits(count)} ${digits(at)}`;
        fs.writeSync(open(), `${text} ${checkOf(text)}\n`, 0, 'latin1');
        written = count;
      });
    },
    close() {
      const opened = descriptor;
      if (opened === undefined) return;
      attempt(() => fs.fsyncSync(opened));
      attempt(() => fs.closeSync(opened));
    },
  };
}

function readSeal(file: string): StoreSeal['kept'] {
  let text: string;
  try {
    text = fs.readFileSync(file, 'latin1');
  } catch {
    return null;
  }
  const [, content = '', id = '', count, at, check] = RECORD.exec(text) ?? [];
  return check === undefined || check !== checkOf(content)
    ? null
    : { id, count: Number(count), at: Number(at) };
}
