/** Music on hold: the engine's own, and the classes of the site. */
import type { Site } from '../../../ports/site.ts';
import type { Instance } from './instance.ts';
import { musicLines } from './sounds.ts';
import { conf, joined, slug } from './text.ts';
import type { ConfText } from './text.ts';

const DEFAULT = 'default';
/** Name of a class in the engine; null is the default class, and so is a class of that name. */
export function musicClass(name: string | null, what: string): ConfText {
  const plain = slug(name ?? DEFAULT, what);
  return plain === DEFAULT ? plain : conf`music-${plain}`;
}
export const musicConf = (site: Site, instance: Instance): ConfText => conf`
${
  site.music_classes.some((c) => c.name === DEFAULT)
    ? conf``
    : conf`
[default]
mode = files
directory = moh
sort = random

`
}${joined(
  site.music_classes.map(
    (c) => conf`
[${musicClass(c.name, 'the name of a music class')}]
${musicLines(site, instance, c)}
`,
  ),
  '',
)}#tryinclude custom/musiconhold.conf
`;
