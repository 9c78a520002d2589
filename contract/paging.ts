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

/**
 * A whole number in a query: digits only, so that `1e9`, `2.0`, `-1` and `0x10` are rejected. Each refusal names the range;
 * `digits` is the published pattern.
 */
export const wholeNumber = (least: number, most: number, digits: RegExp) =>
  z
    .string()
    .meta({ pattern: digits.source })
    .transform((text, { issues }) => {
      const number = digits.test(text) ? Number(text) : NaN;
      if (number >= least && number <= most) return number;
      issues.push({
        code: 'custom',
        message: 'must be a whole number',
        params: { least, most },
        input: text,
      });
      return z.NEVER;
    })
    .pipe(z.int().min(least).max(most));

/** Limit of the rows of a page, from 1 to `most`; `usual` names what a request without it gets. */
export const pageLimit = (most: number, usual: string, digits = /^\d{1,4}$/) =>
  wholeNumber(1, most, digits)
    .optional()
    .describe(`Entries of a page, from 1 to ${most.toLocaleString('en')}; ${usual} by default.`);

/** Fields of a query that reads a list newest first; `cursor` is the `next_cursor` of the page before. */
export const PAGE_FIELDS = {
  limit: pageLimit(200, '50'),
  cursor: pageCursor(/^[1-9]\d{0,14}$/),
};
