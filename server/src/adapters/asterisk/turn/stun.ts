/** Messages of STUN (RFC 8489), which TURN extends, and the question whether a server answers at all. */
import { createHmac, randomBytes } from 'node:crypto';
import dgram from 'node:dgram';
import { isIPv6 } from 'node:net';

const COOKIE = 0x2112a442;
const HEAD_BYTES = 20;
const INTEGRITY = 0x0008;
const REPEAT_MS = 500;
const BINDING = 0x0001;
const BINDING_SUCCESS = 0x0101;

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

/** Resolves once the server at this address answers; throws without an answer within `ms`. */
export async function askStun(
  to: { readonly host: string; readonly port: number },
  ms: number,
): Promise<void> {
  const socket = dgram.createSocket(isIPv6(to.host) ? 'udp6' : 'udp4');
  const answered = Promise.withResolvers<void>();
  const timers: NodeJS.Timeout[] = [];
  try {
    const id = newId();
    socket.once('error', answered.reject);
    socket.on('message', (data) => {
      const found = readStun(data);
      if (found?.type === BINDING_SUCCESS && found.id.equals(id)) answered.resolve();
    });
    const request = stunMessage(BINDING, id, []);
    for (let at = 0; at < ms; at += REPEAT_MS)
      timers.push(setTimeout(() => socket.send(request, to.port, to.host, () => {}), at));
    timers.push(setTimeout(() => answered.reject(new Error(`no answer in ${ms / 1000} s`)), ms));
    await answered.promise;
  } finally {
    for (const timer of timers) clearTimeout(timer);
    socket.on('error', () => {});
    socket.close();
  }
}
