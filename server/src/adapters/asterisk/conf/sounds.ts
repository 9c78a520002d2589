/**
 * How the configuration names sounds. Uploaded ones are named by their absolute path without an ending, so that the live
 * engine and one that only proves a configuration play the same file, and no link is needed in folders that sites share.
 */
import type { SoundRef } from '@offhook/contract/config-objects.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { Site } from '../../../ports/site.ts';
import { soundsDir } from '../instance.ts';
import type { Instance } from '../instance.ts';
import { conf, joined, soundFolder, soundId, soundName } from './text.ts';
import type { ConfText } from './text.ts';

/** An uploaded sound by its id, for a dialplan step, a queue's announcement or an entry of a music class. */
export const soundPath = (instance: Instance, id: string): ConfText =>
  conf`${soundFolder(soundsDir(instance), 'the folder of sounds')}/${soundId(id, 'a sound')}`;

const promptPath = (site: Site, instance: Instance, name: string, what: string): ConfText => {
  const prompt = site.prompts.find((p) => p.name === name);
  if (prompt !== undefined) return soundPath(instance, prompt.sound);
  throw new ServiceError('invalid_request', `${what}: there is no prompt ${JSON.stringify(name)}`);
};
/** A sound as an object of the configuration names it: a prompt of the site, or one the engine brought along. */
export const soundOf = (site: Site, instance: Instance, ref: SoundRef, what: string): ConfText =>
  'prompt' in ref ? promptPath(site, instance, ref.prompt, what) : soundName(ref.built_in, what);

/** The lines of a music class that say what it plays, in its order. */
export const musicLines = (
  site: Site,
  instance: Instance,
  c: Site['music_classes'][number],
): ConfText => conf`
mode = playlist
${
  c.order === 'random'
    ? conf`sort = random
`
    : conf``
}${joined(
  c.prompts.map(
    (name) => conf`entry = ${promptPath(site, instance, name, `music class ${c.name}`)}
`,
  ),
  '',
)}`;
