import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Said } from '../../core/said.ts';
import { historySince } from '../../core/rights.ts';
import type { Principal } from '../../core/rights.ts';

export const invalid = (detail: Said | string): ServiceError => new ServiceError('invalid_request', detail);

function readMoment(text: string | undefined, name: string): number | null {
  if (text === undefined) return null;
  const ms = Date.parse(text);
  if (!Number.isFinite(ms))
    throw invalid(say`${name}: expected an RFC 3339 time such as 2026-11-21T09:00:00Z`);
  return ms;
}
/** The range limited to the time in which the reader holds the extension. */
export function sinceHeld<T extends { readonly from_ms: number | null }>(reader: Principal, range: T): T {
  const since = historySince(reader);
  return since === 0 ? range : { ...range, from_ms: Math.max(range.from_ms ?? 0, since) };
}
/** `from` and `to` of a query in milliseconds since 1970; null where one is not given. Throws `invalid_request`. */
export function readRange(query: { readonly from?: string | undefined; readonly to?: string | undefined }) {
  const from_ms = readMoment(query.from, 'from');
  const to_ms = readMoment(query.to, 'to');
  if (from_ms !== null && to_ms !== null && to_ms < from_ms) throw invalid('to: it is before from');
  return { from_ms, to_ms };
}
