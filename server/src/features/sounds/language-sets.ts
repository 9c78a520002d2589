/** Uploaded prompts for languages that the engine does not include. */
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { LANGUAGE } from '@offhook/contract/config-fields.ts';
import { ENGINE_LANGUAGES } from '@offhook/contract/sounds.ts';
import type { LanguageUploaded, LanguagesReply } from '@offhook/contract/sounds.ts';
import { audited } from '../../commands/audited.ts';
import { ServiceError } from '../../core/errors.ts';
import { missing } from '../../core/files.ts';
import { Queue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Actor } from '../../ports/operations.ts';
import { createConverter } from './converter.ts';
import { openSoundFolder } from './folder.ts';
import type { SoundFolder, Upload } from './folder.ts';
import { ENDINGS, endingOf, promptOf } from './prompt-file.ts';

/** Largest upload in bytes. */
const MAX_UPLOAD = 40 * 1_048_576;
const MOST_SECONDS = 60;
const MOST_LANGUAGES = 50;

export interface LanguageSetsDeps {
  readonly audit: Audit;
  /** Folder with one folder of prompts for each language; the engine reads them there. */
  readonly folder: string;
  /** Limit of bytes of all sets together with other sounds. */
  readonly budget: number;
  /** Bytes of other sounds. */
  readonly otherBytes: () => Promise<number>;
  /** Bytes to keep free on the disk. */
  readonly diskFloor: number;
  /** Languages of the draft and the applied configuration. */
  readonly used: () => ReadonlySet<string>;
  /** Prompts that the applied configuration can play and that are missing in a language. */
  readonly lacking: (language: string) => Promise<readonly string[]>;
}
/** A received file, to be moved into the folder of its language. */
interface Prompt {
  readonly file: string;
  readonly name: string;
  readonly ending: string;
}
interface Size {
  readonly prompts: number;
  readonly bytes: number;
}

export class LanguageSets {
  readonly #deps: LanguageSetsDeps;
  readonly #folder: SoundFolder;
  readonly #converter = createConverter();
  readonly #changes = new Queue();

  static async open(deps: LanguageSetsDeps): Promise<LanguageSets> {
    return new LanguageSets(deps, await openSoundFolder(deps.folder));
  }
  private constructor(deps: LanguageSetsDeps, folder: SoundFolder) {
    this.#deps = deps;
    this.#folder = folder;
  }
  async list(): Promise<LanguagesReply> {
    const used = this.#deps.used();
    const own = await this.#languages();
    const languages = await Promise.all(
      [...new Set([...own, ...used])].toSorted().map(async (language) => ({
        language,
        uploaded: own.includes(language),
        ...(await this.#size(language)),
        used: used.has(language),
        missing: [...(await this.#deps.lacking(language))],
      })),
    );
    return { success: true, languages };
  }
  /**
   * Adds or replaces prompts: those of an archive, all or none, or `prompt`. Throws `invalid_request`,
   * `sound_too_large`, `sound_too_long`, `not_audio`, `overloaded`, `storage_full` and `store_unavailable`.
   */
  async upload(
    { caller, ip }: Actor,
    language: string,
    prompt: string | undefined,
    body: Readable | null,
  ): Promise<LanguageUploaded> {
    if ((ENGINE_LANGUAGES as readonly string[]).includes(language))
      throw new ServiceError('invalid_request', 'language: the engine has its own prompts for this language');
    if (body === null) throw new ServiceError('not_audio', 'the file is empty');
    return await this.#changes.run(async () => {
      const own = await this.#languages();
      if (!own.includes(language) && own.length >= MOST_LANGUAGES)
        throw new ServiceError(
          'storage_full',
          say`the prompts of at most ${MOST_LANGUAGES} languages can be uploaded; delete one`,
        );
      if ((await this.#folder.freeBytes()) < this.#deps.diskFloor + 4 * MAX_UPLOAD)
        throw new ServiceError('storage_full', 'the disk does not have enough free space');
      const upload = await this.#folder.receive(body, MAX_UPLOAD);
      const unpacked = `${upload.from}.files`;
      try {
        await mkdir(unpacked);
        const { prompts, ignored } =
          prompt === undefined
            ? await unpack(upload.from, unpacked, language)
            : { prompts: [await this.#convert(upload, prompt)], ignored: 0 };
        await this.#checkBudget(prompts);
        const line = {
          action: 'languages.upload',
          actor: caller.extension || caller.username,
          object: language,
          ip,
          detail: { prompts: prompts.length, ...(prompt === undefined ? {} : { prompt }) },
        };
        await audited(this.#deps.audit, line, async () => {
          for (const one of prompts) await this.#place(language, one);
        });
        return { success: true, prompts: prompts.length, ignored };
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
        throw new ServiceError('storage_full', 'the disk is full', { cause: error });
      } finally {
        await upload.remove();
        await rm(unpacked, { recursive: true, force: true });
      }
    });
  }
  /** Throws `not_found`, `in_use` and `store_unavailable`. */
  remove({ caller, ip }: Actor, language: string): Promise<void> {
    const { audit, folder, used } = this.#deps;
    return this.#changes.run(async () => {
      if (!(await this.#languages()).includes(language))
        throw new ServiceError('not_found', 'no prompts of this language are uploaded');
      const actor = caller.extension || caller.username;
      const line = { action: 'languages.remove', actor, object: language, ip } as const;
      if (used().has(language)) {
        await audit.record({ ...line, outcome: 'refused' });
        throw new ServiceError('in_use', 'the draft or the applied configuration uses this language');
      }
      await audited(audit, line, () => rm(path.join(folder, language), { recursive: true, force: true }));
    });
  }
  async close(): Promise<void> {
    await this.#converter.close();
    await this.#changes.idle();
  }

  async #languages(): Promise<readonly string[]> {
    return (await readdir(this.#deps.folder)).filter((name) => LANGUAGE.test(name)).toSorted();
  }
  async #size(language: string): Promise<Size> {
    const folder = path.join(this.#deps.folder, language);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(missing);
    const files = (entries ?? []).filter((entry) => entry.isFile());
    const sizes = await Promise.all(
      files.map(
        async (entry) => (await stat(path.join(entry.parentPath, entry.name)).catch(missing))?.size ?? 0,
      ),
    );
    return { prompts: files.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
  }
  async #checkBudget(prompts: readonly Prompt[]): Promise<void> {
    const sets = await Promise.all((await this.#languages()).map((language) => this.#size(language)));
    let bytes = await this.#deps.otherBytes();
    for (const set of sets) bytes += set.bytes;
    for (const { file } of prompts) bytes += (await stat(file)).size;
    if (bytes <= this.#deps.budget) return;
    throw new ServiceError(
      'storage_full',
      say`all sounds together may take ${this.#deps.budget} bytes; delete one, or raise OFFHOOK_SOUND_MEGABYTES`,
    );
  }
  async #convert({ from, to }: Upload, name: string): Promise<Prompt> {
    await this.#converter.convert({ from, to, most_seconds: MOST_SECONDS });
    return { file: to, name, ending: ENDINGS[0] };
  }
  /** Stores the new file before it deletes those with other endings, so that the engine always finds one. */
  async #place(language: string, { file, name, ending }: Prompt): Promise<void> {
    const at = path.join(this.#deps.folder, language, name);
    await mkdir(path.dirname(at), { recursive: true, mode: 0o750 });
    await rename(file, `${at}.${ending}`);
    for (const other of ENDINGS) if (other !== ending) await rm(`${at}.${other}`, { force: true });
  }
}

async function unpack(
  archive: string,
  into: string,
  language: string,
): Promise<{ readonly prompts: Prompt[]; readonly ignored: number }> {
  const prompts = new Map<string, Prompt>();
  let files = 0;
  // Loaded on demand, because it loads the readers of all archive formats.
  const { archivedFiles } = await import('./archive.ts');
  for await (const { name: named, bytes } of archivedFiles(archive)) {
    files += 1;
    const name = promptOf(named, language);
    if (name === null) continue;
    const ending = endingOf(named, bytes);
    const file = path.join(into, String(files));
    await writeFile(file, bytes, { flag: 'wx', mode: 0o640 });
    prompts.set(name, { file, name, ending });
  }
  if (prompts.size === 0) throw new ServiceError('not_audio', 'the archive has no prompts');
  return { prompts: [...prompts.values()], ignored: files - prompts.size };
}
