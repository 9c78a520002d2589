/** Voicemail belongs to the person it was left for, not to the number: a later holder of the number cannot play it. */
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { missing } from '../../core/files.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MailboxOwner } from '../../ports/engine-config.ts';
import type { Instance } from './conf/instance.ts';

const DAY_MS = 86_400_000;
/** Days for which messages of a deleted person are kept, in case an earlier version restores the person. */
export const KEPT_DAYS = 30;
const NUMBER = /^[1-9][0-9]{1,9}$/;

/**
 * Moves the folders of mailboxes with another or no owner aside, and restores those of an owner who has the number again. Can
 * be repeated and reversed. Throws errors of the file system.
 */
export async function moveMailboxes(
  instance: Instance,
  owners: readonly MailboxOwner[],
  clock: Clock,
): Promise<void> {
  const here = path.join(instance.folder, 'spool', 'voicemail', 'default');
  const aside = path.join(instance.folder, 'spool', 'voicemail-aside');
  const moves = owners.filter(({ number }) => NUMBER.test(number));
  for (const { number, from } of moves) {
    if (from === null) continue;
    await mkdir(aside, { recursive: true, mode: 0o750 });
    await rename(path.join(here, number), path.join(aside, `${number}-${from}`)).catch(missing);
  }
  const kept = new Set((await readdir(aside).catch(missing)) ?? []);
  for (const { number, to } of moves) {
    const own = `${number}-${to}`;
    if (!kept.delete(own)) continue;
    await mkdir(here, { recursive: true, mode: 0o750 });
    await rename(path.join(aside, own), path.join(here, number)).catch((error: unknown) => {
      // A message arrived meanwhile: it belongs to the owner too, and the older ones stay aside.
      if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    });
  }
  for (const name of kept) {
    const { ctimeMs } = await stat(path.join(aside, name));
    if (ctimeMs < clock.now() - KEPT_DAYS * DAY_MS)
      await rm(path.join(aside, name), { recursive: true, force: true });
  }
}
