/** Which of the exchange's calls the calls of this page are: SIP and the API name them differently. */
import type { CallState } from '@offhook/client';
import type { PhoneCall } from './phone-state.ts';

export type LiveCall = Pick<CallState, 'call_id' | 'dialled' | 'legs'>;
export interface Matched {
  readonly call_id: string;
  readonly leg_id: string;
  /** The other side as it is now; empty where nobody, or more than one, is there. */
  readonly name: string;
  readonly number: string;
}
/** `ast1:1763683200.42`: when the leg began, by the clock of the exchange. */
const placeOf = (leg: string): number => Number(/:(\d+\.\d+)/.exec(leg)?.[1]?.replace(/\.(\d+)$/, (_, n: string) => `.${n.padStart(9, '0')}`) ?? 0);

/**
 * Calls that are up here, with the legs of this phone's endpoint that are up there. Where there are as many of both, the older is
 * the older; where there are not, those that name the same other side belong together.
 */
export function matchLegs(
  here: readonly PhoneCall[],
  there: readonly LiveCall[],
  endpoint: string,
): ReadonlyMap<string, Matched> {
  const legs = there
    .flatMap((call) =>
      call.legs
        .filter((leg) => leg.endpoint === endpoint && (leg.state === 'connected' || leg.state === 'held'))
        .map((leg) => ({ call, leg })),
    )
    .toSorted((a, b) => placeOf(a.leg.leg_id) - placeOf(b.leg.leg_id));
  const calls = here.toSorted((a, b) => a.began - b.began);
  const pairs: [PhoneCall, (typeof legs)[number]][] = [];
  if (legs.length === calls.length) calls.forEach((call, i) => pairs.push([call, legs[i]!]));
  else {
    const left = new Set(legs);
    for (const call of calls) {
      const same = [...left].filter(
        ({ call: other, leg }) =>
          other.dialled === call.number ||
          other.legs.some((one) => one !== leg && (one.number === call.number || one.extension === call.number)),
      );
      if (same.length !== 1) continue;
      pairs.push([call, same[0]!]);
      left.delete(same[0]!);
    }
  }
  return new Map(
    pairs.map(([call, { call: other, leg }]) => {
      const sides = other.legs.filter((one) => one !== leg && (one.state === 'connected' || one.state === 'held'));
      const side = sides.length === 1 ? sides[0] : undefined;
      const number = side?.extension ?? side?.number ?? '';
      return [call.id, { call_id: other.call_id, leg_id: leg.leg_id, name: side?.name ?? '', number }];
    }),
  );
}
