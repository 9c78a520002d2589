/** Which call and which leg somebody may steer. */
import type { DomainEvent } from '@offhook/contract/events.ts';
import { callsOf, reaches } from '../../rights/rights.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { LiveCall, LiveLeg, LiveView } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { CallControlDeps } from './deps.ts';

/** True where this caller may steer every call. */
export const steersAll = ({ caller }: Actor): boolean => callsOf(caller, 'control') === null;
const steers = ({ caller }: Actor, leg: LiveLeg): boolean => {
  const objects = callsOf(caller, 'control');
  return objects === null || (leg.extension !== null && reaches(objects, leg.extension));
};
/** True where one of these extensions is one whose calls this caller may steer. */
export const isAmong = ({ caller }: Actor, extensions: readonly string[]): boolean => {
  const objects = callsOf(caller, 'control');
  return objects === null || extensions.some((extension) => reaches(objects, extension));
};
export const noSuchCall = (): ServiceError => new ServiceError('not_found', 'there is no such call');

/** Who was in the calls that ended lately. */
export interface EndedCalls {
  /** Give every committed event. */
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
 * Throws `not_found`, or `call_gone` where it is over and was one of the caller's, or of somebody `knows` says: others are
 * not to learn which ids were calls.
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
 * The call, for somebody who may steer a leg of it. Throws `not_found` also for a call that is none of theirs, and
 * `wrong_call_state` where theirs has left it.
 */
export function callFor(deps: { live: LiveView; ended: EndedCalls }, actor: Actor, id: string): LiveCall {
  const call = findCall(deps, actor, id);
  if (steersAll(actor) || call.legs.some((leg) => steers(actor, leg))) return call;
  if (isAmong(actor, call.extensions)) {
    throw new ServiceError('wrong_call_state', 'this call goes on without this leg');
  }
  throw noSuchCall();
}

/**
 * Whether a call may be led to `number` where that is a parking slot: whoever calls it takes who is parked there. A person
 * may take anybody, as by phone; a key those of its extensions. Throws `not_found`, for an empty slot too.
 */
export function checkSlot({ live, isSlot }: CallControlDeps, actor: Actor, number: string): void {
  if (!isSlot(number)) return;
  const parked = live.calls().find((call) => call.legs.some((leg) => leg.slot === number));
  const may = parked !== undefined && (actor.caller.key === null || isAmong(actor, parked.extensions));
  if (!may) throw new ServiceError('not_found', 'there is no call on this slot');
}

/** True while a call that is placed rings the own devices only: it has no caller before one of them is taken. */
export const isOwnRinging = ({ legs }: LiveCall): boolean => legs.every((leg) => leg.state === 'alerting');

/** What rings an extension now; throws `wrong_call_state` where nothing does. */
export function ringingLeg(live: LiveView, extension: string): LiveLeg {
  for (const call of live.calls()) {
    if (isOwnRinging(call)) continue;
    for (const leg of call.legs) if (leg.extension === extension && leg.state === 'alerting') return leg;
  }
  throw new ServiceError('wrong_call_state', say`nothing rings at ${extension} now`);
}

/** In order of how much of a call it is: of two devices, the one that talks. */
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
 * The leg of a call that an operation is about: the one that is named, else the caller's own, else the only one the caller
 * may steer. Throws `call_gone`, `forbidden`, or `invalid_request` where it must be named.
 */
export function legFor(live: LiveView, actor: Actor, call: LiveCall, named: string | undefined): LiveLeg {
  if (named !== undefined) {
    const leg = call.legs.find((l) => l.id === named);
    if (leg === undefined) throw new ServiceError('call_gone', 'this leg is not in the call any more');
    if (!steers(actor, leg)) throw new ServiceError('forbidden', 'this leg is not yours');
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
  throw new ServiceError('invalid_request', 'leg_id: say which leg; none of this call is your own');
}
