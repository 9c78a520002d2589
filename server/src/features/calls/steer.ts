/** Plans for a leg of an ongoing call: hang up, transfer, hold, park, digits, recording. */
import type { LegChoice, RetrieveRequest, TransferRequest } from '@offhook/contract/call-control.ts';
import { nodeOf } from '@offhook/contract/ids.ts';
import { ignoreEnded, ignoreLate } from '../../commands/confirm.ts';
import { ServiceError, hasCode, markUncertain } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { LiveCall, LiveLeg, LiveSide, LiveView } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { CallControlDeps } from './deps.ts';
import { gone, hasOwn, isTalking, wrongState } from './deps.ts';
import { CONFIRM_MS } from './perform.ts';
import type { Plan } from './perform.ts';
import { callFor, checkSlot, legFor, parkedIn, steersAll } from './reach.ts';

/** A leg and the other side that it talks to. */
export interface Talking {
  readonly call: LiveCall;
  readonly leg: LiveLeg;
  readonly side: LiveSide;
}

/** Longest wait until the engine has moved an answered leg to the other side, in milliseconds. */
const MOVED_MS = 2_000;
/** Longest time that the engine takes for one digit, with the gap after it. */
const DIGIT_MS = 300;
/** Most recordings of one leg; other programs may record it too. */
const MOST_RECORDINGS = 16;
/** Errors after which the engine certainly does not record; after any other it may. */
const REFUSED: ReadonlySet<string> = new Set(['engine_refused', 'invalid_request']);
/** Ring time of a transfer target in which events still count as caused by the transfer. */
const FOLLOW_MS = 60_000;

export const aboutLeg = ({ call, leg }: { call: LiveCall; leg: LiveLeg }) => ({
  call_id: call.id,
  leg_id: leg.id as string,
  extension: leg.extension,
});
/**
 * Waits until a leg that was just answered is beside the other one: the engine first connects it with its half of an
 * internal pair and moves it a moment later; a command in between would reach a channel that ends. Without audio the
 * pair stays; then the wait ends after `MOVED_MS`.
 */
async function connected(live: LiveView, { id, call }: LiveLeg): Promise<void> {
  const waits = (): boolean => {
    if (live.leg(id)?.state !== 'connected') return false;
    const side = live.beside(id);
    if (side !== undefined) return side.passing;
    return live.call(call)?.legs.some((other) => other.id !== id && other.state !== 'alerting') === true;
  };
  await live
    .until(() => !waits(), { ms: MOVED_MS, waitingFor: 'the leg to be beside the other one' })
    .catch(ignoreLate);
}
/** The leg and the side that it talks to; throws `wrong_call_state` if there is none. */
export async function talking(
  deps: CallControlDeps,
  actor: Actor,
  id: string,
  leg_id: string | undefined,
): Promise<Talking> {
  const { live } = deps;
  await connected(live, legFor(live, actor, callFor(deps, actor, id), leg_id));
  const call = callFor(deps, actor, id);
  const leg = legFor(live, actor, call, leg_id);
  const side = live.beside(leg.id);
  if (side === undefined || !isTalking(leg)) throw wrongState('this leg is not talking to anyone now');
  return { call, leg, side };
}
/** Refusal of a command that would need the end of a hold by the device, which only the device can end. */
export const heldAtDevice = (): ServiceError =>
  wrongState('the call is held at the device; retrieve it there');
/** Ends a hold by the service, because the engine cannot move a channel during a hold. */
export async function unhold(
  { engine, live }: CallControlDeps,
  { leg, side }: Talking,
  operationId: string,
): Promise<void> {
  if (live.leg(leg.id)?.held_here !== true) return;
  await engine.retrieve(side.channels, { action_id: `${operationId}-0` });
  await live.until(() => live.leg(leg.id)?.held_here !== true, {
    ms: CONFIRM_MS,
    waitingFor: 'the other side to be taken back from hold',
  });
}

/** Events of a leg that a hang-up ends; one on a slot or in a queue leaves that as well. */
const LEAVING = ['call.left', 'parking.slot_freed', 'queue.caller_abandoned'] as const;
/** Agents that can ring for one caller. */
const MOST_OFFERS = 1_000;

export class Steering {
  readonly #deps: CallControlDeps;
  readonly #checkUnconsulted: (leg: LiveLeg) => void;
  readonly #hungUp: (call: string) => void;

  /**
   * `checkUnconsulted` throws `wrong_call_state` during an attended transfer of the leg. `hungUp` receives each call whose legs
   * a hang-up is about to end.
   */
  constructor(
    deps: CallControlDeps,
    checkUnconsulted: (leg: LiveLeg) => void,
    hungUp: (call: string) => void,
  ) {
    this.#deps = deps;
    this.#checkUnconsulted = checkUnconsulted;
    this.#hungUp = hungUp;
  }
  /** As `talking`; throws also during an attended transfer, in which the side beside the leg may be the consulted one. */
  async #talking(actor: Actor, id: string, leg_id: string | undefined): Promise<Talking> {
    const at = await talking(this.#deps, actor, id, leg_id);
    this.#checkUnconsulted(at.leg);
    return at;
  }
  hangup(actor: Actor, id: string, choice: LegChoice): Plan {
    const { engine, live, clock, tell } = this.#deps;
    const call = callFor(this.#deps, actor, id);
    const whole = choice.leg_id === undefined && steersAll(actor) && !hasOwn(actor, call);
    const legs = whole ? call.legs : [legFor(live, actor, call, choice.leg_id)];
    const one = whole ? undefined : legs[0];
    // With only two legs in the call, the other one ends too.
    const leaving = call.legs.length === 2 ? call.legs : legs;
    return {
      action: 'calls.hangup',
      call_id: call.id,
      leg_id: one?.id ?? null,
      extension: one?.extension ?? null,
      expects: [
        ...leaving.flatMap(({ id: leg }) => LEAVING.map((type) => ({ type, leg }))),
        { type: 'offer.canceled', call: call.id, times: MOST_OFFERS },
        { type: 'call.ended', call: call.id },
      ],
      send: async (operationId) => {
        this.#hungUp(call.id);
        // The engine does not report a hang-up by command, which would show that the caller gave up waiting.
        for (const { id: leg, extension } of legs) {
          const isOwn = extension !== null && extension === actor.caller.extension;
          if (isOwn) tell({ type: 'channel.ending', at: clock.now(), id: leg });
        }
        const end = (leg: LiveLeg, i: number): Promise<void> =>
          engine
            .hangup(leg.id, { action_id: i === 0 ? operationId : `${operationId}-${i}` })
            .catch(ignoreEnded);
        await Promise.all(legs.map(end));
      },
      confirmed: () => legs.every((leg) => live.leg(leg.id) === undefined),
      waitingFor: 'the leg to end',
    };
  }
  async blindTransfer(actor: Actor, id: string, { to, leg_id }: TransferRequest): Promise<Plan> {
    const { engine, live, guard } = this.#deps;
    const at = await this.#talking(actor, id, leg_id);
    const freed = checkSlot(this.#deps, actor, to, nodeOf(at.leg.id));
    const destination = await guard.admit(actor, at.leg.extension ?? actor.caller.username, to);
    if (this.#deps.isLot(to)) return this.#toLot(at, to);
    return {
      ...aboutLeg(at),
      action: 'calls.transfer',
      expects: [
        ...(at.leg.held_here ? [{ type: 'call.retrieved', leg: at.leg.id } as const] : []),
        { type: 'call.transferred', call: at.call.id, kind: 'blind', by: at.leg.extension, to },
        { type: 'call.left', leg: at.leg.id },
        { type: 'call.ringing', call: at.call.id, times: 8 },
        { type: 'call.joined', call: at.call.id },
        ...freed,
      ],
      send: async (action_id) => {
        await unhold(this.#deps, at, action_id);
        await engine.blindTransfer(at.leg.id, to, { action_id });
      },
      confirmed: (operationId) => live.ledTo(operationId).has('call.transferred'),
      failed: this.#failedWithLeg(at.leg),
      waitingFor: 'the call to be transferred',
      confirm_ms: CONFIRM_MS * 2,
      follow_ms: FOLLOW_MS,
      detail: { kind: 'blind', to, destination },
    };
  }
  async hold(actor: Actor, id: string, choice: LegChoice): Promise<Plan> {
    const { engine, live } = this.#deps;
    const at = await this.#talking(actor, id, choice.leg_id);
    const { leg, side } = at;
    if (leg.state === 'held') throw wrongState('the other side is on hold already');
    const other = side.leg === null ? undefined : live.leg(side.leg);
    if (other?.state === 'held') throw wrongState('the other side has put you on hold');
    return {
      ...aboutLeg(at),
      action: 'calls.hold',
      expects: [{ type: 'call.held', leg: leg.id }],
      send: (action_id) => engine.hold(leg.id, side.channels, { action_id }),
      confirmed: () => live.leg(leg.id)?.held_here === true,
      failed: this.#failedWithLeg(leg),
      waitingFor: 'the other side to be on hold',
    };
  }
  /** Null if the call is parked, the request names no leg and the caller has none: `Placing.parked` takes it then. */
  async retrieve(actor: Actor, id: string, wanted: RetrieveRequest): Promise<Plan | null> {
    const { engine, live } = this.#deps;
    const call = live.call(id);
    const mine = call?.legs.some((leg) => leg.id === wanted.leg_id) || (call && hasOwn(actor, call));
    if (parkedIn(live, call) !== undefined && !mine) return null;
    const at = await this.#talking(actor, id, wanted.leg_id);
    if (!at.leg.held_here) {
      throw at.leg.held ? heldAtDevice() : wrongState('nobody is on hold');
    }
    return {
      ...aboutLeg(at),
      action: 'calls.retrieve',
      expects: [{ type: 'call.retrieved', leg: at.leg.id }],
      send: (action_id) => engine.retrieve(at.side.channels, { action_id }),
      confirmed: () => live.leg(at.leg.id)?.held_here === false,
      failed: this.#failedWithLeg(at.leg),
      waitingFor: 'the other side to be taken back from hold',
    };
  }
  async park(actor: Actor, id: string, choice: LegChoice): Promise<Plan> {
    const at = await this.#talking(actor, id, choice.leg_id);
    const { parked, ...plan } = this.#parkPlan(at);
    return {
      ...plan,
      action: 'calls.park',
      send: async (action_id) => {
        await unhold(this.#deps, at, action_id);
        await this.#deps.engine.park(parked, at.leg.endpoint, { action_id });
      },
      detail: { parked_leg_id: parked },
    };
  }
  digits(actor: Actor, id: string, digits: string, leg_id: string | undefined): Plan {
    const { engine, live } = this.#deps;
    const call = callFor(this.#deps, actor, id);
    const leg = legFor(live, actor, call, leg_id);
    if (leg.state === 'alerting' || leg.state === 'initiated') throw wrongState('this leg is not answered');
    const side = live.beside(leg.id)?.leg;
    const other = side == null ? undefined : live.leg(side);
    return {
      ...aboutLeg({ call, leg }),
      action: 'calls.dtmf',
      expects: [],
      send: async (operationId) => {
        // One after the other, so that they arrive in order.
        for (let i = 0; i < digits.length; i += 1) {
          const digit = digits.charAt(i);
          const action_id = i === 0 ? operationId : `${operationId}-${i}`;
          await engine.digit(leg.id, digit, { action_id }).catch((error: unknown) => {
            // A repeat would send the earlier digits a second time.
            throw i === 0 ? error : markUncertain(error);
          });
        }
      },
      // In a call, wait until the other side was sent the last digit; a move before that would leave it pressed.
      confirmed: () => {
        const now = (at: LiveLeg | undefined, way: 'in' | 'out'): number =>
          at === undefined ? 0 : (live.leg(at.id)?.digits[way] ?? 0) - at.digits[way];
        return other === undefined ? now(leg, 'in') >= digits.length : now(other, 'out') >= digits.length;
      },
      failed: this.#failedWithLeg(leg),
      waitingFor: 'the digits to be heard',
      confirm_ms: CONFIRM_MS + digits.length * DIGIT_MS,
      // Digits can be a secret.
      detail: { count: digits.length },
    };
  }
  record(actor: Actor, id: string, on: boolean, leg_id: string | undefined): Plan {
    const { live, recordings } = this.#deps;
    const call = callFor(this.#deps, actor, id);
    const leg = legFor(live, actor, call, leg_id);
    if (on && leg.recording) throw wrongState('this leg is recorded already');
    if (!on && !recordings.onDemand(leg.id) && !steersAll(actor)) {
      if (!leg.recording) throw wrongState('this leg is not recorded');
      throw new ServiceError(
        'forbidden',
        'the rule of the site records this call; pause the recording instead',
      );
    }
    if (on && !isTalking(leg)) throw wrongState('this leg is not talking to anyone now');
    const type = on ? 'call.recording_started' : 'call.recording_stopped';
    return {
      ...aboutLeg({ call, leg }),
      action: 'calls.record',
      expects: [{ type, leg: leg.id }],
      send: (action_id) => (on ? this.#start(leg, action_id) : this.#stopAll(leg, action_id)),
      confirmed: () => live.leg(leg.id)?.recording === on,
      failed: this.#failedWithLeg(leg),
      waitingFor: on ? 'the recording to begin' : 'the recording to end',
      detail: { on },
    };
  }
  pauseRecording(actor: Actor, id: string, paused: boolean, choice: LegChoice): Plan {
    const { engine, live } = this.#deps;
    const call = callFor(this.#deps, actor, id);
    const own = legFor(live, actor, call, choice.leg_id);
    const side = live.beside(own.id)?.leg ?? null;
    const other = side === null ? undefined : live.leg(side);
    // A recording of the other side contains this side too.
    const leg = !own.recording && other?.recording === true ? other : own;
    if (!leg.recording) throw wrongState('this leg is not recorded');
    const type = paused ? 'call.recording_paused' : 'call.recording_resumed';
    return {
      ...aboutLeg({ call, leg }),
      action: paused ? 'calls.pause_recording' : 'calls.resume_recording',
      expects: leg.recording_paused === paused ? [] : [{ type, leg: leg.id }],
      // A repeated request changes nothing: the engine reports the state again.
      send: (action_id) => engine.pauseRecording(leg.id, paused, { action_id }),
      confirmed: () => live.leg(leg.id)?.recording_paused === paused,
      failed: this.#failedWithLeg(leg),
      waitingFor: paused ? 'the recording to pause' : 'the recording to go on',
    };
  }

  /** The engine stops one recording for each action and refuses once none is left. */
  async #stopAll(leg: LiveLeg, action_id: string): Promise<void> {
    for (let i = 0; i < MOST_RECORDINGS; i += 1) {
      try {
        await this.#deps.engine.stopRecording(leg.id, {
          action_id: i === 0 ? action_id : `${action_id}-${i}`,
        });
      } catch (error) {
        if (!hasCode(error, 'engine_refused')) throw error;
        if (i === 0) throw wrongState('this leg is not recorded');
        return;
      }
    }
    throw wrongState(say`a leg can have at most ${MOST_RECORDINGS} recordings`);
  }
  async #start(leg: LiveLeg, action_id: string): Promise<void> {
    const { engine, recordings } = this.#deps;
    const name = await recordings.begin(leg);
    try {
      await engine.startRecording(leg.id, name, { action_id });
    } catch (error) {
      if (error instanceof ServiceError && REFUSED.has(error.code)) await recordings.takeBack(name);
      throw error;
    }
  }
  #failedWithLeg(leg: LiveLeg) {
    return (): ServiceError | null => (this.#deps.live.leg(leg.id) === undefined ? gone() : null);
  }
  #parkPlan({ call, leg, side }: Talking) {
    const { live } = this.#deps;
    const { leg: parked } = side;
    if (parked === null) throw wrongState('the other side of this leg cannot be parked');
    return {
      ...aboutLeg({ call, leg }),
      parked,
      expects: [
        ...(leg.held_here ? [{ type: 'call.retrieved', leg: leg.id } as const] : []),
        { type: 'call.parked', leg: parked },
        { type: 'parking.slot_occupied', leg: parked },
        { type: 'call.left', leg: leg.id },
      ] as const,
      confirmed: () => live.parked().some((one) => one.leg === parked),
      failed: () => (live.leg(parked) === undefined ? gone() : null),
      waitingFor: 'the call to be parked',
      confirm_ms: CONFIRM_MS * 2,
    };
  }
  /** A transfer to the number of a parking lot, where the engine parks the other side. */
  #toLot(at: Talking, to: string): Plan {
    const { parked, ...plan } = this.#parkPlan(at);
    return {
      ...plan,
      action: 'calls.transfer',
      send: async (action_id) => {
        await unhold(this.#deps, at, action_id);
        await this.#deps.engine.blindTransfer(at.leg.id, to, { action_id });
      },
      detail: { kind: 'blind', to, destination: 'internal', parked_leg_id: parked },
    };
  }
}
