import { z } from 'zod';

export const CallDirection = z
  .enum(['in', 'out', 'internal', 'transit'])
  .describe('By the endpoints met so far: one of no extension is a trunk; `transit` is from trunk to trunk.');
export type CallDirection = z.infer<typeof CallDirection>;
export const Placed = z
  .enum(['call', 'pickup', 'listen'])
  .describe(
    'Set where the service placed it, ringing a person’s own devices first: to call, to pick up another ring, or to listen to another call (also whisper and barge). Absent where a phone dialled.',
  );
export type Placed = z.infer<typeof Placed>;
