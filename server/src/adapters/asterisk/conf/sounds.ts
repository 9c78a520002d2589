/**
 * How the configuration names sounds. Uploaded ones are named by their absolute path without an ending, so that the live
 * engine and one that only proves a configuration play the same file, and no link is needed in folders that sites share.
 */
import type { SoundRef } from '@offhook/contract/config-fields.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { Site } from '../../../ports/site.ts';
import { soundsDir } from './instance.ts';
import type { Instance } from './instance.ts';
import { conf, joined, soundFolder, soundId, soundName } from './text.ts';
import type { ConfText } from './text.ts';

const folderOf = (instance: Instance): ConfText => soundFolder(soundsDir(instance), 'the folder of sounds');
/** An uploaded sound by its id, for a dialplan step, a queue's announcement or an entry of a music class. */
export const soundPath = (instance: Instance, id: string): ConfText =>
  conf`${folderOf(instance)}/${soundId(id, 'a sound')}`;

function promptOf(site: Site, name: string, what: string): Site['prompts'][number] {
  const prompt = site.prompts.find((p) => p.name === name);
  if (prompt !== undefined) return prompt;
  throw new ServiceError('invalid_request', `${what}: there is no prompt ${JSON.stringify(name)}`);
}
const promptPath = (site: Site, instance: Instance, name: string, what: string): ConfText =>
  soundPath(instance, promptOf(site, name, what).sound);
/** A sound as an object of the configuration names it: a prompt of the site, or one the engine brought along. */
export const soundOf = (site: Site, instance: Instance, ref: SoundRef, what: string): ConfText =>
  'prompt' in ref ? promptPath(site, instance, ref.prompt, what) : soundName(ref.built_in, what);

/** Variable of the dialplan that holds the folder, so that its steps are the same for every instance. */
const FOLDER = conf`OFFHOOK_SOUNDS`;
/** `soundOf` in a step of the dialplan. */
export const soundStep = (site: Site, ref: SoundRef, what: string): ConfText =>
  'prompt' in ref
    ? conf`$\{${FOLDER}}/${soundId(promptOf(site, ref.prompt, what).sound, 'a sound')}`
    : soundName(ref.built_in, what);
/** The dialplan of a site without prompts has none of it. */
export const soundGlobals = (site: Site, instance: Instance): ConfText =>
  site.prompts.length === 0
    ? conf``
    : conf`${FOLDER} = ${folderOf(instance)}
`;

/** The lines of a music class that name its sounds, in order. */
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
