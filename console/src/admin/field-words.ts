/** Labels of fields, options and kinds; a kind's own label has priority over the common one. */
import { language, wordsOf } from '../app/words.ts';
import type { WordOf } from '../app/words.ts';
import { formatNumber } from '../app/format.ts';

type Key = WordOf<'fields'>;
const t = wordsOf('fields');
function first(keys: readonly string[]): Key | null {
  return keys.find((key) => t.has(key)) ?? null;
}
const said = (keys: readonly string[], instead: string): string => {
  const key = first(keys);
  return key === null ? instead : t(key);
};
/** `name` is the last part of a path that is no index. */
export const fieldLabel = (kind: string, name: string): string =>
  said([`l_${kind}_${name}`, `l_${name}`], name);
/** Label of a list's add button; empty if the list has none. */
export const fieldAdd = (kind: string, name: string): string => said([`a_${kind}_${name}`, `a_${name}`], '');
export const fieldHelp = (kind: string, name: string): string => said([`h_${kind}_${name}`, `h_${name}`], '');
export const optionLabel = (name: string, option: string): string =>
  said([`o_${name}_${option}`, `o_${option}`], option);
export const kindName = (kind: string): string => said([`k_${kind}`], kind);
export const kindNames = (kind: string): string => said([`ks_${kind}`], kind);
/** Case of a kind within a sentence, e.g. `new queue`: German keeps its capital. */
const within = (name: string): string => (language() === 'de' ? name : name.toLocaleLowerCase(language()));
/** Values for a sentence about a kind. */
export const kindWords = (kind: string): { readonly kind: string; readonly kinds: string } => ({
  kind: within(kindName(kind)),
  kinds: within(kindNames(kind)),
});
export const groupName = (group: string): string => said([`g_${group}`], group);
/** Label of a path: `members.3.extension` is `Members › 4 › Extension`. */
export const pathLabel = (kind: string, path: string): string =>
  path
    .split('.')
    .filter((part) => part !== '')
    .map((part) => (/^\d+$/.test(part) ? formatNumber(Number(part) + 1) : fieldLabel(kind, part)))
    .join(' › ');
