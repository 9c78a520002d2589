import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';

const BYTES = 32;

/**
 * Key that encrypts SIP passwords of sessions and stored replies, created once and readable by its owner only. Without it
 * nobody is locked out: phones get new passwords at their next sign-in or refresh.
 */
export async function siteKey(data: string): Promise<Buffer> {
  const file = path.join(data, 'sip.key');
  try {
    const key = Buffer.from(await fs.readFile(file, 'utf8'), 'base64url');
    if (key.length === BYTES) return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const key = randomBytes(BYTES);
  const handle = await fs.open(`${file}.new`, 'w', 0o600);
  try {
    await handle.writeFile(`${key.toString('base64url')}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await fs.rename(`${file}.new`, file);
  return key;
}
