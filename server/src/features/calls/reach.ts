/** Finds the calls and legs that a caller may control. */
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { NodeId } from '@offhook/contract/ids.ts';
import { callsOf, reaches } from '../../rights/rights.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { ExpectedEvent, LiveCall, LiveLeg, LiveParked, LiveView } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { CallControlDeps } from './deps.ts';

/** True if this caller may control every call. */
export const steersAll = ({ caller }: Actor): boolean => callsOf(caller, 'control') === null;
const steers = ({ caller }: Actor, leg: LiveLeg): boolean => {
  const objects = callsOf(caller, 'control');
  return objects === null || (leg.extension !== null && reaches(objects, leg.extension));
};
/** True if this caller may control the calls of one of these extensions. */
export const isAmong = ({ caller }: Actor, extensions: readonly string[]): boolean => {
  const objects = callsOf(caller, 'control');
  return objects === null || extensions.some((extension) => reaches(objects, extension));
};
export const noSuchCall = (): ServiceError => new ServiceError('not_found', 'there is no such call');

/** Extensions of recently ended calls. */
export interface EndedCalls {
  /** Takes every committed event. */
  onDomainEvent(event: DomainEvent): void;
  of(id: string): readonly string[];
}
const MOST_ENDED = 10_000;
export function createEndedCalls(): EndedCalls {
  const ended = new Map<string, readonly string[]>();
  return {
    onDomainEvent(event) {
      if (event.type !== 'call.ended') return;
      for (const id of ended.keys()) {
        if (ended.size < MOST_ENDED) break;
        ended.delete(id);
      }
      ended.set(event.data.call_id, event.data.extensions);
    },
    of: (id) => ended.get(id) ?? [],
  };
}

/**
 * Throws `not_found`, or `call_gone` for an ended call of the caller or of extensions that `knows` accepts:
 * other callers must not learn which ids were calls.
 */
export function findCall(
  { live, ended }: { live: LiveView; ended: EndedCalls },
  actor: Actor,
  id: string,
  knows: (extensions: readonly string[]) => boolean = () => false,
): LiveCall {
  const call = live.call(id);
  if (call !== undefined) return call;
  const was = ended.of(id);
  if (live.gone(id) && (isAmong(actor, was) || knows(was))) {
    throw new ServiceError('call_gone', 'this call is over');
  }
  throw noSuchCall();
}

/**
 * The call, if the caller may control one of its legs. Throws `not_found` also for other calls, and
 * `wrong_call_state` if the caller's leg has left.
 */
export function callFor(deps: { live: LiveView; ended: EndedCalls }, actor: Actor, id: string): LiveCall {
  const call = findCall(deps, actor, id);
  if (steersAll(actor) || call.legs.some((leg) => steers(actor, leg))) return call;
  if (isAmong(actor, call.extensions)) {
    throw new ServiceError('wrong_call_state', 'this leg has left the call');
  }
  throw noSuchCall();
}

/**
 * The slot with a leg of this call. A leg parked by another engine than its own has no `slot`, and `call` of the slot may be the
 * id before a merge.
 */
export const parkedIn = (
  live: Pick<LiveView, 'parked'>,
  call: Pick<LiveCall, 'legs'> | undefined,
): LiveParked | undefined => live.parked().find((one) => call?.legs.some((leg) => leg.id === one.leg));

/**
 * Checks a call to a parking slot, which takes the parked call. A person may take any parked call, as at a phone; an
 * API key only those of its extensions. `node` is the engine that calls. Throws `not_found`, also for an empty slot. Returns the
 * events that the call causes at the slot.
 */
export function checkSlot(
  { live, isSlot }: CallControlDeps,
  actor: Actor,
  number: string,
  node: NodeId,
): readonly ExpectedEvent[] {
  if (!isSlot(number)) return [];
  const on = live.parked().find((one) => one.slot === number && one.node === node);
  const parked = on && live.call(on.call);
  const may = parked !== undefined && (actor.caller.key === null || isAmong(actor, parked.extensions));
  if (!may) throw new ServiceError('not_found', 'there is no call on this slot');
  return [{ type: 'parking.slot_freed', leg: on!.leg }];
}

/** True while a placed call rings only the caller's own devices: without an answer it has no caller. */
export const isOwnRinging = ({ legs }: LiveCall): boolean => legs.every((leg) => leg.state === 'alerting');

/** The leg that rings at an extension now; throws `wrong_call_state` if none does. */
export function ringingLeg(live: LiveView, extension: string): LiveLeg {
  for (const call of live.calls()) {
    if (isOwnRinging(call)) continue;
    for (const leg of call.legs) if (leg.extension === extension && leg.state === 'alerting') return leg;
  }
  throw new ServiceError('wrong_call_state', say`nothing rings at ${extension} now`);
}

/** Precedence of several legs of one extension: a talking one first. */
const STATES: readonly LiveLeg['state'][] = [
  'connected',
  'held',
  'queued',
  'parked',
  'initiated',
  'alerting',
];
const mostLive = (legs: readonly LiveLeg[]): LiveLeg | undefined =>
  legs.toSorted((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state))[0];

/**
 * The leg that an operation is about: the named one, else the caller's own, else the only one the caller may
 * control. Throws `call_gone`, `forbidden`, or `invalid_request` if it must be named.
 */
export function legFor(live: LiveView, actor: Actor, call: LiveCall, named: string | undefined): LiveLeg {
  if (named !== undefined) {
    const leg = call.legs.find((l) => l.id === named);
    if (leg === undefined) throw new ServiceError('call_gone', 'this leg is no longer in the call');
    if (!steers(actor, leg)) throw new ServiceError('forbidden', 'this leg belongs to another person');
    return leg;
  }
  const own = mostLive(
    call.legs.filter((l) => l.extension !== null && l.extension === actor.caller.extension),
  );
  if (own !== undefined) return own;
  const mine = call.legs.filter((leg) => steers(actor, leg));
  const extensions = new Set(mine.map((leg) => leg.extension));
  const only = extensions.size === 1 ? mostLive(mine) : undefined;
  if (only !== undefined) return only;
  throw new ServiceError('invalid_request', 'leg_id: is needed, because no leg of this call is yours');
}
