import { createHmac, randomBytes } from 'node:crypto';
import path from 'node:path';
import { replaceFile, textOf } from '../core/files.ts';
import type { SiteNodes } from '../ports/site-nodes.ts';

const BYTES = 32;

/**
 * Key from which SIP passwords of sessions, the key of stored replies and the other secrets of the site are derived. It is created
 * once, readable by its owner only, and the same at all nodes of the site. A lost key locks
 * no person out: phones get new passwords at their next sign-in or refresh.
 */
export async function siteKey(data: string): Promise<Buffer> {
  const kept = Buffer.from((await textOf(fileOf(data))) ?? '', 'base64url');
  if (kept.length === BYTES) return kept;
  const key = randomBytes(BYTES);
  await writeKey(data, key);
  return key;
}

/** Makes the key of this folder that of all nodes of the site. */
export async function shareKey(nodes: Pick<SiteNodes, 'key'>, data: string): Promise<void> {
  const own = await siteKey(data);
  const shared = await nodes.key(own);
  if (!shared.equals(own)) await writeKey(data, shared);
}
const fileOf = (data: string): string => path.join(data, 'sip.key');
const writeKey = (data: string, key: Buffer): Promise<void> =>
  replaceFile(fileOf(data), `${key.toString('base64url')}\n`);

/**
 * Another secret of the site: `turn` signs credentials of the TURN server, `doctor` is its account's password, `nodes`
 * authenticates messages between nodes, `certificate` encrypts secrets on their way between nodes, `engines` is the password of
 * calls between engines, `company` encrypts the cookie of a sign-in by the company.
 */
export const siteSecret = (
  key: Buffer,
  use: 'turn' | 'doctor' | 'nodes' | 'certificate' | 'engines' | 'company',
): string => createHmac('sha256', key).update(use).digest('base64url');
/**
 * Key by which a node encrypts secrets for another node: the leading node the key of its certificate for web nodes and standbys,
 * a home node the accounts of its engine for the leading node.
 */
export const sealingKey = (key: Buffer): Buffer => Buffer.from(siteSecret(key, 'certificate'), 'base64url');
