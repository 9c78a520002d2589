/** Files that the running engine may not have read: written since its start, and not compared with it since. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { missing, replaceFile, textOf } from '../../../core/files.ts';
import type { Instance } from '../conf/instance.ts';
import { findLiving } from '../process/living.ts';
import { needsRestart } from './reload.ts';

/**
 * Kept on the disk, because a service that is killed between a write and the reload leaves no file to write for the next one.
 * An engine that started later has read all files, so the list is that of one engine. Files for a restart are not in it.
 */
export class UnreadFiles {
  readonly #instance: Instance;
  readonly #file: string;
  constructor(instance: Instance) {
    this.#instance = instance;
    this.#file = path.join(instance.folder, 'unread-files');
  }
  async names(): Promise<readonly string[]> {
    const [engine, ...names] = ((await textOf(this.#file)) ?? '').split('\n');
    return engine === this.#engine() ? names : [];
  }
  /** Call before these files are replaced. */
  async add(names: readonly string[]): Promise<void> {
    const later = needsRestart(names);
    await this.#keep([...(await this.names()), ...names.filter((name) => !later.includes(name))]);
  }
  /** Call when the engine has the content of these files. */
  async remove(names: readonly string[]): Promise<void> {
    const known = await this.names();
    if (known.some((name) => names.includes(name)))
      await this.#keep(known.filter((name) => !names.includes(name)));
  }

  /** Null where no engine runs. */
  #engine(): string | null {
    const living = findLiving(this.#instance);
    return living === null ? null : `${living.pid} ${living.start}`;
  }
  async #keep(names: readonly string[]): Promise<void> {
    const engine = this.#engine();
    if (engine === null || names.length === 0) await rm(this.#file).catch(missing);
    else await replaceFile(this.#file, [engine, ...new Set(names)].join('\n'));
  }
}
