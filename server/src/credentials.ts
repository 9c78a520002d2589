import { randomInt } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import type { StoredDirectory } from './features/pbx-config/directory.ts';
import type { Sessions } from './features/sessions/service.ts';

export interface Credential {
  readonly extension: string;
  readonly username: string;
  readonly full_name: string;
  readonly level: string;
  readonly password: string;
  /** What a desk phone of this extension registers with. */
  readonly sip_password: string;
}
/** No letters or digits that are mistaken for one another, since people type these. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/** Four groups of four, 80 random bits. */
export const newPassword = (): string =>
  Array.from({ length: 4 }, () =>
    Array.from({ length: 4 }, () => ALPHABET[randomInt(ALPHABET.length)]).join(''),
  ).join('-');

export const credentialsFile = (data: string): string => path.join(data, 'credentials.json');

/** The credentials of a new site, readable by its owner only; none where the file is gone or is not ours. */
export async function readCredentials(data: string): Promise<readonly Credential[]> {
  try {
    const list: unknown = JSON.parse(await fs.readFile(credentialsFile(data), 'utf8'));
    return Array.isArray(list) ? (list as Credential[]) : [];
  } catch {
    return [];
  }
}

/** Adds people to the file, or replaces those with the same extension, in one step and for its owner only. */
export async function writeCredentials(data: string, people: readonly Credential[]): Promise<void> {
  const known = new Map((await readCredentials(data)).map((c) => [c.extension, c]));
  for (const person of people) known.set(person.extension, person);
  const file = credentialsFile(data);
  const handle = await fs.open(`${file}.new`, 'w', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify([...known.values()], null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await fs.rename(`${file}.new`, file);
}

/** Everyone who cannot sign in yet gets a password; the file of them is for the site's owner. */
export async function giveCredentials(
  data: string,
  directory: StoredDirectory,
  sessions: Sessions,
): Promise<void> {
  const fresh: Credential[] = [];
  const known = await sessions.withPassword();
  for (const person of directory.people()) {
    if (known.has(person.id)) continue;
    const password = newPassword();
    const { extension, username, name: full_name, level } = person;
    const sip_password = directory.sipPassword(extension);
    fresh.push({ extension, username, full_name, level, password, sip_password });
  }
  if (fresh.length === 0) return;
  // The file first: a password that was set and never written down would lock its person out.
  await writeCredentials(data, fresh);
  // A few at a time: more at once than the line of key derivations takes would be refused.
  const rest = fresh.values();
  const give = async (): Promise<void> => {
    for (const { extension, password } of rest) {
      const person = directory.byExtension(extension);
      if (person !== undefined) await sessions.setPassword(person.id, password);
    }
  };
  await Promise.all(Array.from({ length: 8 }, give));
}
