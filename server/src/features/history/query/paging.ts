import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../../core/errors.ts';
import { say } from '../../../core/said.ts';
import type { Said } from '../../../core/said.ts';
import { historySince } from '../../../rights/rights.ts';
import type { Principal } from '../../../rights/rights.ts';

/** End of a page: a time in the list's own unit, and the row's id. */
export interface Position {
  readonly at: number;
  readonly id: number;
}
/** Owner and filters of a list; a cursor with another identity is rejected. */
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

/** Null for a cursor that is forged or belongs to another list. */
export function readCursor(key: Buffer, text: string, list: ListIdentity): Position | null {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== PLACE_BYTES + SIGN_BYTES || bytes.toString('base64url') !== text) return null;
  const place = bytes.subarray(0, PLACE_BYTES);
  if (!timingSafeEqual(bytes.subarray(PLACE_BYTES), sign(key, place, list))) return null;
  return { at: Number(place.readBigInt64BE(0)), id: Number(place.readBigInt64BE(8)) };
}

export const invalid = (detail: Said | string): ServiceError => new ServiceError('invalid_request', detail);

function readMoment(text: string | undefined, name: string): number | null {
  if (text === undefined) return null;
  const ms = Date.parse(text);
  if (!Number.isFinite(ms))
    throw invalid(say`${name}: expected an RFC 3339 time such as 2026-11-21T09:00:00Z`);
  return ms;
}
/** The range, limited to the time since the reader got the extension. */
export function sinceHeld<T extends { readonly from_ms: number | null }>(reader: Principal, range: T): T {
  const since = historySince(reader);
  return since === 0 ? range : { ...range, from_ms: Math.max(range.from_ms ?? 0, since) };
}
/** `from` and `to` of a query in milliseconds since 1970; null where one is not given. Throws `invalid_request`. */
export function readRange(query: { readonly from?: string | undefined; readonly to?: string | undefined }) {
  const from_ms = readMoment(query.from, 'from');
  const to_ms = readMoment(query.to, 'to');
  if (from_ms !== null && to_ms !== null && to_ms < from_ms) throw invalid('to: must not be before from');
  return { from_ms, to_ms };
}
