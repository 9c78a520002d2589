import { createHash } from 'node:crypto';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { FileHandle } from 'node:fs/promises';
import { missing } from '../../../core/files.ts';

/** A file with records: the one the engine writes, or a rotated one. */
export interface Place {
  readonly path: string;
  readonly inode: number;
  readonly size: number;
  readonly changed_ns: bigint;
}

async function placeAt(file: string): Promise<Place | null> {
  const s = await stat(file, { bigint: true }).catch(missing);
  if (!s?.isFile()) return null;
  return { path: file, inode: Number(s.ino), size: Number(s.size), changed_ns: s.mtimeNs };
}

/** The engine's current file; null while there is none. */
export const currentPlace = (file: string): Promise<Place | null> => placeAt(file);

const PACKED = /\.(gz|bz2|xz|zst|lz4|zip|tmp|swp)$/;
/** Rotated files beside it (`offhook.csv.1`, `offhook.csv-20261121`), oldest first; without compressed ones. */
export async function rotatedPlaces(file: string): Promise<readonly Place[]> {
  const folder = path.dirname(file);
  const base = path.basename(file);
  const names = (await readdir(folder).catch(missing)) ?? [];
  const ours = names.filter(
    (n) => /^[.-]/.test(n.slice(base.length)) && n.startsWith(base) && !PACKED.test(n),
  );
  const places = await Promise.all(ours.map((name) => placeAt(path.join(folder, name))));
  return places
    .filter((p) => p !== null)
    .sort((a, b) =>
      a.changed_ns === b.changed_ns ? (a.path < b.path ? 1 : -1) : a.changed_ns < b.changed_ns ? -1 : 1,
    );
}

/** Number of rotated files kept for support. */
const KEPT = 3;
/**
 * Renames a file that was read to its end; the engine opens the file by name for every record and so starts a new one. Earlier
 * rotated files are all read; only the newest of them stay.
 */
export async function retire(file: string, suffix: string): Promise<void> {
  await rename(file, `${file}.${suffix}`);
  for (const old of (await rotatedPlaces(file)).slice(0, -KEPT)) await rm(old.path, { force: true });
}

/** Deletes every rotated file that was read; true when no unread one is left. */
export async function forgetRotated(file: string, unread: readonly Place[]): Promise<boolean> {
  const keep = new Set(unread.map(({ inode }) => inode));
  const rotated = await rotatedPlaces(file);
  for (const old of rotated) if (!keep.has(old.inode)) await rm(old.path, { force: true });
  return rotated.every((old) => !keep.has(old.inode));
}

/** Bytes before an offset that identify the file. */
export const MARK_BYTES = 64;
export const markOf = (bytes: Buffer): string =>
  createHash('sha256').update(bytes).digest('base64url').slice(0, 16);

/** Hash of the bytes before `offset`; null when the file is shorter. */
export async function readMark(handle: FileHandle, offset: number): Promise<string | null> {
  const length = Math.min(MARK_BYTES, offset);
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await handle.read(bytes, 0, length, offset - length);
  return bytesRead === length ? markOf(bytes) : null;
}
