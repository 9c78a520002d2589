import type { Stats } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

/** Returns null for the error of a file that does not exist; rethrows any other error. */
export function missing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}

/** True for an error of the operating system, such as a file that may not be read. */
export const isSystemError = (error: unknown): boolean =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).errno === 'number';

/** Null where the file does not exist. */
export const textOf = (file: string): Promise<string | null> => readFile(file, 'utf8').catch(missing);

/** Size and kind of an open file, which is closed if they cannot be read. */
export async function statOf(handle: FileHandle): Promise<Stats> {
  try {
    return await handle.stat();
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Replaces a file in one step: a crash leaves the old one or the new one, whole and on the disk. */
export async function replaceFile(file: string, text: string, mode = 0o600): Promise<void> {
  const handle = await open(`${file}.new`, 'w', mode);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${file}.new`, file);
}

/** A text that is kept across restarts of the service. */
export interface KeptText {
  /** Null before the first `write`. */
  read(): Promise<string | null>;
  write(text: string): Promise<void>;
}
export const keptText = (file: string): KeptText => ({
  read: () => textOf(file),
  write: (text) => replaceFile(file, text),
});
