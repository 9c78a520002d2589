import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const STEP_MS = 30_000;

/** RFC 4648 base32 without padding, as authenticator apps read it. */
export function base32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(held >> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET[(held << (5 - bits)) & 31]!;
}
/** A secret for a new authenticator: 160 bits, as long as the hash it is used with. */
export const newSecret = (): Buffer => randomBytes(20);

/** The six digits of one half minute (RFC 6238 with HMAC-SHA-1). `step` is the number of half minutes since 1970. */
export function totp(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = mac[19]! & 15;
  return String((mac.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, '0');
}
/**
 * Time step (half minute) of these digits: the current one or a neighbour, and later than `lastStep`, so that
 * digits work once. Undefined if they fit none.
 */
export function stepOf(secret: Buffer, digits: string, now: number, lastStep: number): number | undefined {
  if (!/^\d{6}$/.test(digits)) return undefined;
  const given = Buffer.from(digits);
  const present = Math.floor(now / STEP_MS);
  return [present, present - 1, present + 1].find(
    (step) => step > lastStep && timingSafeEqual(Buffer.from(totp(secret, step)), given),
  );
}
/** Content of the QR code for an authenticator app. */
export function otpauthUri(secret: Buffer, account: string, issuer: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}`;
}
/** A single-use recovery code, e.g. `ABCDE-FGHIJ`, with 50 bits. */
export function newRecoveryCode(): string {
  const text = base32(randomBytes(7)).slice(0, 10);
  return `${text.slice(0, 5)}-${text.slice(5)}`;
}
