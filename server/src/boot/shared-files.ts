/** The files of a site that every engine node must reach: links of the data folder into one that all of them have. */
import fs from 'node:fs';
import path from 'node:path';
import { messageOf } from '../core/errors.ts';
import { makeFolder } from '../core/folders.ts';
import { ConfigError } from './config.ts';

/** Folders of the data folder. What the engine alone writes, such as its call records and voicemail, stays where it is. */
export const SHARED = ['recordings', 'exports', 'privacy', 'sounds'] as const;

/**
 * Makes each of these folders a link into `shared`. Throws `ConfigError` where one still has files, or `shared` is not there: nothing
 * is made in its place, which may be where it is not mounted.
 */
export function shareFiles(data: string, shared: string): void {
  if (fs.statSync(shared, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new ConfigError(`OFFHOOK_SHARED_FILES: ${shared} is no folder; mount or make it`);
  for (const name of SHARED) {
    const [place, target] = [path.join(data, name), path.join(shared, name)];
    try {
      makeFolder(target);
      link(place, target);
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      throw new ConfigError(`OFFHOOK_SHARED_FILES: ${target}: ${messageOf(error)}`);
    }
  }
}
function link(place: string, target: string): void {
  const found = fs.lstatSync(place, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true) {
    if (fs.readlinkSync(place) === target) return;
    fs.unlinkSync(place);
  } else if (found !== undefined) {
    if (fs.readdirSync(place).length > 0)
      throw new ConfigError(
        `OFFHOOK_SHARED_FILES: ${place} has files; move them to ${target} and start again`,
      );
    fs.rmdirSync(place);
  }
  fs.symlinkSync(target, place);
}
