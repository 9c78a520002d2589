import type { CallOperation } from '@offhook/contract/call-control.ts';
import type { Commands } from '../../commands/kernel.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Said } from '../../core/said.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { CallVerbs, Engine } from '../../ports/engine.ts';
import type { Caller } from '../../ports/http.ts';
import type { LiveCall, LiveLeg, LiveView, ModelInput } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { RecordingKeeper } from '../../ports/recordings.ts';
import type { Guard } from './guard.ts';
import { commandOf, lineOf, operationOf } from './perform.ts';
import type { Plan } from './perform.ts';
import { isAmong, noSuchCall } from './reach.ts';
import type { EndedCalls } from './reach.ts';

export interface CallControlDeps {
  readonly engine: Pick<Engine, 'node'> & CallVerbs;
  readonly live: LiveView;
  readonly clock: Clock;
  /** In order with the engine's facts. */
  readonly tell: (input: ModelInput) => void;
  /** How long the engine may take to confirm, whatever the operation; for tests. */
  readonly confirm_ms?: number;
  readonly directory: Directory;
  readonly guard: Guard;
  readonly commands: Commands;
  readonly ended: EndedCalls;
  readonly recordings: RecordingKeeper;
  /** True where a person may listen now without confirming once more who they are. */
  readonly mayListen: (caller: Caller) => boolean;
  /** True for a number where somebody may be parked. */
  readonly isSlot: (number: string) => boolean;
  /** True for a number that parks who is transferred to it. */
  readonly isLot: (number: string) => boolean;
}

/** Calls that are being moved or held at this moment, or legs whose recording is being begun or ended. */
export type Busy = Set<string>;

/** Runs one operation; `object` is what was asked for, as the trail names a refusal. */
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
/**
 * The same for what moves or holds somebody: one at a time for each call, because the second would have been planned from
 * what is not so any more.
 */
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

/** The same for what a leg can have only one of, known once it is planned. */
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
/** True for a leg whose device was answered. */
export const isTaken = (leg: LiveLeg): boolean => leg.state !== 'initiated' && leg.state !== 'alerting';
/** True for a leg that talks, or has the other side on hold. */
export const isTalking = (leg: LiveLeg): boolean => leg.state === 'connected' || leg.state === 'held';
