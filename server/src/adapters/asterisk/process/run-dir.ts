import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** The path of a unix socket holds 108 bytes with its closing NUL; the control socket has the longest name. */
const LONGEST = 107;
const LONGEST_NAME = 'asterisk.ctl';

/**
 * The folder for the control socket and the pid file: inside the engine's folder where its path is short enough for a socket,
 * else in the system's temporary folder, named after the data folder.
 */
export function chooseRunDir(dataFolder: string): string {
  const inside = path.join(path.resolve(dataFolder), 'engine', 'run');
  if (Buffer.byteLength(path.join(inside, LONGEST_NAME)) <= LONGEST) return inside;
  const hash = createHash('sha256').update(path.resolve(dataFolder)).digest('hex').slice(0, 16);
  return path.join(os.tmpdir(), `offhook-${hash}`);
}

/**
 * Creates `runDir` for this user only. Throws when it belongs to another user or is a link: in a shared temporary folder
 * another user could have created it to reach the engine's control socket.
 */
export function makeRunDir(runDir: string): void {
  fs.mkdirSync(runDir, { recursive: true, mode: 0o700 });
  const stat = fs.lstatSync(runDir);
  if (!stat.isDirectory() || (process.getuid && stat.uid !== process.getuid())) {
    throw new Error(`${runDir} is not a folder of this user; remove it, or set TMPDIR to a private folder`);
  }
  if ((stat.mode & 0o077) !== 0) fs.chmodSync(runDir, 0o700);
}
