/** Languages of prompts: which ones the site uses, and the caller's on its own channel. */
import type { Site } from '../../../ports/site.ts';
import { CUSTOMER_LANGUAGE } from './customer-contexts.ts';
import { at, context, exten } from './dialplan-text.ts';
import { conf, joined, language } from './text.ts';
import type { ConfText } from './text.ts';

const nothing = conf``;
const LANGUAGES = conf`languages`;
const speak = (spoken: string, what: string): ConfText =>
  conf`Set(CHANNEL(language)=${language(spoken, what)})`;

/** Languages that objects of the site name, sorted. */
function languagesOf({ extensions, inbound_routes, settings, trunks }: Site): readonly string[] {
  const named = [settings, ...trunks, ...inbound_routes, ...extensions].map((one) => one.language);
  const all = [...named, ...settings.customer_languages];
  return [...new Set(all.filter((one) => one !== null))].sort();
}
const isEnglish = (site: Site): boolean => languagesOf(site).join() === 'en';
/** First steps of an inbound route: its language, then that of the calling customer. */
export const routeLanguage = (spoken: string | null, site: Site, what: string): readonly ConfText[] => [
  ...(spoken === null ? [] : [speak(spoken, `${what}: language`)]),
  ...(isEnglish(site) ? [] : [conf`Gosub(customer-language,s,1)`]),
];
/** Leaves the channel the language of the calling customer, where the engine has its prompts. */
const CUSTOMER = context(conf`customer-language`, [
  exten(conf`s`, [
    conf`GotoIf($\{LEN($\{OFFHOOK_CUSTOMER})}?:over)`,
    conf`Set(LOCAL(SPOKEN)=${CUSTOMER_LANGUAGE})`,
    conf`GotoIf($\{LEN($\{SPOKEN})}?:over)`,
    conf`GotoIf($\{DIALPLAN_EXISTS(languages,$\{SPOKEN},1)}?spoken)`,
    // A customer of `de_AT` hears `de`.
    conf`Set(LOCAL(SPOKEN)=$\{SPOKEN:0:2})`,
    conf`GotoIf($\{DIALPLAN_EXISTS(languages,$\{SPOKEN},1)}?:over)`,
    at(conf`spoken`, conf`Gosub(languages,$\{SPOKEN},1)`),
    at(conf`over`, conf`Return()`),
  ]),
]);
/** A number for each language; nothing where all is English. */
export function languageContexts(site: Site): ConfText {
  if (isEnglish(site)) return nothing;
  const languages = languagesOf(site).map((one) =>
    exten(language(one, 'a language'), [speak(one, 'a language'), conf`Return()`]),
  );
  return joined([context(LANGUAGES, languages), CUSTOMER], '');
}
/** Languages whose sounds the rendered files need. */
export function renderedLanguages(extensionsConf: string): readonly string[] {
  const [, lines = ''] = /^\[languages\]\n((?:[^[\n].*\n)*)/m.exec(extensionsConf) ?? [];
  return [...lines.matchAll(/^exten => ([a-zA-Z_]{2,5}),1,/gm)].map(([, one]) => one!);
}
