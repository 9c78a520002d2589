/** The part of OpenPGP (RFC 4880) that tests need to sign a repository; the machine needs no gpg. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

export interface TestKey {
  /** A keyring file's content. */
  readonly ring: Buffer;
  /** The text with an in-line signature. */
  clearsign(text: string): string;
}

const CREATED = 1_700_000_000;
const u8 = (n: number): Buffer => Buffer.from([n]);
const u16 = (n: number): Buffer => Buffer.from([n >> 8, n & 255]);
const u32 = (n: number): Buffer => Buffer.from([n >>> 24, (n >> 16) & 255, (n >> 8) & 255, n & 255]);
const packet = (tag: number, body: Buffer): Buffer =>
  Buffer.concat([u8(0xc0 | tag), u8(0xff), u32(body.length), body]);
const subpacket = (type: number, body: Buffer): Buffer =>
  Buffer.concat([u8(body.length + 1), u8(type), body]);
function mpi(bytes: Buffer): Buffer {
  let at = 0;
  while (at < bytes.length - 1 && bytes[at] === 0) at += 1;
  const trimmed = bytes.subarray(at);
  return Buffer.concat([u16((trimmed.length - 1) * 8 + (32 - Math.clz32(trimmed[0]!))), trimmed]);
}

function armored(kind: string, body: Buffer): string {
  let crc = 0xb704ce;
  for (const byte of body) {
    crc ^= byte << 16;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x800000 ? ((crc << 1) ^ 0x1864cfb) & 0xffffff : crc << 1;
  }
  const sum = Buffer.from([crc >> 16, (crc >> 8) & 255, crc & 255]).toString('base64');
  const lines = body.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN PGP ${kind}-----\n\n${lines.join('\n')}\n=${sum}\n-----END PGP ${kind}-----\n`;
}

function signature(
  key: KeyObject,
  fingerprint: Buffer,
  type: number,
  flags: boolean,
  subject: Buffer,
): Buffer {
  const hashed = Buffer.concat([
    subpacket(2, u32(CREATED)),
    subpacket(33, Buffer.concat([u8(4), fingerprint])),
    ...(flags ? [subpacket(27, u8(0x03))] : []),
  ]);
  const head = Buffer.concat([Buffer.from([4, type, 1, 8]), u16(hashed.length), hashed]);
  const signed = Buffer.concat([subject, head, Buffer.from([4, 0xff]), u32(head.length)]);
  const issuer = subpacket(16, fingerprint.subarray(12));
  return packet(
    2,
    Buffer.concat([
      head,
      u16(issuer.length),
      issuer,
      createHash('sha256').update(signed).digest().subarray(0, 2),
      mpi(sign('sha256', signed, key)),
    ]),
  );
}

/** A new key. */
export function testKey(name: string): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 3072 });
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
  const numbers = [n, e].map((part) => mpi(Buffer.from(part, 'base64url')));
  const body = Buffer.concat([u8(4), u32(CREATED), u8(1), ...numbers]);
  const framed = Buffer.concat([u8(0x99), u16(body.length), body]);
  const fingerprint = createHash('sha1').update(framed).digest();
  const user = Buffer.from(`${name} <${name}@example.invalid>`);
  const certified = Buffer.concat([framed, u8(0xb4), u32(user.length), user]);
  const self = signature(privateKey, fingerprint, 0x13, true, certified);
  return {
    ring: Buffer.concat([packet(6, body), packet(13, user), self]),
    clearsign(text) {
      const canonical = text.replace(/\n$/, '').split('\n').join('\r\n');
      const sig = signature(privateKey, fingerprint, 0x01, false, Buffer.from(canonical));
      return `-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n${text.replace(/\n$/, '')}\n${armored('SIGNATURE', sig)}`;
    },
  };
}
