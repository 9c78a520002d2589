import type { Said } from '../core/said.ts';
import type { Site } from './site.ts';

/**
 * Every configuration file of the engine by name, e.g. `queues.conf`, or `<folder>/<name>` for lists of sounds; complete texts.
 */
export type EngineFiles = ReadonlyMap<string, string>;

/**
 * A difference between the engine and its intended configuration. `words` are the engine's own message where it gave one, else
 * the finding.
 */
export interface EngineProblem {
  /** e.g. `endpoint 1004`, `queue support`, `dialplan people`; null where unknown. */
  readonly object: string | null;
  /** e.g. `queues.conf`; null where unknown. */
  readonly file: string | null;
  readonly words: string;
  /** Source of `words`, where they can be translated. */
  readonly said?: Said | string;
}
/** True for the name under which the files of another engine of the site are kept: the site as that engine has it. */
export const ofOtherEngine = (name: string): boolean => name.startsWith('engines/');
export const otherEngineFile = (node: string): string => `engines/${node}.json`;
/** Node of the engine with this name. */
export const nodeOfFile = (name: string): string => name.slice('engines/'.length, -'.json'.length);
export interface Preparation {
  readonly problems: readonly EngineProblem[];
  readonly notices: readonly EngineProblem[];
}
/** Settings that a throw-away engine loaded from some files, for comparison with the live one; opaque to others. */
export interface Proof {
  readonly problems: readonly EngineProblem[];
}
/** A file on the disk: its hash is SHA-256 in hex, null where it does not exist. */
export interface FileOnDisk {
  readonly name: string;
  readonly hash: string | null;
}

/**
 * Installs the configuration at the engine. Each method does one step and can be repeated; its caller decides the
 * order, records it and rolls back. Errors (`ServiceError`): `invalid_request` for a value a file cannot hold,
 * `engine_unavailable`, `engine_timeout`, `storage_full` where the files could not be written.
 */
export interface EngineConfig {
  /** False until the engine's program is known; until then every other member throws `engine_unavailable`. */
  readonly ready: boolean;
  /** Pure: equal sites give equal bytes. */
  render(site: Site): EngineFiles;
  /** State of every rendered file on the disk, sorted by name; null for a named file that does not exist. O(bytes). */
  onDisk(names: Iterable<string>): Promise<readonly FileOnDisk[]>;
  /** Text of a file on the disk, null where it does not exist; with `backup` the version before it. */
  read(name: string, backup?: boolean): Promise<string | null>;
  /**
   * Issues or copies the certificate that these files name, where they have a TLS transport; `prove` does it too. Throws
   * `invalid_configuration` where the given certificate cannot be used and there is no earlier one.
   */
  certify(files: EngineFiles): Promise<void>;
  /**
   * Gets the other files that these files need, such as sounds of their languages. `problems`: parts that are missing;
   * `notices`: effects that callers will notice.
   */
  prepare(files: EngineFiles, signal?: AbortSignal): Promise<Preparation>;
  /**
   * Boots a throw-away engine with these files and the hand-written ones, reads its log and every object back, and stops it. It
   * connects to no phone and no trunk. Problems concern the configuration; an engine that cannot be started is an error.
   */
  prove(files: EngineFiles, signal?: AbortSignal): Promise<Proof>;
  /**
   * Replaces files atomically (written aside, flushed, renamed; the folder flushed) and keeps the previous version as
   * `<name>.bak`. A file with equal bytes is not touched. Returns the names that changed, and those that the running engine may
   * not have loaded: written since its start, by this or an earlier service, without a `verify` that found no difference. After
   * an error each file is either old or new; `onDisk` shows which. A new PIN of a mailbox ends the one that its owner chose by
   * phone. `back`: the files are those before a write that is undone, which restores these chosen PINs.
   */
  write(files: EngineFiles, back?: boolean): Promise<readonly string[]>;
  /** Makes the live engine load the named files, only the parts they belong to, in an order that keeps references valid. */
  reload(names: readonly string[], signal?: AbortSignal): Promise<void>;
  /**
   * Reads back from the live engine what it loaded from the named files and compares it with the proof. Empty without
   * differences. With `changed`, for an engine that held the files before the last write: of thousands of phones only those
   * that the write changed, and those beside them in the files, are read.
   */
  verify(
    proof: Proof,
    names: readonly string[],
    signal?: AbortSignal,
    depth?: 'all' | 'changed',
  ): Promise<readonly EngineProblem[]>;
  /**
   * Hand-written files beside ours, sorted by name, e.g. `custom/queues.conf`, which is loaded with `queues.conf`. Never
   * written; proven together with the rest.
   */
  handWritten(): Promise<readonly FileOnDisk[]>;
  /** Text of a file with each secret replaced by a mark, equal for equal secrets; line breaks unchanged. */
  hidden(name: string, text: string): string;
  /** The files among these that take effect only at a restart of the engine, e.g. `modules.conf`. */
  needsRestart(names: readonly string[]): readonly string[];
  /** Rejects with `engine_unavailable`, which names the node, where another engine of the site is away; absent where there is none. */
  readonly reach?: (site: Site) => Promise<void>;
}
