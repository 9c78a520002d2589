import { createHmac, timingSafeEqual } from 'node:crypto';

/** Where a page ended: a moment, in the list's own unit, and the row's id. */
export interface Position {
  readonly at: number;
  readonly id: number;
}
/** Everything that says which list a cursor belongs to: whose it is and its filters; a cursor of another list is refused. */
export type ListIdentity = readonly (string | number | boolean | null)[];

const PLACE_BYTES = 16;
const SIGN_BYTES = 16;
const sign = (key: Buffer, place: Buffer, list: ListIdentity): Buffer =>
  createHmac('sha256', key).update(place).update(JSON.stringify(list)).digest().subarray(0, SIGN_BYTES);

export function writeCursor(key: Buffer, at: Position, list: ListIdentity): string {
  const place = Buffer.alloc(PLACE_BYTES);
  place.writeBigInt64BE(BigInt(at.at), 0);
  place.writeBigInt64BE(BigInt(at.id), 8);
  return Buffer.concat([place, sign(key, place, list)]).toString('base64url');
}

/** Null for what we did not write, or wrote for another list. */
export function readCursor(key: Buffer, text: string, list: ListIdentity): Position | null {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== PLACE_BYTES + SIGN_BYTES || bytes.toString('base64url') !== text) return null;
  const place = bytes.subarray(0, PLACE_BYTES);
  if (!timingSafeEqual(bytes.subarray(PLACE_BYTES), sign(key, place, list))) return null;
  return { at: Number(place.readBigInt64BE(0)), id: Number(place.readBigInt64BE(8)) };
}
