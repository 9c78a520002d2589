/** Music on hold: the engine's own, and the classes of the site. */
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import type { Site } from '../../../ports/site.ts';
import { soundFile } from './sound-text.ts';
import { conf, joined, slug } from './text.ts';
import type { ConfText } from './text.ts';

const DEFAULT = 'default';
/** How the engine knows a class; null is what everybody hears who chose nothing, and so is a class of that name. */
export function musicClass(name: string | null, what: string): ConfText {
  const plain = slug(name ?? DEFAULT, what);
  return plain === DEFAULT ? plain : conf`music-${plain}`;
}
function playlist(c: ConfigBody<'music_class'>, site: Site, folder: string): ConfText {
  const what = `music class ${c.name}`;
  const entries = c.prompts.map(
    (prompt) => conf`entry = ${soundFile({ prompt }, site, folder, `${what}: prompt`)}
`,
  );
  return conf`
[${musicClass(c.name, 'the name of a music class')}]
mode = playlist
${
  c.order === 'random'
    ? conf`sort = random
`
    : conf``
}${joined(entries, '')}
`;
}

export const musicConf = (site: Site, folder: string): ConfText => conf`
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
  site.music_classes.map((c) => playlist(c, site, folder)),
  '',
)}#tryinclude custom/musiconhold.conf
`;
