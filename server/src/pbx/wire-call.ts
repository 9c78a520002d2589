import type { Call, Leg } from '@offhook/contract/calls.ts';
import type { ParkedCall } from '@offhook/contract/parking.ts';
import { rfc3339, rfc3339OrNull } from '../core/clock.ts';
import type { LiveCall, LiveLeg, LiveParked } from '../ports/live.ts';

const legOf = (leg: LiveLeg): Leg => ({
  leg_id: leg.id,
  extension: leg.extension,
  endpoint: leg.endpoint,
  number: leg.party.number,
  name: leg.party.name,
  state: leg.state,
  since: rfc3339(leg.since),
  answered_at: rfc3339OrNull(leg.answered_at),
  held: leg.held,
  queue: leg.queue,
  slot: leg.slot,
  recording: leg.recording,
  recording_paused: leg.recording_paused,
});

/** Precedence where the legs differ; two talking legs come first. */
const STATES: readonly Call['state'][] = ['parked', 'queued', 'alerting', 'held', 'connected', 'initiated'];
function stateOf({ legs }: LiveCall): Call['state'] {
  const talking = legs.filter((leg) => leg.state === 'connected' || leg.state === 'held');
  if (talking.length > 1) return talking.some((leg) => leg.state === 'held') ? 'held' : 'connected';
  return STATES.find((state) => legs.some((leg) => leg.state === state)) ?? 'initiated';
}
function partiesOf({ legs }: LiveCall): Call['parties'] {
  const parties = new Map<string, Call['parties'][number]>();
  for (const { id, extension, party } of legs) {
    const key = extension ?? id;
    if (!parties.has(key)) parties.set(key, { extension, number: party.number, name: party.name });
  }
  return [...parties.values()];
}
export const wireCall = (call: LiveCall): Call => ({
  call_id: call.id,
  state: stateOf(call),
  direction: call.direction,
  dialled: call.dialled,
  ...(call.placed === undefined ? {} : { placed: call.placed }),
  started_at: rfc3339(call.started_at),
  answered_at: rfc3339OrNull(call.answered_at),
  extensions: [...call.extensions],
  ...(call.customer_disposition === undefined ? {} : { customer_disposition: call.customer_disposition }),
  ...(call.customer === undefined ? {} : { customer: call.customer }),
  parties: partiesOf(call),
  legs: call.legs.map(legOf),
});
export const wireParked = ({ slot, lot, node, call, leg, party, since, by }: LiveParked): ParkedCall => ({
  slot,
  lot,
  node,
  call_id: call,
  leg_id: leg,
  party: { number: party.number, name: party.name },
  since: rfc3339(since),
  parked_by: by,
});
