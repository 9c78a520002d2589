/**
 * Language of prompts, such as `de` or `pt_BR`, that a text of another system names: a language tag or locale (`de-AT`,
 * `pt_BR.UTF-8`), or a list by preference (`fr, en;q=0.8`), whose first one counts. Undefined for other text; scripts and
 * longer codes have no prompts.
 */
export function languageOf(text: string): string | undefined {
  const [, language, region] = /^\s*([a-z]{2})(?:[-_]([a-z]{2}))?\s*(?:[,;.@]|$)/i.exec(text) ?? [];
  if (language === undefined) return undefined;
  return region === undefined ? language.toLowerCase() : `${language.toLowerCase()}_${region.toUpperCase()}`;
}
