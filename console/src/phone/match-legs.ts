/** Matches the calls of this page with those of the exchange, because SIP and the API have different ids. */
import type { CallState } from '@offhook/client';
import { isUp } from './phone-state.ts';
import type { PhoneCall } from './phone-state.ts';

type LiveLeg = Pick<CallState['legs'][number], 'leg_id' | 'extension' | 'endpoint' | 'number' | 'name'> & {
  readonly state: string;
  readonly held?: boolean;
  readonly since?: string;
  readonly answered_at?: string | null;
};
/** A call by its events, or by the reply of the API. */
export interface LiveCall {
  readonly call_id: string;
  readonly dialled: string;
  readonly placed?: CallState['placed'];
  readonly answered_at: string | null;
  readonly legs: readonly LiveLeg[];
}
export interface Matched {
  readonly call_id: string;
  /** The leg of this phone. */
  readonly leg_id: string;
  /** The present other side; empty with none or more than one. */
  readonly name: string;
  readonly number: string;
  readonly placed: PhoneCall['placed'];
  readonly there: PhoneCall['there'];
  readonly held_there: boolean;
  readonly held_since: number | null;
  readonly connected_at: number | null;
}
const isUpThere = ({ state }: LiveLeg): boolean => state === 'connected' || state === 'held';
/** Events and the API name this state differently. */
const rings = ({ state }: LiveLeg): boolean => state === 'ringing' || state === 'alerting';
/** True if another device talks with the caller of a call that stopped ringing here. */
export const isTaken = (call: LiveCall, endpoint: string): boolean =>
  call.legs.filter((leg) => leg.endpoint !== endpoint && isUpThere(leg)).length > 1;
/** Limit of the clock difference and the delivery of an INVITE together. */
const NEAR_MS = 10_000;
/** `ast1:1763683200.42`: the start of the leg in seconds, and a number that grows with each leg. */
function beganAt(leg: string): readonly [ms: number, nth: number] {
  const [, seconds = '0', nth = '0'] = /:(\d+)\.(\d+)/.exec(leg) ?? [];
  return [Number(seconds) * 1000, Number(nth)];
}

function fits(mine: PhoneCall, { call, leg }: { readonly call: LiveCall; readonly leg: LiveLeg }): boolean {
  if (!isUp(mine)) return mine.direction === 'in' && rings(leg);
  return isUpThere(leg) || (mine.direction === 'in' && call.placed !== undefined);
}

/**
 * Matches calls with the legs of this phone's endpoint in the same state, by their start times, in order. The leg of a page that
 * died started at another time. The own leg of a placed call is reported as ringing until the other side answers.
 */
export function matchLegs(
  here: readonly PhoneCall[],
  there: readonly LiveCall[],
  endpoint: string,
): ReadonlyMap<string, Matched> {
  const legs = there
    .flatMap((call) => call.legs.filter((leg) => leg.endpoint === endpoint).map((leg) => ({ call, leg })))
    .map((one) => ({ ...one, began: beganAt(one.leg.leg_id) }))
    .toSorted((a, b) => a.began[1] - b.began[1]);
  const left = new Set(legs);
  const matched = new Map<string, Matched>();
  for (const mine of here.toSorted((a, b) => a.began - b.began)) {
    const apart = (leg: (typeof legs)[number]): number => Math.abs(leg.began[0] + 500 - mine.began);
    const [nearest] = [...left]
      .filter((leg) => fits(mine, leg) && apart(leg) <= NEAR_MS)
      .toSorted((a, b) => apart(a) - apart(b));
    if (nearest === undefined) continue;
    left.delete(nearest);
    const { call, leg } = nearest;
    const others = call.legs.filter((other) => other !== leg && other.extension !== leg.extension);
    const [side, ...more] = isUp(mine) ? call.legs.filter((o) => o !== leg && isUpThere(o)) : [];
    const known = side !== undefined && more.length === 0;
    const placed = mine.direction === 'in' ? (call.placed ?? null) : null;
    const there = call.answered_at !== null || known ? 'up' : others.some(rings) ? 'rings' : null;
    const called = placed !== null && there !== 'up' ? call.dialled : '';
    matched.set(mine.id, {
      call_id: call.call_id,
      leg_id: leg.leg_id,
      name: known ? side.name : '',
      number: known ? (side.extension ?? side.number) : called,
      placed,
      there,
      held_there: leg.held === true,
      held_since: leg.held !== true || leg.since === undefined ? null : Date.parse(leg.since),
      connected_at: leg.answered_at == null ? null : Date.parse(leg.answered_at),
    });
  }
  return matched;
}
