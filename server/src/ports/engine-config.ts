import type { Site } from './site.ts';

/** Every configuration file of the engine by its name, e.g. `queues.conf`, or `<folder>/<name>` for sounds' lists; whole texts. */
export type EngineFiles = ReadonlyMap<string, string>;

/** Something an engine does not hold as it was meant. `words` are the engine's own where it said any, else what was found. */
export interface EngineProblem {
  /** e.g. `endpoint 1004`, `queue support`, `dialplan people`; null where it cannot be told. */
  readonly object: string | null;
  /** e.g. `queues.conf`; null where it cannot be told. */
  readonly file: string | null;
  readonly words: string;
}
/** What a throw-away engine held of some files, to be compared with what the live one holds; opaque to others. */
export interface Proof {
  readonly problems: readonly EngineProblem[];
}
/** A file as it stands on the disk: hashes are SHA-256 in hex, null where there is none. */
export interface FileOnDisk {
  readonly name: string;
  readonly hash: string | null;
  readonly backup_hash: string | null;
}

/** Whose a number is by id, and whose it was; null for nobody's. */
export interface MailboxOwner {
  readonly number: string;
  readonly from: number | null;
  readonly to: number | null;
}

/**
 * The way configuration gets to the engine. Each method does one thing and can be repeated; the order, the record of it and
 * the way back belong to who calls. Errors (`ServiceError`): `invalid_request` for a value a file cannot carry,
 * `engine_unavailable`, `engine_timeout`, `storage_full` where the files could not be written.
 */
export interface EngineConfig {
  /** False until the engine's program is known; everything but this then throws `engine_unavailable`. */
  readonly ready: boolean;
  /** Pure: the same site gives the same bytes. */
  render(site: Site): EngineFiles;
  /** Every rendered file's state on the disk, in order of name; those named that are not there have null. O(bytes). */
  onDisk(names: Iterable<string>): Promise<readonly FileOnDisk[]>;
  /** The text of a file as it stands, null where there is none; `backup` for the one before it. */
  read(name: string, backup?: boolean): Promise<string | null>;
  /**
   * Boots a throw-away engine with these files and the hand-written ones beside them, reads its log and every object back, and
   * ends it. It talks to no phone and no trunk. Problems are of the configuration; an engine that cannot be had is an error.
   */
  prove(files: EngineFiles, signal?: AbortSignal): Promise<Proof>;
  /**
   * Puts the files in place, each whole (written aside, flushed, renamed; the folder flushed), the one before kept as
   * `<name>.bak`. What already holds the same bytes is not touched. Returns the names that changed. On an error the files
   * are each old or new and `onDisk` tells which.
   */
  write(files: EngineFiles): Promise<readonly string[]>;
  /** Makes the live engine read the named files again, only the parts they belong to, in an order in which references hold. */
  reload(names: readonly string[], signal?: AbortSignal): Promise<void>;
  /** Reads back from the live engine what the named files give it, and compares it with the proof. Empty when all is as meant. */
  verify(proof: Proof, names: readonly string[], signal?: AbortSignal): Promise<readonly EngineProblem[]>;
  /**
   * The hand-written files beside ours, in order of name, e.g. `custom/queues.conf`, which is read with `queues.conf`. They are
   * never written; what is in them is proven with the rest.
   */
  handWritten(): Promise<readonly FileOnDisk[]>;
  /** The text of a file with a mark in the place of every secret, another mark for another secret; line by line as it was. */
  hidden(name: string, text: string): string;
  /** Names among these that only a new start of the engine takes in, e.g. `modules.conf`. */
  needsRestart(names: readonly string[]): readonly string[];
}
