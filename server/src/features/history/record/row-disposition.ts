import type { z } from 'zod';
import type { Disposition as DispositionSchema } from '@offhook/contract/history.ts';
import type { ChannelLine } from './timeline.ts';

export type Disposition = z.infer<typeof DispositionSchema>;

/** Q.850 causes: busy (17) and rejected (21). */
const BUSY = new Set([17, 21]);
/** No circuit, network out of order, temporary failure, switch congestion, channel not available. */
const CONGESTION = new Set([34, 38, 41, 42, 43, 44, 58]);
/** No such number, no route, absent, number changed, invalid number, facility rejected, incompatible. */
const FAILED = new Set([1, 2, 3, 20, 22, 27, 28, 29, 50, 57, 65, 88, 111]);

/** What a hang-up cause says about a call that nobody answered; `other` for causes that say nothing. */
export function dispositionOfCause(cause: number | null, other: Disposition): Disposition {
  if (cause === null) return other;
  if (BUSY.has(cause)) return 'BUSY';
  if (CONGESTION.has(cause)) return 'CONGESTION';
  return FAILED.has(cause) ? 'FAILED' : other;
}

/**
 * Channels that were rung in vain: one that rang to its end outweighs the others. The cause of a ring that was taken back
 * is the caller's or another device's; only who hung up itself tells why.
 */
export function dispositionOfOffers(offers: readonly ChannelLine[]): Disposition {
  const all = new Set(offers.map((c) => dispositionOfCause(c.hung_up_itself ? c.cause : null, 'NO ANSWER')));
  for (const one of ['NO ANSWER', 'BUSY', 'CONGESTION', 'FAILED'] as const) if (all.has(one)) return one;
  return 'NO ANSWER';
}

/** What became of a call that its dialler never got through with. */
export function dispositionOfDialler(
  dialler: ChannelLine,
  offers: readonly ChannelLine[],
  queued: boolean,
): Disposition {
  if (queued) return 'NO ANSWER';
  // The engine's word is that of the last device that answered anything, so the devices themselves are asked first.
  if (offers.length > 0) return dispositionOfOffers(offers);
  if (dialler.dial_status === 'BUSY') return 'BUSY';
  if (dialler.dial_status === 'CONGESTION') return 'CONGESTION';
  if (dialler.hung_up_itself || dialler.cause === 19) return 'NO ANSWER';
  return dispositionOfCause(dialler.cause, 'FAILED');
}
