import { createHmac, randomBytes } from 'node:crypto';
import path from 'node:path';
import { replaceFile, textOf } from '../core/files.ts';

const BYTES = 32;

/**
 * Key that encrypts SIP passwords of sessions and stored replies, created once and readable by its owner only. Without it
 * nobody is locked out: phones get new passwords at their next sign-in or refresh.
 */
export async function siteKey(data: string): Promise<Buffer> {
  const file = path.join(data, 'sip.key');
  const kept = Buffer.from((await textOf(file)) ?? '', 'base64url');
  if (kept.length === BYTES) return kept;
  const key = randomBytes(BYTES);
  await replaceFile(file, `${key.toString('base64url')}\n`);
  return key;
}

/** Another secret of the site: `turn` signs credentials of the TURN server, `doctor` is its account's password. */
export const siteSecret = (key: Buffer, use: 'turn' | 'doctor'): string =>
  createHmac('sha256', key).update(use).digest('base64url');
