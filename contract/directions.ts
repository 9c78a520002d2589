import { z } from 'zod';

export const CallDirection = z
  .enum(['in', 'out', 'internal', 'transit'])
  .describe('By the endpoints met so far: one of no extension is a trunk; `transit` is from trunk to trunk.');
export type CallDirection = z.infer<typeof CallDirection>;
