/** AES-256-GCM with a random nonce before the text and its tag after it. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

export function seal(key: Buffer, body: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([nonce, cipher.update(body), cipher.final(), cipher.getAuthTag()]);
}
/** Null if it was encrypted with another key, as after a restore without the site's key. */
export function unseal(key: Buffer, sealed: Buffer): Buffer | null {
  if (sealed.length < 28) return null;
  const cipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12));
  cipher.setAuthTag(sealed.subarray(-16));
  try {
    return Buffer.concat([cipher.update(sealed.subarray(12, -16)), cipher.final()]);
  } catch {
    return null;
  }
}
