/** Languages of prompts: which ones the site uses, and the caller's on its own channel. */
import type { Site } from '../../../ports/site.ts';
import { context, exten } from './dialplan-text.ts';
import { conf, language } from './text.ts';
import type { ConfText } from './text.ts';

const nothing = conf``;
const LANGUAGES = conf`languages`;
const speak = (spoken: string, what: string): ConfText =>
  conf`Set(CHANNEL(language)=${language(spoken, what)})`;

/** Languages that objects of the site name, sorted. */
export function languagesOf({ extensions, inbound_routes, settings, trunks }: Site): readonly string[] {
  const named = [settings, ...trunks, ...inbound_routes, ...extensions].map((one) => one.language);
  return [...new Set(named.filter((one) => one !== null))].sort();
}
/** First steps of an inbound route. */
export const routeLanguage = (spoken: string | null, what: string): readonly ConfText[] =>
  spoken === null ? [] : [speak(spoken, `${what}: language`)];
/** A number for each language; nothing where all is English. */
export function languageContexts(site: Site): ConfText {
  const languages = languagesOf(site);
  if (languages.join() === 'en') return nothing;
  return context(
    LANGUAGES,
    languages.map((one) => exten(language(one, 'a language'), [speak(one, 'a language'), conf`Return()`])),
  );
}
/** Languages whose sounds the rendered files need. */
export function renderedLanguages(extensionsConf: string): readonly string[] {
  const [, lines = ''] = /^\[languages\]\n((?:[^[\n].*\n)*)/m.exec(extensionsConf) ?? [];
  return [...lines.matchAll(/^exten => ([a-zA-Z_]{2,5}),1,/gm)].map(([, one]) => one!);
}
