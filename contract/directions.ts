import { z } from 'zod';

export const CallDirection = z
  .enum(['in', 'out', 'internal', 'transit'])
  .describe('By the endpoints met so far: one of no extension is a trunk; `transit` is from trunk to trunk.');
export type CallDirection = z.infer<typeof CallDirection>;
export const Placed = z
  .enum(['call', 'pickup', 'listen'])
  .describe(
    'The service placed it for somebody, whose own devices rang first: to call, to take what rings elsewhere, or to listen to another call (and whisper, and barge in). Not there where a phone dialled.',
  );
export type Placed = z.infer<typeof Placed>;
