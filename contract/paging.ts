import { z } from 'zod';

/** Positions in a list, by the cursor's schema. */
const positions = new WeakMap<z.ZodType, RegExp>();
/**
 * Cursor of a list: the position after the last row of a page, and a check of the list and its other parameters, which the
 * server appends. A cursor is refused with other parameters than those it was made with.
 */
export function pageCursor(position: RegExp) {
  const schema = z
    .string()
    .optional()
    .describe('`next_cursor` of the page before, with the same other parameters.');
  positions.set(schema, position);
  return schema;
}
/** Positions of the list that a query reads; undefined for a query whose cursor the handler itself binds, or without one. */
export const positionIn = (query: z.ZodType | undefined): RegExp | undefined =>
  query instanceof z.ZodObject ? positions.get(query.shape['cursor'] as z.ZodType) : undefined;

/** Fields of a query that reads a list newest first; `cursor` is the `next_cursor` of the page before. */
export const PAGE_FIELDS = {
  limit: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1).max(200))
    .optional(),
  cursor: pageCursor(/^[1-9]\d{0,14}$/),
};
