/** Messages of STUN (RFC 8489), which TURN extends, and the question by which address a server sees this machine. */
import { createHmac, randomBytes } from 'node:crypto';
import dgram from 'node:dgram';
import { isIPv6 } from 'node:net';
import { groupsOf, plainHost } from '../../../core/networks.ts';

const COOKIE = 0x2112a442;
const HEAD_BYTES = 20;
const INTEGRITY = 0x0008;
const REPEAT_MS = 500;
const BINDING = 0x0001;
const BINDING_SUCCESS = 0x0101;
const MAPPED = 0x0020;
const [IPV4, IPV6] = [1, 2];

export interface StunMessage {
  readonly type: number;
  readonly id: Buffer;
  readonly attributes: ReadonlyMap<number, Buffer>;
}
type Attributes = readonly (readonly [type: number, value: Buffer])[];

function attribute(type: number, value: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(value.length, 2);
  return Buffer.concat([head, value, Buffer.alloc((4 - (value.length % 4)) % 4)]);
}
/** `key`: signs the message with the long-term credential of it. */
export function stunMessage(type: number, id: Buffer, attributes: Attributes, key?: Buffer): Buffer {
  const body = Buffer.concat(attributes.map(([kind, value]) => attribute(kind, value)));
  const head = Buffer.alloc(8);
  head.writeUInt16BE(type, 0);
  head.writeUInt32BE(COOKIE, 4);
  const whole = (length: number): Buffer => {
    head.writeUInt16BE(length, 2);
    return Buffer.concat([head, id, body]);
  };
  if (key === undefined) return whole(body.length);
  const signed = whole(body.length + 24);
  return Buffer.concat([signed, attribute(INTEGRITY, createHmac('sha1', key).update(signed).digest())]);
}
/** Null for anything that is no STUN. */
export function readStun(data: Buffer): StunMessage | null {
  if (data.length < HEAD_BYTES || data.readUInt32BE(4) !== COOKIE) return null;
  if (data.readUInt16BE(2) + HEAD_BYTES > data.length) return null;
  const attributes = new Map<number, Buffer>();
  for (let at = HEAD_BYTES; at + 4 <= data.length;) {
    const length = data.readUInt16BE(at + 2);
    if (!attributes.has(data.readUInt16BE(at)))
      attributes.set(data.readUInt16BE(at), data.subarray(at + 4, at + 4 + length));
    at += 4 + length + ((4 - (length % 4)) % 4);
  }
  return { type: data.readUInt16BE(0), id: data.subarray(8, HEAD_BYTES), attributes };
}
export const newId = (): Buffer => randomBytes(12);

/** Address in an attribute that is mixed with the cookie and, of IPv6, with the id; null for anything else. */
export function mixedAddress(value: Buffer, id: Buffer): { host: string; port: number } | null {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(COOKIE);
  const key = Buffer.concat([head, id]);
  const plain = value.subarray(4).map((byte, i) => byte ^ key[i % key.length]!);
  const port = value.length < 4 ? 0 : value.readUInt16BE(2) ^ (COOKIE >>> 16);
  if (value[1] === IPV4 && plain.length === 4) return { host: plain.join('.'), port };
  if (value[1] !== IPV6 || plain.length !== 16) return null;
  const groups = Array.from({ length: 8 }, (_, i) => ((plain[i * 2]! << 8) | plain[i * 2 + 1]!).toString(16));
  return { host: plainHost(groups.join(':')), port };
}

/** Value of an attribute that holds an address, mixed with the cookie and, of IPv6, with the id. */
export function mixAddress({ host, port }: { host: string; port: number }, id: Buffer): Buffer {
  const six = isIPv6(host);
  const parts = six
    ? groupsOf(host).flatMap((group) => [group >> 8, group & 0xff])
    : host.split('.').map(Number);
  const head = Buffer.alloc(8);
  head[1] = six ? IPV6 : IPV4;
  head.writeUInt16BE(port ^ (COOKIE >>> 16), 2);
  head.writeUInt32BE(COOKIE, 4);
  const key = Buffer.concat([head.subarray(4), id]);
  return Buffer.concat([head.subarray(0, 4), Buffer.from(parts.map((part, i) => part ^ key[i]!))]);
}

export interface StunAnswer {
  /** Address from which the question came to the server; null where the answer has none. */
  readonly mapped: string | null;
  /** Own address from which it left. */
  readonly local: string;
}
/**
 * Asks the server at this address, by a socket that takes messages of that address only; an answer to another question is
 * ignored. Throws without an answer within `ms`. `from`: own address to ask from.
 */
export async function askStun(
  to: { readonly host: string; readonly port: number },
  ms: number,
  { from, signal }: { readonly from?: string | undefined; readonly signal?: AbortSignal | undefined } = {},
): Promise<StunAnswer> {
  const socket = dgram.createSocket(isIPv6(to.host) ? 'udp6' : 'udp4');
  const answered = Promise.withResolvers<StunAnswer>();
  const timers: NodeJS.Timeout[] = [];
  const abort = (): void => answered.reject(signal?.reason);
  try {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', abort, { once: true });
    const id = newId();
    socket.on('error', answered.reject);
    socket.on('message', (data) => {
      const found = readStun(data);
      if (found?.type !== BINDING_SUCCESS || !found.id.equals(id)) return;
      const mapped = found.attributes.get(MAPPED);
      answered.resolve({
        mapped: (mapped && mixedAddress(mapped, id)?.host) ?? null,
        local: socket.address().address,
      });
    });
    socket.once('connect', () => {
      const request = stunMessage(BINDING, id, []);
      for (let at = 0; at < ms; at += REPEAT_MS)
        timers.push(setTimeout(() => socket.send(request, () => {}), at));
    });
    timers.push(setTimeout(() => answered.reject(new Error(`no answer in ${ms / 1000} s`)), ms));
    if (from === undefined) socket.connect(to.port, to.host);
    else socket.bind({ address: from }, () => socket.connect(to.port, to.host));
    return await answered.promise;
  } finally {
    signal?.removeEventListener('abort', abort);
    for (const timer of timers) clearTimeout(timer);
    socket.close();
  }
}
