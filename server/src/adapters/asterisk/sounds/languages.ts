/** Sounds of the languages of a site: the program's own, else Debian's packages. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../../../core/errors.ts';
import type { EngineProblem } from '../../../ports/engine-config.ts';
import type { AsteriskProgram, Instance } from '../conf/instance.ts';
import { languageFolder, linkData, linkFallback, linkLanguage } from './data-folder.ts';
import type { UnpackedPackages } from '../provision/tree.ts';

/** Languages of Debian's packages with sounds. */
const PACKAGED: ReadonlySet<string> = new Set(['es', 'fr', 'it', 'ru']);
const BUILT_IN = 'en';
/** An apply waits this long for a package. */
const GET_MS = 120_000;
const SOUNDS = path.join('usr', 'share', 'asterisk', 'sounds');

export interface LanguagesOptions {
  readonly instance: Instance;
  /** Null until it is known. */
  readonly program: () => AsteriskProgram | null;
  /** Gets Debian packages; rejects where they cannot be had. */
  readonly obtain: (packages: readonly string[], signal?: AbortSignal) => Promise<UnpackedPackages>;
}
const isFilled = async (folder: string): Promise<boolean> =>
  (await readdir(folder).catch(() => [])).length > 0;

export class Languages {
  readonly #options: LanguagesOptions;

  constructor(options: LanguagesOptions) {
    this.#options = options;
  }
  /**
   * Makes the sounds of these languages ready to be played; English ones are heard instead of those that a language lacks.
   * Resolves with a problem for each language without sounds.
   */
  async prepare(languages: readonly string[], signal?: AbortSignal): Promise<readonly EngineProblem[]> {
    const { instance, program } = this.#options;
    const others = languages.filter((one) => one !== BUILT_IN);
    if (others.length === 0) return [];
    const found = program();
    if (found !== null) await linkData(instance, found);
    const problems: EngineProblem[] = [];
    for (const language of others) {
      const words = await this.#get(language, signal);
      if (words !== null) problems.push({ object: `language ${language}`, file: null, words });
    }
    await linkFallback(instance);
    return problems;
  }
  /** Null where the sounds are there now, else the reason. */
  async #get(language: string, signal?: AbortSignal): Promise<string | null> {
    const { instance, obtain } = this.#options;
    if (await isFilled(languageFolder(instance, language))) return null;
    if (!PACKAGED.has(language)) return 'there are no sounds for this language';
    const late = AbortSignal.timeout(GET_MS);
    const over = signal === undefined ? late : AbortSignal.any([signal, late]);
    try {
      const { root } = await obtain([`asterisk-core-sounds-${language}-gsm`], over);
      const names = await readdir(path.join(root, SOUNDS)).catch(() => []);
      const voice = names.find((name) => name.startsWith(`${language}_`));
      if (voice === undefined) return 'the package of its sounds holds none';
      await linkLanguage(instance, language, path.join(root, SOUNDS, voice));
      return null;
    } catch (error) {
      signal?.throwIfAborted();
      return `its sounds could not be downloaded: ${messageOf(error)}`;
    }
  }
}
