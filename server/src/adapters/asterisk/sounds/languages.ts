/** Sounds of the languages of a site: the program's own, else Debian's packages. */
import { ENGINE_LANGUAGES } from '@offhook/contract/sounds.ts';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../../../core/errors.ts';
import { say, spoken } from '../../../core/said.ts';
import type { Said } from '../../../core/said.ts';
import type { EngineProblem, Preparation } from '../../../ports/engine-config.ts';
import { promptNames } from '../built-in-sounds.ts';
import { languageSetDir } from '../conf/instance.ts';
import type { AsteriskProgram, Instance } from '../conf/instance.ts';
import { languageFolder, linkData, linkFallback, linkLanguage } from './data-folder.ts';
import type { UnpackedPackages } from '../provision/tree.ts';

/** Languages of Debian's packages with sounds. */
const PACKAGED: ReadonlySet<string> = new Set(ENGINE_LANGUAGES);
/** Prompts that a notice names. */
const NAMED = 20;
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

const lackingText = (lacking: readonly string[]): Said =>
  say`${lacking.length} prompts are heard in English: ${lacking.slice(0, NAMED).join(', ') + (lacking.length > NAMED ? ', …' : '')}`;
const problemOf = (object: string, said: Said | string): EngineProblem => ({
  object,
  file: null,
  words: spoken(said),
  said,
});

export class Languages {
  readonly #options: LanguagesOptions;

  constructor(options: LanguagesOptions) {
    this.#options = options;
  }
  /**
   * Makes the sounds of these languages ready to be played; English ones are heard instead of those that a language lacks.
   * A language without sounds is a problem, one that lacks some of the `needed` prompts a notice.
   */
  async prepare(
    languages: readonly string[],
    needed: readonly string[] = [],
    signal?: AbortSignal,
  ): Promise<Preparation> {
    const { instance, program } = this.#options;
    const others = languages.filter((one) => one !== BUILT_IN);
    const problems: EngineProblem[] = [];
    const notices: EngineProblem[] = [];
    if (others.length === 0) return { problems, notices };
    const found = program();
    if (found !== null) await linkData(instance, found);
    await linkFallback(instance);
    for (const language of others) {
      const object = `language ${language}`;
      const words = await this.#get(language, signal);
      if (words !== null) {
        problems.push(problemOf(object, words));
        continue;
      }
      const lacking = await this.lacking(language, needed);
      if (lacking.length > 0) notices.push(problemOf(object, lackingText(lacking)));
    }
    return { problems, notices };
  }
  /** The `needed` prompts that English has and the language lacks. */
  async lacking(language: string, needed: readonly string[]): Promise<readonly string[]> {
    const [english, own] = await Promise.all(
      [BUILT_IN, language].map(async (one) => new Set(await promptNames(await this.#folder(one)))),
    );
    return needed.filter((name) => english!.has(name) && !own!.has(name));
  }
  /** Folder of the prompts of a language; an unused set is not among the sounds of the engine. */
  async #folder(language: string): Promise<string> {
    const { instance } = this.#options;
    const used = languageFolder(instance, language);
    return (await isFilled(used)) ? used : languageSetDir(instance, language);
  }
  /** Null where the sounds are there now, else the reason. */
  async #get(language: string, signal?: AbortSignal): Promise<Said | string | null> {
    const { instance, obtain } = this.#options;
    if (await isFilled(languageFolder(instance, language))) return null;
    if (!PACKAGED.has(language)) {
      const uploaded = languageSetDir(instance, language);
      if (!(await isFilled(uploaded))) return 'there are no sounds for this language; upload them first';
      await linkLanguage(instance, language, uploaded);
      return null;
    }
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
      return say`its sounds could not be downloaded: ${messageOf(error)}`;
    }
  }
}
