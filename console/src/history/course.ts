/** Course of a conversation for drawing and table. Pure, without texts of a language. */
import type { Conversation } from '@offhook/contract/conversations.ts';

export type Leg = Conversation['legs'][number];
export type Segment = Leg['segments'][number];
export type Transfer = Conversation['transfers'][number];
export type Visit = Conversation['queue_visits'][number];
/** Title of a visit's queue. */
export const visitName = ({ queue, queue_title }: Visit): string => queue_title ?? queue;
export type Offer = Visit['offers'][number];
export type Recording = Conversation['recordings'][number];

/** `at` is ms since 1970, `seconds` null for an instant; `leg` is its leg. */
export type Fact = { readonly at: number; readonly seconds: number | null; readonly leg: string | null } & (
  | { readonly is: 'segment'; readonly segment: Segment }
  | { readonly is: 'joined'; readonly visit: Visit }
  | { readonly is: 'offer'; readonly visit: Visit; readonly offer: Offer }
  | { readonly is: 'transfer'; readonly transfer: Transfer }
  | { readonly is: 'left'; readonly of: Leg }
  | { readonly is: 'recorded'; readonly recording: Recording }
  | { readonly is: 'paused' }
);
const ms = (time: string): number => Date.parse(time);
/** In order of time; facts of the same time keep the order queue, offer, leg, recording, transfer, end. */
export function factsOf(
  c: Pick<Conversation, 'legs' | 'transfers' | 'queue_visits' | 'recordings' | 'state'>,
) {
  const facts: Fact[] = [
    ...c.queue_visits.flatMap((visit): Fact[] => [
      { is: 'joined', at: ms(visit.joined_at), seconds: visit.wait_time, leg: visit.leg_id, visit },
      ...visit.offers.map((offer): Fact => ({
        is: 'offer',
        at: ms(offer.started_at),
        seconds: offer.ring_time,
        leg: offer.leg_id,
        visit,
        offer,
      })),
    ]),
    ...c.legs.flatMap((leg) =>
      leg.segments.map((segment): Fact => ({
        is: 'segment',
        at: ms(segment.started_at),
        seconds: segment.duration,
        leg: leg.leg_id,
        segment,
      })),
    ),
    ...c.recordings.flatMap((recording): Fact[] => [
      {
        is: 'recorded',
        at: ms(recording.started_at),
        seconds: recording.duration,
        leg: recording.leg_id,
        recording,
      },
      ...recording.paused.map(({ from, to }): Fact => ({
        is: 'paused',
        at: ms(from),
        seconds: to === null ? null : (ms(to) - ms(from)) / 1000,
        leg: recording.leg_id,
      })),
    ]),
    ...c.transfers.map((transfer): Fact => ({
      is: 'transfer',
      at: ms(transfer.at),
      seconds: null,
      leg: transfer.by,
      transfer,
    })),
    ...c.legs.flatMap((leg): Fact[] =>
      leg.ended_by === null && c.state === 'open'
        ? []
        : [{ is: 'left', at: ms(leg.ended_at), seconds: null, leg: leg.leg_id, of: leg }],
    ),
  ];
  return facts.toSorted((a, b) => a.at - b.at);
}

/** From the first start to the last end, ms since 1970; at least a second long. */
export function spanOf(c: Pick<Conversation, 'started_at' | 'ended_at' | 'legs'>): readonly [number, number] {
  const from = Math.min(ms(c.started_at), ...c.legs.map((leg) => ms(leg.started_at)));
  const ends = [c.ended_at ?? c.started_at, ...c.legs.map((leg) => leg.ended_at)].map(ms);
  return [from, Math.max(from + 1000, ...ends)];
}
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400];
/** Seconds from the start with a mark on the axis; at most `most`. */
export function ticksOf(seconds: number, most = 8): readonly number[] {
  const step = STEPS.find((one) => seconds / one <= most) ?? Math.ceil(seconds / most / 86_400) * 86_400;
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, i) => i * step);
}
/** Position and width of an interval on the axis in percent, never beyond the end; an instant has the width 0. */
export function placeOf(
  [from, to]: readonly [number, number],
  startMs: number,
  endMs: number,
): { readonly left: number; readonly width: number } {
  const length = to - from;
  const left = Math.min(100, Math.max(0, ((startMs - from) / length) * 100));
  return { left, width: Math.min(100 - left, Math.max(0, ((endMs - startMs) / length) * 100)) };
}
