/** Voicemail belongs to the person it was left for, not to the number: a later holder of the number cannot play it. */
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { missing, replaceFile, textOf } from '../../core/files.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Site } from '../../ports/site.ts';
import type { Instance } from './conf/instance.ts';
import { endLocks, entriesOf, foldersIn } from './mailbox-locks.ts';

const DAY_MS = 86_400_000;
/** Days for which messages of a deleted person are kept, in case an earlier version restores the person. */
export const KEPT_DAYS = 30;
const NUMBER = /^[1-9][0-9]{1,9}$/;
/** Folder of messages that were moved aside: number, id of the owner, and a count if the owner had one already. */
export const ASIDE = /^([1-9][0-9]{1,9})-([0-9]{1,16})(?:-[0-9]{1,9})?$/;
/** Folder of the engine with its mailboxes and what belongs to them. */
export const spoolDir = ({ folder }: Pick<Instance, 'folder'>): string => path.join(folder, 'spool');
export const mailboxesDir = (instance: Pick<Instance, 'folder'>): string =>
  path.join(spoolDir(instance), 'voicemail', 'default');
/** Folder of the messages of former holders of numbers. */
export const asideDir = (instance: Pick<Instance, 'folder'>): string =>
  path.join(spoolDir(instance), 'voicemail-aside');
/**
 * Ends the locks that an earlier process left in folders of mailboxes: the engine loses each message that is left for a locked
 * folder. Throws errors of the file system.
 */
export async function endLeftLocks(instance: Pick<Instance, 'folder'>): Promise<void> {
  for (const parent of [mailboxesDir(instance), asideDir(instance)])
    for (const mailbox of foldersIn(await entriesOf(parent))) await endLocks(path.join(parent, mailbox));
}
/** A mailbox in the engine's file: its number and PIN. */
const PIN = /^([1-9][0-9]{1,9}) => ([0-9]{4,12}),/gm;
const pinsIn = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(PIN)].map(([, number, pin]) => [number!, pin!]));
/** Folder of PINs that people chose by phone and a new PIN of the engine's file ended: number and former PIN of the file. */
const endedPinsDir = (instance: Pick<Instance, 'folder'>): string =>
  path.join(spoolDir(instance), 'voicemail-pins');
const chosenPin = (instance: Pick<Instance, 'folder'>, number: string): string =>
  path.join(mailboxesDir(instance), number, 'secret.conf');
/**
 * Ends the PINs that people chose by phone for mailboxes whose PIN differs between two texts of the engine's file: the engine
 * reads a chosen PIN instead of the one in its file. They are kept until the next call, for `restoreChosenPins`. Call before the
 * file is written, so that no interruption leaves a chosen PIN beside a new one. Throws errors of the file system.
 */
export async function endChosenPins(
  instance: Pick<Instance, 'folder'>,
  former: string,
  text: string,
): Promise<void> {
  const ended = endedPinsDir(instance);
  await rm(ended, { recursive: true, force: true });
  const after = pinsIn(text);
  const changed = [...pinsIn(former)].filter(([number, pin]) => (after.get(number) ?? pin) !== pin);
  if (changed.length === 0) return;
  await mkdir(ended, { recursive: true, mode: 0o750 });
  for (const [number, pin] of changed)
    await rename(chosenPin(instance, number), path.join(ended, `${number}-${pin}`)).catch(missing);
}
/**
 * Restores ended PINs of mailboxes that have their former PIN in the text of the engine's file again, or still; `read` is called
 * only where there are ended PINs. Throws errors of the file system.
 */
export async function restoreChosenPins(
  instance: Pick<Instance, 'folder'>,
  read: () => Promise<string | null>,
): Promise<void> {
  const ended = endedPinsDir(instance);
  const names = (await readdir(ended).catch(missing)) ?? [];
  if (names.length === 0) return;
  const pins = new Set([...pinsIn((await read()) ?? '')].map((pin) => pin.join('-')));
  for (const name of names)
    if (pins.has(name))
      await rename(path.join(ended, name), chosenPin(instance, name.split('-')[0]!)).catch(missing);
}
const Owners = z.record(z.string().regex(NUMBER), z.int().positive());

/** True if it was moved, or does not exist; false where the target has messages. */
async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    missing(error);
  }
  // Work that began before the move cannot end its locks, because it knows the former path.
  await endLocks(to);
  return true;
}
/** Owner of each number for whom its folder has messages; empty before the first move. Throws if it is damaged. */
async function readOwners(file: string): Promise<ReadonlyMap<string, number>> {
  const text = await textOf(file);
  if (text === null) return new Map();
  try {
    return new Map(Object.entries(Owners.parse(JSON.parse(text))));
  } catch {
    throw new Error(
      `${file} is damaged, so no mailbox is moved: restore it from a backup, or delete it if every number still has the person for whom its messages were left`,
    );
  }
}

/**
 * Moves the folders of mailboxes with another or no owner aside, and restores those of an owner who has the number again. It
 * compares `wanted`, the owners of the whole site, with `spool/voicemail-owners.json`, and can be repeated after a crash at any
 * step. A folder that is not recorded belongs to the wanted owner of its number. Throws errors of the file system, and an error
 * for a damaged record.
 */
export async function moveMailboxes(
  instance: Instance,
  wanted: Site['mailbox_owners'],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  if (wanted === undefined) return;
  const here = mailboxesDir(instance);
  const aside = asideDir(instance);
  const record = path.join(spoolDir(instance), 'voicemail-owners.json');
  const before = await readOwners(record);
  const owners = new Map(Object.entries(wanted));
  for (const [number, owner] of before) {
    if (owners.get(number) === owner) continue;
    await mkdir(aside, { recursive: true, mode: 0o750 });
    const own = `${number}-${owner}`;
    for (let n = 1; !(await moved(path.join(here, number), path.join(aside, n === 1 ? own : `${own}-${n}`)));)
      n += 1;
  }
  // A number without an owner keeps its last one, to whom a message belongs that is left until the engine reloads.
  const after = new Map([...before, ...owners]);
  if ([...after].some(([number, owner]) => before.get(number) !== owner))
    await replaceFile(record, `${JSON.stringify(Object.fromEntries(after))}\n`);
  for (const name of ((await readdir(aside).catch(missing)) ?? []).toSorted()) {
    const [, number = '', owner] = ASIDE.exec(name) ?? [];
    const folder = path.join(aside, name);
    if (owners.get(number) === Number(owner)) {
      await mkdir(here, { recursive: true, mode: 0o750 });
      if (!(await moved(folder, path.join(here, number))))
        log.warn({ folder }, 'older messages of a mailbox stay aside: its owner has newer ones');
      continue;
    }
    const { ctimeMs } = await stat(folder);
    if (ctimeMs < clock.now() - KEPT_DAYS * DAY_MS) await rm(folder, { recursive: true, force: true });
  }
}
