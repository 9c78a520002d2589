import { z } from 'zod';

/** Fields of a query that reads a list newest first; `cursor` is the `next_cursor` of the page before. */
export const PAGE_FIELDS = {
  limit: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1).max(200))
    .optional(),
  cursor: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'must be a cursor of this list')
    .optional(),
};
