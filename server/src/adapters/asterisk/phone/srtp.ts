/** SRTP with keys in the signalling (RFC 3711, RFC 4568), one suite: AES_CM_128_HMAC_SHA1_80. */
import { createCipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const SUITE = 'AES_CM_128_HMAC_SHA1_80';
const KEY_BYTES = 16;
const SALT_BYTES = 14;
const TAG_BYTES = 10;
const HEAD_BYTES = 12;
const keystream = (key: Buffer, iv: Buffer, bytes: Buffer): Buffer =>
  createCipheriv('aes-128-ctr', key, iv).update(bytes);

export const newInline = (): string => randomBytes(KEY_BYTES + SALT_BYTES).toString('base64');
export const cryptoLine = (inline: string): string => `a=crypto:1 ${SUITE} inline:${inline}`;
/** Key in the other side's SDP; undefined if it offers none of this suite. */
export const inlineOf = (sdp: string): string | undefined =>
  /^a=crypto:\d+ AES_CM_128_HMAC_SHA1_80 inline:([A-Za-z0-9+/=]+)/m.exec(sdp)?.[1];

/** One direction of a stream. */
export class SrtpStream {
  readonly #encryption: Buffer;
  readonly #authentication: Buffer;
  readonly #salt: Buffer;
  #rollover = 0;
  #last: number | null = null;

  constructor(inline: string) {
    const master = Buffer.from(inline, 'base64');
    const salt = master.subarray(KEY_BYTES, KEY_BYTES + SALT_BYTES);
    const derived = (label: number, bytes: number): Buffer => {
      const iv = Buffer.concat([salt, Buffer.alloc(2)]);
      iv[7]! ^= label;
      return keystream(master.subarray(0, KEY_BYTES), iv, Buffer.alloc(bytes));
    };
    this.#encryption = derived(0, KEY_BYTES);
    this.#authentication = derived(1, 20);
    this.#salt = derived(2, SALT_BYTES);
  }
  protect(packet: Buffer): Buffer {
    const sealed = this.#crypted(packet);
    return Buffer.concat([sealed, this.#tag(sealed)]);
  }
  /** Null for a packet with another key. */
  unprotect(packet: Buffer): Buffer | null {
    const sealed = packet.subarray(0, -TAG_BYTES);
    if (sealed.length < HEAD_BYTES) return null;
    const sequence = sealed.readUInt16BE(2);
    if (this.#last !== null && this.#last - sequence > 0x8000) this.#rollover += 1;
    this.#last = sequence;
    if (!timingSafeEqual(this.#tag(sealed), packet.subarray(-TAG_BYTES))) return null;
    return this.#crypted(sealed);
  }

  #tag(sealed: Buffer): Buffer {
    const rollover = Buffer.alloc(4);
    rollover.writeUInt32BE(this.#rollover);
    const mac = createHmac('sha1', this.#authentication).update(sealed).update(rollover).digest();
    return mac.subarray(0, TAG_BYTES);
  }
  #crypted(packet: Buffer): Buffer {
    const iv = Buffer.concat([this.#salt, Buffer.alloc(2)]);
    for (let i = 0; i < 4; i += 1) iv[4 + i]! ^= packet[8 + i]!;
    const index = Buffer.alloc(6);
    index.writeUInt32BE(this.#rollover, 0);
    packet.copy(index, 4, 2, 4);
    for (let i = 0; i < 6; i += 1) iv[8 + i]! ^= index[i]!;
    const head = packet.subarray(0, HEAD_BYTES);
    return Buffer.concat([head, keystream(this.#encryption, iv, packet.subarray(HEAD_BYTES))]);
  }
}
