/** Data of time zones on this machine, which the engine reads by name; without it the engine would use UTC. */
import fs from 'node:fs';
import path from 'node:path';

const FOLDER = '/usr/share/zoneinfo';
/**
 * Name under which this machine has the data of a zone; null where it has none. Node uses former names, such as `Europe/Kiev`,
 * which Debian leaves out since version 13; its list of links then has the present name.
 */
export function installedZone(zone: string, folder = FOLDER): string | null {
  const has = (name: string): boolean => fs.existsSync(path.join(folder, name));
  if (has(zone)) return zone;
  const list = path.join(folder, 'tzdata.zi');
  const lines = fs.existsSync(list) ? fs.readFileSync(list, 'utf8').split('\n') : [];
  const link = lines.find((line) => line.startsWith('L ') && line.endsWith(` ${zone}`));
  const present = link?.split(' ')[1];
  return present !== undefined && has(present) ? present : null;
}
