import { hash } from 'node:crypto';
import { positionIn } from '@offhook/contract/paging.ts';
import type { Operation } from '@offhook/contract/operation.ts';
import { ServiceError } from '../core/errors.ts';

/** Parameters that choose no rows: a cursor is valid with other values of these. */
const NO_FILTERS: ReadonlySet<string> = new Set(['cursor', 'limit', 'seen', 'wait']);
const CHECK_LENGTH = 16;

type Handler = (who: object, input: object) => unknown;
interface Input {
  readonly params: object | null;
  readonly query: { readonly cursor?: string | undefined };
}

/** Check of a list and its filters, as they were read: their order and spelling do not matter. */
function checkOf(path: string, { params, query }: Input): string {
  const filters = Object.entries(query)
    .filter(([name, value]) => !NO_FILTERS.has(name) && value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify([path, params, filters]), 'base64url').slice(0, CHECK_LENGTH);
}
/** Throws `invalid_request` for a cursor of another list or of other filters. */
function positionOf(cursor: string, check: string, positions: RegExp): string {
  const position = cursor.slice(0, -(CHECK_LENGTH + 1));
  if (cursor === `${position}.${check}` && positions.test(position)) return position;
  throw new ServiceError(
    'invalid_request',
    'cursor: must be the next_cursor of a page of this list with the same other parameters',
  );
}
/**
 * Binds the cursors of a list to the list and its filters. The check is no secret: it finds mistakes, and the position is
 * checked as well.
 */
export function withBoundCursors(handler: Handler, { path, query: schema }: Operation): Handler {
  const positions = positionIn(schema);
  if (positions === undefined) return handler;
  return async (who, input) => {
    const { query } = input as Input;
    const check = checkOf(path, input as Input);
    const at =
      query.cursor === undefined
        ? input
        : { ...input, query: { ...query, cursor: positionOf(query.cursor, check, positions) } };
    const reply = (await handler(who, at)) as { next_cursor: string | null };
    const next = reply.next_cursor;
    return next === null ? reply : { ...reply, next_cursor: `${next}.${check}` };
  };
}
