/** Messages and greetings in the spool of an engine, also those that were moved aside (mailbox-folders.ts). */
import { hash } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { readFile, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { isSystemError, missing, textOf } from '../../core/files.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  Voicemail,
  VoicemailAudio,
  VoicemailItem,
  VoicemailMessage,
  VoicemailPage,
} from '../../ports/voicemail.ts';
import { AmiConnection } from './ami/connection.ts';
import type { Instance } from './conf/instance.ts';
import { ASIDE, asideDir, mailboxesDir, spoolDir } from './mailbox-folders.ts';
import { MailboxLocks, entriesOf, foldersIn } from './mailbox-locks.ts';

/*
 * <mailbox>/<folder>/msg0000.txt    ; comments, [message], then one key=value a line: origmailbox= rdnis=(unknown|number)
 *                                   callerid=("name" <number>|number|name|Unknown) origtime=(unix seconds) duration=(seconds)
 *                                   written as key = value, with \; for ;, once it was forwarded with a comment
 * <mailbox>/<folder>/msg0000.wav    its audio; msg0000intro.wav: what was said when it was forwarded
 * <mailbox>/<folder>/msg0000-bak.*  text and audio before that comment
 * <mailbox>/tmp/Ab3dE9[.wav]        text and audio of a message that is being left
 * <mailbox>/unavail.wav             a greeting
 */
const MESSAGE = /^(msg[0-9]{4,})/;
const UNFINISHED = /^([A-Za-z0-9]{6})(?:\.|$)/;
const GREETING = /^(busy|greet|temp|unavail)\./;
const UNFINISHED_FOLDER = 'tmp';
/** Another node sends stems; they must not lead out of the spool. */
const STEM = /^voicemail(?:\/default|-aside)(?:\/(?!\.)[^/]+){2,3}$/;
/** Time after which a message that was being left is one that the engine abandoned when it ended. */
const ABANDONED_MS = 3_600_000;

type Box = Pick<VoicemailItem, 'mailbox' | 'former_owner'>;
interface Found {
  readonly items: VoicemailItem[];
  unread: number;
}
/** Number of items after which a page ends with the mailbox that was read. */
const PAGE_ITEMS = 1_000;
const LAMPS_MS = 5_000;

/** Names of files by the first group of `pattern`. */
function grouped(pattern: RegExp, entries: readonly Dirent[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const entry of entries) {
    const base = entry.isFile() ? pattern.exec(entry.name)?.[1] : undefined;
    if (base !== undefined) found.set(base, [...(found.get(base) ?? []), entry.name]);
  }
  return found;
}

/** The name of the file with what the engine stored about a message; it has no ending while the message is being left. */
const aboutOf = (base: string): string => (MESSAGE.test(base) ? `${base}.txt` : base);
const markOf = (text: string): string => hash('sha256', text, 'base64url');

function messageIn(text: string, folder: string): VoicemailMessage {
  const fields = new Map(
    text.split('\n').map((line) => {
      const at = line.indexOf('=');
      const value = line
        .slice(at + 1)
        .trim()
        .replaceAll('\\;', ';');
      return [line.slice(0, Math.max(at, 0)).trim(), value] as const;
    }),
  );
  const value = (key: string): string | null => fields.get(key) || null;
  const number = (key: string): number | null => {
    const found = value(key) ?? '';
    return /^[0-9]{1,11}$/.test(found) ? Number(found) : null;
  };
  const received = number('origtime');
  const redirected_by = value('rdnis');
  return {
    folder,
    left_for: value('origmailbox'),
    ...callerIn(value('callerid') ?? 'Unknown'),
    redirected_by: redirected_by === 'unknown' ? null : redirected_by,
    received_ms: received === null ? null : received * 1000,
    seconds: number('duration'),
  };
}
function callerIn(text: string): Pick<VoicemailMessage, 'caller_number' | 'caller_name'> {
  if (text === 'Unknown') return { caller_number: null, caller_name: null };
  const at = text.endsWith('>') ? text.lastIndexOf('<') : -1;
  if (at !== -1) {
    const name = text.slice(0, at).trim().replace(/^"/, '').replace(/"$/, '').replaceAll(/\\(.)/g, '$1');
    return { caller_number: text.slice(at + 1, -1) || null, caller_name: name || null };
  }
  const isNumber = /^[+*#0-9]+$/.test(text);
  return { caller_number: isNumber ? text : null, caller_name: isNumber ? null : text };
}

/** See `Voicemail`. */
export class MailboxMessages implements Voicemail {
  readonly #instance: Instance;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #locks: MailboxLocks;

  constructor(instance: Instance, { clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#instance = instance;
    this.#clock = clock;
    this.#log = log;
    this.#locks = new MailboxLocks(clock);
  }
  async page(after: string | null, signal: AbortSignal): Promise<VoicemailPage> {
    const found: Found = { items: [], unread: 0 };
    for (const { place, folder, ...of } of await this.#mailboxes()) {
      if (after !== null && place <= after) continue;
      signal.throwIfAborted();
      await this.#read(found, () => this.#mailbox(found, folder, of, signal));
      if (found.items.length >= PAGE_ITEMS) return { ...found, next: place };
    }
    return { ...found, next: null };
  }
  async audio(item: VoicemailItem, signal: AbortSignal): Promise<readonly VoicemailAudio[] | null> {
    return await this.#with(item, signal, async (folder, names) => {
      const about = item.message === null ? null : aboutOf(path.basename(item.stem));
      const audio = names.filter((name) => name !== about && !name.endsWith('.txt'));
      const files = await Promise.all(
        audio.map(async (name) => {
          const bytes = await readFile(path.join(folder, name)).catch(missing);
          return bytes === null ? null : { name, bytes };
        }),
      );
      // No lock keeps the owner from replacing a greeting meanwhile.
      const found = files.filter((file) => file !== null);
      return found.length === 0 && audio.length > 0 ? null : found;
    });
  }
  async remove(items: readonly VoicemailItem[], signal: AbortSignal): Promise<number> {
    const changed = new Set<string>();
    let removed = 0;
    try {
      for (const item of items) {
        signal.throwIfAborted();
        if (!(await this.#delete(item, signal))) continue;
        removed += 1;
        if (item.message !== null && item.former_owner === null) changed.add(item.mailbox);
      }
    } finally {
      if (changed.size > 0) await this.#showLamps([...changed]);
    }
    return removed;
  }

  /** In the order of `place`: those that were moved aside come last, so that one that is moved meanwhile is found there. */
  async #mailboxes() {
    const found = foldersIn(await entriesOf(mailboxesDir(this.#instance))).map((mailbox) => ({
      place: `a/${mailbox}`,
      folder: path.join(mailboxesDir(this.#instance), mailbox),
      mailbox,
      former_owner: null as number | null,
    }));
    for (const name of foldersIn(await entriesOf(asideDir(this.#instance)))) {
      const [, mailbox, owner] = ASIDE.exec(name) ?? [];
      if (mailbox === undefined) continue;
      const folder = path.join(asideDir(this.#instance), name);
      found.push({ place: `b/${name}`, folder, mailbox, former_owner: Number(owner) });
    }
    return found.toSorted((a, b) => (a.place < b.place ? -1 : 1));
  }
  async #mailbox(found: Found, folder: string, of: Box, signal: AbortSignal): Promise<void> {
    const entries = await entriesOf(folder);
    for (const base of grouped(GREETING, entries).keys())
      found.items.push({ ...of, stem: this.#stemOf(folder, base), mark: '', message: null });
    for (const name of foldersIn(entries)) {
      signal.throwIfAborted();
      await this.#read(found, () => this.#folder(found, path.join(folder, name), of));
    }
  }
  async #folder(found: Found, folder: string, of: Box): Promise<void> {
    const name = path.basename(folder);
    await this.#locks.endLeft(folder);
    const entries = await entriesOf(folder);
    const pattern = name === UNFINISHED_FOLDER ? UNFINISHED : MESSAGE;
    for (const [base, names] of grouped(pattern, entries))
      await this.#read(found, async () => {
        if (name === UNFINISHED_FOLDER && !(await this.#isAbandoned(folder, names))) return;
        const text = (await textOf(path.join(folder, aboutOf(base)))) ?? '';
        const message = messageIn(text, name);
        found.items.push({ ...of, stem: this.#stemOf(folder, base), mark: markOf(text), message });
      });
  }
  /** Counts a file or folder that cannot be read, so that the search finds all others. */
  async #read(found: Found, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isSystemError(error)) throw error;
      this.#log.warn({ error: messageOf(error) }, 'voicemail could not be read');
      found.unread += 1;
    }
  }
  /** False where the item is not there, is locked, or has a file that cannot be deleted. */
  async #delete(item: VoicemailItem, signal: AbortSignal): Promise<boolean> {
    try {
      const done = await this.#with(item, signal, async (folder, names) => {
        // Last, because an item is found by this file after an interruption.
        const about = aboutOf(path.basename(item.stem));
        for (const name of names.toSorted((a, b) => Number(a === about) - Number(b === about)))
          await unlink(path.join(folder, name)).catch(missing);
        return true;
      });
      return done !== null;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      this.#log.warn({ error: messageOf(error) }, 'a voicemail message could not be deleted');
      return false;
    }
  }
  async #isAbandoned(folder: string, names: readonly string[]): Promise<boolean> {
    const found = await Promise.all(names.map((name) => stat(path.join(folder, name)).catch(missing)));
    return found.every((file) => file === null || file.mtimeMs < this.#clock.now() - ABANDONED_MS);
  }
  #stemOf(folder: string, base: string): string {
    return path.relative(spoolDir(this.#instance), path.join(folder, base));
  }
  /** Calls `work` with the files of the item while the engine leaves its folder alone. Null where the item is not there. */
  async #with<T>(
    { stem, mark, message }: Pick<VoicemailItem, 'stem' | 'mark' | 'message'>,
    signal: AbortSignal,
    work: (folder: string, names: readonly string[]) => Promise<T>,
  ): Promise<T | null> {
    if (!STEM.test(stem)) throw new Error('not the path of a message or a greeting');
    const folder = path.join(spoolDir(this.#instance), path.dirname(stem));
    const base = path.basename(stem);
    const pattern = message === null ? GREETING : message.folder === UNFINISHED_FOLDER ? UNFINISHED : MESSAGE;
    const inFolder = async (): Promise<T | null> => {
      const names = grouped(pattern, await entriesOf(folder)).get(base);
      if (names === undefined) return null;
      if (message !== null && markOf((await textOf(path.join(folder, aboutOf(base)))) ?? '') !== mark)
        return null;
      return await work(folder, names);
    };
    return message === null ? await inFolder() : await this.#locks.during(folder, signal, inFolder);
  }
  /** The engine reads a mailbox that it did not change itself only when it is asked to. */
  async #showLamps(mailboxes: readonly string[]): Promise<void> {
    const options = { clock: this.#clock, log: this.#log, signal: AbortSignal.timeout(LAMPS_MS) };
    try {
      const ami = await AmiConnection.forActions(this.#instance, options);
      try {
        for (const Mailbox of mailboxes) {
          const { ok, message } = await ami.action('VoicemailRefresh', { Context: 'default', Mailbox });
          if (!ok) throw new Error(message);
        }
      } finally {
        ami.close();
      }
    } catch (error) {
      // An engine that starts reads every mailbox.
      this.#log.warn({ error: messageOf(error) }, 'lamps may still show messages that were deleted');
    }
  }
}
