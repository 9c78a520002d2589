import type { CallOperation } from '@offhook/contract/call-control.ts';
import type { Commands } from '../../commands/kernel.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Said } from '../../core/said.ts';
import type { CallVerbs } from '../../ports/engine-verbs.ts';
import type { Engine } from '../../ports/engine.ts';
import type { Caller } from '../../ports/http.ts';
import type { LiveCall, LiveLeg, ModelInput } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { RecordingKeeper } from '../../ports/recordings.ts';
import type { Guard } from './guard.ts';
import { commandOf, lineOf, operationOf } from './perform.ts';
import type { Plan } from './perform.ts';
import { isAmong, noSuchCall } from './reach.ts';
import type { EndedCalls } from './reach.ts';

export interface CallControlDeps extends Common<'clock' | 'directory' | 'live'> {
  readonly engine: Pick<Engine, 'node' | 'nodeOf'> & CallVerbs;
  /** Passes input to the model, in order with the engine's facts. */
  readonly tell: (input: ModelInput) => void;
  /** Replaces every operation's time limit for the engine's confirmation; for tests. */
  readonly confirm_ms?: number;
  readonly guard: Guard;
  readonly commands: Commands;
  readonly ended: EndedCalls;
  readonly recordings: RecordingKeeper;
  /** True if a person may listen in now without another confirmation of the session. */
  readonly mayListen: (caller: Caller) => boolean;
  /** True for a number in the range of parking slots. */
  readonly isSlot: (number: string) => boolean;
  /** True for the number of a parking lot, which parks a call transferred to it. */
  readonly isLot: (number: string) => boolean;
}

/** Calls with a move or hold under way, or legs with a start or end of a recording under way. */
export type Busy = Set<string>;

/** Runs one operation; `object` is its requested object in the audit trail. */
export async function run(
  deps: CallControlDeps,
  actor: Actor,
  action: string,
  object: string,
  plan: () => Promise<Plan> | Plan,
): Promise<CallOperation> {
  return operationOf(
    await deps.commands.run(lineOf(actor, action, object), async (id) =>
      commandOf(deps, actor, id, await plan()),
    ),
  );
}
/** Runs a move or a hold, one at a time for each call, because a second plan would be outdated by the first. */
export async function runAlone(
  deps: CallControlDeps,
  busy: Busy,
  actor: Actor,
  action: string,
  id: string,
  plan: () => Promise<Plan> | Plan,
): Promise<CallOperation> {
  const known = deps.live.call(id);
  const call = known?.id ?? id;
  if (busy.has(call)) {
    const error = isAmong(actor, known?.extensions ?? [])
      ? wrongState('another operation on this call is under way')
      : noSuchCall();
    await deps.commands.refused(lineOf(actor, action, id), error);
    throw error;
  }
  busy.add(call);
  try {
    return await run(deps, actor, action, id, plan);
  } finally {
    busy.delete(call);
  }
}

/** Runs an operation that a leg allows only once at a time; its leg is known from the plan. */
export async function runAloneOnLeg(
  deps: CallControlDeps,
  busy: Busy,
  actor: Actor,
  action: string,
  id: string,
  plan: () => Plan,
): Promise<CallOperation> {
  let mine: string | null = null;
  try {
    return await run(deps, actor, action, id, () => {
      const made = plan();
      const leg = made.leg_id ?? id;
      if (busy.has(leg)) throw wrongState('the same for this leg is under way');
      busy.add(leg);
      mine = leg;
      return made;
    });
  } finally {
    if (mine !== null) busy.delete(mine);
  }
}

export const gone = (): ServiceError => new ServiceError('call_gone', 'this leg of the call is over');
export const wrongState = (detail: Said | string): ServiceError =>
  new ServiceError('wrong_call_state', detail);
export const hasOwn = (actor: Actor, call: LiveCall): boolean =>
  actor.caller.extension !== '' && call.legs.some((leg) => leg.extension === actor.caller.extension);
/** True for a leg whose device has answered. */
export const isTaken = (leg: LiveLeg): boolean => leg.state !== 'initiated' && leg.state !== 'alerting';
/** True for a leg that talks or is on hold. */
export const isTalking = (leg: LiveLeg): boolean => leg.state === 'connected' || leg.state === 'held';
