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
 * is made instead of it, since it may not be mounted.
 */
export function shareFiles(data: string, shared: string): void {
  if (fs.statSync(shared, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new ConfigError(`OFFHOOK_SHARED_FILES: ${shared} is no folder; mount or make it`);
  for (const name of SHARED) {
    const [own, target] = [path.join(data, name), path.join(shared, name)];
    try {
      makeFolder(target);
      link(own, target);
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      throw new ConfigError(`OFFHOOK_SHARED_FILES: ${target}: ${messageOf(error)}`);
    }
  }
}
function link(own: string, target: string): void {
  const found = fs.lstatSync(own, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true) {
    if (fs.readlinkSync(own) === target) return;
    fs.unlinkSync(own);
  } else if (found !== undefined) {
    if (fs.readdirSync(own).length > 0)
      throw new ConfigError(`OFFHOOK_SHARED_FILES: ${own} has files; move them to ${target} and start again`);
    fs.rmdirSync(own);
  }
  fs.symlinkSync(target, own);
}
