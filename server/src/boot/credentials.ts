import fs from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '../core/files.ts';
import { isDeepStrictEqual } from 'node:util';
import { randomInt } from '../core/chance.ts';
import type { Log } from '../core/log.ts';
import type { Person } from '../ports/directory.ts';
import { Queue } from '../core/queue.ts';
import type { StoredDirectory } from '../features/pbx-config/directory.ts';
import type { PasswordCost } from '../features/sessions/password.ts';
import type { Sessions } from '../features/sessions/service.ts';

export interface Credential {
  readonly extension: string;
  readonly username: string;
  readonly full_name: string;
  readonly level: string;
  /** First password; absent once it was changed. */
  readonly password?: string;
  /** Password with which a desk phone of this extension registers. */
  readonly sip_password: string;
}
/** Without letters and digits that look alike, because people type these. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/** Four groups of four, 80 random bits. */
export const newPassword = (): string =>
  Array.from({ length: 4 }, () =>
    Array.from({ length: 4 }, () => ALPHABET[randomInt(ALPHABET.length, 'password')]).join(''),
  ).join('-');

export const credentialsFile = (data: string): string => path.join(data, 'credentials.json');

/** The credentials of a new site, readable by its owner only; empty where the file is missing or not ours. */
export async function readCredentials(data: string): Promise<readonly Credential[]> {
  try {
    const list: unknown = JSON.parse(await fs.readFile(credentialsFile(data), 'utf8'));
    return Array.isArray(list) ? (list as Credential[]) : [];
  } catch {
    return [];
  }
}

const writeCredentials = (data: string, people: readonly Credential[]): Promise<void> =>
  replaceFile(credentialsFile(data), `${JSON.stringify(people, null, 2)}\n`);

type Listed = Pick<StoredDirectory, 'sipPassword'>;
const entryOf = (directory: Listed, { extension, username, name: full_name, level }: Person): Credential => ({
  extension,
  username,
  full_name,
  level,
  sip_password: directory.sipPassword(extension),
});

/** Creates a password for everyone who cannot sign in yet; the file with them is for the site's owner. */
export async function giveCredentials(
  data: string,
  directory: StoredDirectory,
  sessions: Sessions,
  cost?: PasswordCost,
): Promise<void> {
  const fresh: (Credential & { readonly password: string })[] = [];
  const known = await sessions.withPassword();
  for (const person of directory.people()) {
    if (known.has(person.id)) continue;
    fresh.push({ ...entryOf(directory, person), password: newPassword() });
  }
  if (fresh.length === 0) return;
  const given = new Set(fresh.map(({ extension }) => extension));
  const before = (await readCredentials(data)).filter(({ extension }) => !given.has(extension));
  // The file first: a password that was set but never stored would lock its person out.
  await writeCredentials(data, [...before, ...fresh]);
  // A few at a time: more than the queue of key derivations accepts would be rejected.
  const rest = fresh.values();
  const give = async (): Promise<void> => {
    for (const { extension, password } of rest) {
      const person = directory.byExtension(extension);
      if (person !== undefined) await sessions.setPassword(person.id, password, cost);
    }
  };
  await Promise.all(Array.from({ length: 8 }, give));
}

/**
 * Keeps the file current until the returned function is called: an entry disappears with its extension and follows its SIP
 * password, and a first password disappears once it was changed. A file that its owner deleted stays deleted.
 */
export async function keepCredentials(
  data: string,
  {
    directory,
    sessions,
    log,
  }: {
    readonly directory: Listed & Pick<StoredDirectory, 'byExtension' | 'onChange'>;
    readonly sessions: Pick<Sessions, 'onPasswordChanged'>;
    readonly log: Log;
  },
): Promise<() => Promise<void>> {
  const queue = new Queue();
  const revise = (changed: number | null): Promise<void> =>
    queue.run(async () => {
      const before = await readCredentials(data);
      const after = before.flatMap(({ extension, password }) => {
        const person = directory.byExtension(extension);
        if (person === undefined) return [];
        const kept = password === undefined || person.id === changed ? {} : { password };
        return [{ ...entryOf(directory, person), ...kept }];
      });
      if (isDeepStrictEqual(before, after)) return;
      await writeCredentials(data, after);
    });
  const later = (changed: number | null): void =>
    void revise(changed).catch((error: unknown) => log.warn({ error }, 'credentials.json cannot be written'));
  await revise(null);
  const stops = [directory.onChange(() => later(null)), sessions.onPasswordChanged((id) => later(id))];
  return async () => {
    for (const stop of stops) stop();
    await queue.idle();
  };
}
