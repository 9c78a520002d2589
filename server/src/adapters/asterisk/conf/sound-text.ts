/** How a sound is named for the engine: one of its own by its name, an uploaded one by the path of its file without the ending. */
import path from 'node:path';
import type { SoundRef } from '@offhook/contract/config-objects.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { Site } from '../../../ports/site.ts';
import { conf, filePath, soundId, soundName } from './text.ts';
import type { ConfText } from './text.ts';

/** Variable of the dialplan that holds the folder of the uploaded ones. */
const FOLDER = conf`OFFHOOK_SOUNDS`;
function uploaded(name: string, site: Site, what: string): ConfText {
  const prompt = site.prompts.find((p) => p.name === name);
  if (prompt === undefined)
    throw new ServiceError('invalid_request', `${what}: there is no prompt ${JSON.stringify(name)}`);
  return soundId(prompt.sound, `prompt ${name}: sound`);
}
/** In a step of the dialplan. */
export const soundStep = (ref: SoundRef, site: Site, what: string): ConfText =>
  'built_in' in ref ? soundName(ref.built_in, what) : conf`$\{${FOLDER}}/${uploaded(ref.prompt, site, what)}`;
/** A comma or an & would be the end of the name wherever sounds are listed. */
const folderText = (folder: string): ConfText => {
  if (/[,&]/.test(folder))
    throw new ServiceError('invalid_request', 'the folder of the sounds must not hold , or &');
  return filePath(path.join(folder), 'the folder of the sounds');
};
/** In any other file; `folder` is where the uploaded ones lie. */
export const soundFile = (ref: SoundRef, site: Site, folder: string, what: string): ConfText =>
  'built_in' in ref
    ? soundName(ref.built_in, what)
    : conf`${folderText(folder)}/${uploaded(ref.prompt, site, what)}`;
/** Nothing of it stands in the dialplan of a site without uploaded sounds. */
export const soundGlobals = (site: Site, folder: string): ConfText =>
  site.prompts.length === 0
    ? conf``
    : conf`
[globals]
${FOLDER} = ${folderText(folder)}

`;
