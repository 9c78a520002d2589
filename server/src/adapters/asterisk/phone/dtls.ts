/**
 * The client's side of DTLS 1.2 (RFC 6347) as far as the media keys of a call need it (RFC 5764): one suite and curve, both sides
 * prove a certificate that their SDP names by its fingerprint. It carries no data (docs/adr/0033).
 */
import {
  KeyObject,
  X509Certificate,
  createCipheriv,
  createDecipheriv,
  createECDH,
  createHash,
  createHmac,
  randomBytes,
  sign,
  verify,
  webcrypto,
} from 'node:crypto';
import { loadX509 } from '../../../core/x509.ts';
import type { CertificateKeys } from '../../../core/x509.ts';

const VERSION = 0xfefd;
/** TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, the same with RSA. */
const SUITES = [0xc02b, 0xc02f];
const P256 = 0x0017;
const ECDSA_SHA256 = 0x0403;
const RSA_SHA256 = 0x0401;
/** AES_CM_128_HMAC_SHA1_80. */
const SRTP_PROFILE = 0x0001;
const RECORD = { change: 20, alert: 21, handshake: 22 } as const;
const MESSAGE = {
  clientHello: 1,
  serverHello: 2,
  helloVerify: 3,
  certificate: 11,
  serverKey: 12,
  certificateRequest: 13,
  helloDone: 14,
  certificateVerify: 15,
  clientKey: 16,
  finished: 20,
} as const;
const EXTENSION = {
  groups: 10,
  points: 11,
  signatures: 13,
  srtp: 14,
  masterSecret: 23,
  renegotiation: 65281,
};
const MESSAGE_HEAD = 12;
const RECORD_HEAD = 13;
const KEY_BYTES = 16;
const SALT_BYTES = 14;
/** Longest message that is put together. */
const MOST_BYTES = 16_384;

const u8 = (n: number): Buffer => Buffer.from([n]);
const u16 = (n: number): Buffer => Buffer.from([(n >> 8) & 0xff, n & 0xff]);
const u24 = (n: number): Buffer => Buffer.from([(n >> 16) & 0xff, (n >> 8) & 0xff, n & 0xff]);
const vector = (length: (n: number) => Buffer, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([length(body.length), body]);
};
const extension = (type: number, ...parts: readonly Buffer[]): Buffer =>
  Buffer.concat([u16(type), vector(u16, ...parts)]);
const sha256 = (data: Buffer): Buffer => createHash('sha256').update(data).digest();

function prf(secret: Buffer, label: string, seed: Buffer, bytes: number): Buffer {
  const seeded = Buffer.concat([Buffer.from(label, 'latin1'), seed]);
  const mac = (data: Buffer): Buffer => createHmac('sha256', secret).update(data).digest();
  const parts: Buffer[] = [];
  for (let a = mac(seeded); parts.length * 32 < bytes; a = mac(a))
    parts.push(mac(Buffer.concat([a, seeded])));
  return Buffer.concat(parts).subarray(0, bytes);
}

export interface OwnCertificate {
  readonly der: Buffer;
  readonly key: KeyObject;
  readonly fingerprint: string;
}
/** SHA-256 of a certificate as SDP shows it. */
const fingerprintOf = (der: Buffer): string =>
  sha256(der)
    .toString('hex')
    .toUpperCase()
    .replaceAll(/(..)(?=.)/g, '$1:');
export async function newCertificate(now: number): Promise<OwnCertificate> {
  const x509 = await loadX509();
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `01${randomBytes(15).toString('hex')}`,
    name: 'CN=doctor',
    notBefore: new Date(now - 86_400_000),
    notAfter: new Date(now + 86_400_000),
    signingAlgorithm: algorithm,
    keys: keys as unknown as CertificateKeys,
  });
  const der = Buffer.from(certificate.rawData);
  return { der, key: KeyObject.from(keys.privateKey), fingerprint: fingerprintOf(der) };
}

/** Master key and salt of both directions, as SRTP takes them. */
export interface MediaKeys {
  readonly sending: string;
  readonly receiving: string;
}
interface Sealing {
  readonly key: Buffer;
  readonly salt: Buffer;
}
const CIPHER = 'aes-128-gcm';
const boundTo = (epochAndSequence: Buffer, type: number, bytes: number): Buffer =>
  Buffer.concat([epochAndSequence, u8(type), u16(VERSION), u16(bytes)]);

export class DtlsClient {
  /** Resolves once both sides proved their certificates; rejects with what was wrong. */
  readonly keys: Promise<MediaKeys>;
  readonly #done = Promise.withResolvers<MediaKeys>();
  readonly #own: OwnCertificate;
  readonly #theirs: string;
  readonly #send: (data: Buffer) => void;
  readonly #random = randomBytes(32);
  readonly #ecdh = createECDH('prime256v1');
  readonly #sequences = [0, 0];
  #cookie: Buffer = Buffer.alloc(0);
  #nextSent = 0;
  #nextReceived = 0;
  readonly #pieces = new Map<number, { type: number; body: Buffer; filled: Set<number> }>();
  /** All messages so far, as the signatures of both sides cover them. */
  #transcript: Buffer[] = [];
  /** Records of the last flight, sent again until the next message arrives. */
  #flight: Buffer[] = [];
  #serverRandom: Buffer = Buffer.alloc(0);
  #certificate: X509Certificate | null = null;
  #point: Buffer | null = null;
  #extended = false;
  #asked = false;
  #master: Buffer | null = null;
  #sealing: { readonly out: Sealing; readonly in: Sealing } | null = null;

  /** `fingerprint`: SHA-256 of the server's certificate, of its SDP. */
  constructor(own: OwnCertificate, fingerprint: string, send: (data: Buffer) => void) {
    this.#own = own;
    this.#theirs = fingerprint;
    this.#send = send;
    this.keys = this.#done.promise;
    this.keys.catch(() => undefined);
    this.#ecdh.generateKeys();
  }
  start(): void {
    this.#hello();
  }
  /** Sends the last flight again, because the one before may be lost. */
  again(): void {
    for (const record of this.#flight) this.#send(record);
  }
  receive(datagram: Buffer): void {
    try {
      for (let at = 0; at + RECORD_HEAD <= datagram.length;) {
        const end = at + RECORD_HEAD + datagram.readUInt16BE(at + 11);
        if (end > datagram.length) return;
        this.#record(datagram.subarray(at, end));
        at = end;
      }
    } catch (error) {
      this.#done.reject(error);
    }
  }

  #record(record: Buffer): void {
    const type = record[0]!;
    const sealed = record.readUInt16BE(3) > 0;
    const body = sealed ? this.#opened(record) : record.subarray(RECORD_HEAD);
    if (body === null) return;
    if (type === RECORD.alert && body[0] === 2) throw new Error(`alert ${body[1]}`);
    if (type !== RECORD.handshake) return;
    for (let at = 0; at + MESSAGE_HEAD <= body.length;) {
      const end = at + MESSAGE_HEAD + body.readUIntBE(at + 9, 3);
      if (end > body.length) return;
      this.#fragment(body.subarray(at, end), sealed);
      at = end;
    }
  }
  /** Null for a record that cannot be read. */
  #opened(record: Buffer): Buffer | null {
    if (this.#sealing === null || record.length < RECORD_HEAD + 24) return null;
    const { key, salt } = this.#sealing.in;
    const explicit = record.subarray(RECORD_HEAD, RECORD_HEAD + 8);
    const sealed = record.subarray(RECORD_HEAD + 8, -16);
    const cipher = createDecipheriv(CIPHER, key, Buffer.concat([salt, explicit]));
    cipher.setAAD(boundTo(record.subarray(3, 11), record[0]!, sealed.length));
    cipher.setAuthTag(record.subarray(-16));
    return Buffer.concat([cipher.update(sealed), cipher.final()]);
  }
  /** Puts a message together of its pieces, and takes messages in their order. */
  #fragment(piece: Buffer, sealed: boolean): void {
    const [type, length, sequence] = [piece[0]!, piece.readUIntBE(1, 3), piece.readUInt16BE(4)];
    const from = piece.readUIntBE(6, 3);
    const body = piece.subarray(MESSAGE_HEAD);
    if (sequence < this.#nextReceived || sequence > this.#nextReceived + 16) return;
    if (length > MOST_BYTES || from + body.length > length) throw new Error('a message is too long');
    if (type === MESSAGE.finished && !sealed) throw new Error('the end of the handshake is not encrypted');
    const known = this.#pieces.get(sequence) ?? { type, body: Buffer.alloc(length), filled: new Set() };
    if (known.type !== type || known.body.length !== length)
      throw new Error('the fragments of a handshake message do not match');
    body.copy(known.body, from);
    for (let i = from; i < from + body.length; i += 1) known.filled.add(i);
    this.#pieces.set(sequence, known);
    for (;;) {
      const next = this.#pieces.get(this.#nextReceived);
      if (next === undefined || next.filled.size < next.body.length) return;
      this.#pieces.delete(this.#nextReceived);
      this.#nextReceived += 1;
      this.#take(next.type, next.body, this.#nextReceived - 1);
    }
  }
  #message(type: number, sequence: number, body: Buffer): Buffer {
    return Buffer.concat([u8(type), u24(body.length), u16(sequence), u24(0), u24(body.length), body]);
  }
  #take(type: number, body: Buffer, sequence: number): void {
    if (type === MESSAGE.helloVerify) {
      this.#cookie = Buffer.from(body.subarray(3, 3 + body[2]!));
      this.#transcript = [];
      return this.#hello();
    }
    if (type === MESSAGE.finished) return this.#finish(body);
    this.#transcript.push(this.#message(type, sequence, body));
    if (type === MESSAGE.serverHello) this.#serverHello(body);
    else if (type === MESSAGE.certificate) this.#proveCertificate(body);
    else if (type === MESSAGE.serverKey) this.#serverKey(body);
    else if (type === MESSAGE.certificateRequest) this.#asked = true;
    else if (type === MESSAGE.helloDone) this.#answer();
  }

  #write(type: number, body: Buffer): void {
    const message = this.#message(type, this.#nextSent++, body);
    this.#transcript.push(message);
    this.#flight.push(this.#recordOf(RECORD.handshake, message));
  }
  #recordOf(type: number, body: Buffer, epoch = 0): Buffer {
    const at = Buffer.concat([u16(epoch), u16(0), Buffer.alloc(4)]);
    at.writeUInt32BE(this.#sequences[epoch]!++, 4);
    if (epoch === 0) return Buffer.concat([u8(type), u16(VERSION), at, vector(u16, body)]);
    const { key, salt } = this.#sealing!.out;
    const cipher = createCipheriv(CIPHER, key, Buffer.concat([salt, at]));
    cipher.setAAD(boundTo(at, type, body.length));
    const sealed = Buffer.concat([at, cipher.update(body), cipher.final(), cipher.getAuthTag()]);
    return Buffer.concat([u8(type), u16(VERSION), at, vector(u16, sealed)]);
  }
  #hello(): void {
    this.#flight = [];
    const signatures = vector(u16, u16(ECDSA_SHA256), u16(RSA_SHA256));
    const extensions = [
      extension(EXTENSION.groups, vector(u16, u16(P256))),
      extension(EXTENSION.points, vector(u8, u8(0))),
      extension(EXTENSION.signatures, signatures),
      extension(EXTENSION.srtp, vector(u16, u16(SRTP_PROFILE)), vector(u8)),
      extension(EXTENSION.masterSecret),
      extension(EXTENSION.renegotiation, u8(0)),
    ];
    const suites = vector(u16, ...SUITES.map(u16));
    const body = [
      u16(VERSION),
      this.#random,
      vector(u8),
      vector(u8, this.#cookie),
      suites,
      vector(u8, u8(0)),
    ];
    this.#write(MESSAGE.clientHello, Buffer.concat([...body, vector(u16, ...extensions)]));
    this.again();
  }
  #serverHello(body: Buffer): void {
    this.#serverRandom = body.subarray(2, 34);
    const at = 35 + body[34]!;
    if (body.readUInt16BE(0) !== VERSION || !SUITES.includes(body.readUInt16BE(at)))
      throw new Error('no common cipher suite');
    let srtp = false;
    for (let next = at + 5; next + 4 <= body.length; next += 4 + body.readUInt16BE(next + 2)) {
      const type = body.readUInt16BE(next);
      if (type === EXTENSION.masterSecret) this.#extended = true;
      if (type === EXTENSION.srtp) srtp = body.readUInt16BE(next + 6) === SRTP_PROFILE;
    }
    if (!srtp) throw new Error('no common SRTP profile');
  }
  #proveCertificate(body: Buffer): void {
    const der = Buffer.from(body.subarray(6, 6 + body.readUIntBE(3, 3)));
    if (fingerprintOf(der) !== this.#theirs.toUpperCase())
      throw new Error('the certificate does not match the fingerprint of the call');
    this.#certificate = new X509Certificate(der);
  }
  #serverKey(body: Buffer): void {
    const end = 4 + body[3]!;
    if (body[0] !== 3 || body.readUInt16BE(1) !== P256) throw new Error('no common curve');
    const params = body.subarray(0, end);
    const signature = body.subarray(end + 4, end + 4 + body.readUInt16BE(end + 2));
    const signed = Buffer.concat([this.#random, this.#serverRandom, params]);
    if (this.#certificate === null || !verify('sha256', signed, this.#certificate.publicKey, signature))
      throw new Error('the key exchange is not signed by the certificate');
    this.#point = Buffer.from(body.subarray(4, end));
  }
  #answer(): void {
    if (this.#point === null) throw new Error('no key was exchanged');
    this.#flight = [];
    if (this.#asked) this.#write(MESSAGE.certificate, vector(u24, vector(u24, this.#own.der)));
    this.#write(MESSAGE.clientKey, vector(u8, this.#ecdh.getPublicKey()));
    const shared = this.#ecdh.computeSecret(this.#point);
    const randoms = Buffer.concat([this.#random, this.#serverRandom]);
    const [label, seed] = this.#extended
      ? ['extended master secret', sha256(Buffer.concat(this.#transcript))]
      : ['master secret', randoms];
    const master = prf(shared, label!, seed as Buffer, 48);
    this.#master = master;
    if (this.#asked) {
      const signature = sign('sha256', Buffer.concat(this.#transcript), this.#own.key);
      const body = Buffer.concat([u16(ECDSA_SHA256), vector(u16, signature)]);
      this.#write(MESSAGE.certificateVerify, body);
    }
    const block = prf(master, 'key expansion', Buffer.concat([this.#serverRandom, this.#random]), 40);
    this.#sealing = {
      out: { key: block.subarray(0, 16), salt: block.subarray(32, 36) },
      in: { key: block.subarray(16, 32), salt: block.subarray(36, 40) },
    };
    this.#flight.push(this.#recordOf(RECORD.change, u8(1)));
    const proof = prf(master, 'client finished', sha256(Buffer.concat(this.#transcript)), 12);
    const finished = this.#message(MESSAGE.finished, this.#nextSent++, proof);
    this.#transcript.push(finished);
    this.#flight.push(this.#recordOf(RECORD.handshake, finished, 1));
    this.again();
  }
  #finish(body: Buffer): void {
    const master = this.#master;
    if (master === null) throw new Error('the handshake ended too early');
    const expected = prf(master, 'server finished', sha256(Buffer.concat(this.#transcript)), 12);
    if (!expected.equals(body)) throw new Error('the handshake was modified in transit');
    this.#flight = [];
    const seed = Buffer.concat([this.#random, this.#serverRandom]);
    const all = prf(master, 'EXTRACTOR-dtls_srtp', seed, 2 * (KEY_BYTES + SALT_BYTES));
    const of = (key: number, salt: number): string =>
      Buffer.concat([all.subarray(key, key + KEY_BYTES), all.subarray(salt, salt + SALT_BYTES)]).toString(
        'base64',
      );
    this.#done.resolve({ sending: of(0, 32), receiving: of(16, 46) });
  }
}
