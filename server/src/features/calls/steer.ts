/** What is done with a leg of a call that goes on. */
import type { LegChoice, RetrieveRequest, TransferRequest } from '@offhook/contract/call-control.ts';
import type { ChannelId } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { LiveCall, LiveLeg, LiveSide } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { CallControlDeps } from './deps.ts';
import { gone, hasOwn, isTalking, wrongState } from './deps.ts';
import { CONFIRM_MS } from './perform.ts';
import type { Plan } from './perform.ts';
import { callFor, checkSlot, legFor, steersAll } from './reach.ts';

export interface Steering {
  hangup(actor: Actor, id: string, choice: LegChoice): Plan;
  blindTransfer(actor: Actor, id: string, wanted: TransferRequest): Promise<Plan>;
  hold(actor: Actor, id: string, choice: LegChoice): Plan;
  /** Null where the call is not on hold by an operation, but may be parked. */
  retrieve(actor: Actor, id: string, wanted: RetrieveRequest): Plan | null;
  park(actor: Actor, id: string, choice: LegChoice): Plan;
  digits(actor: Actor, id: string, digits: string, leg_id: string | undefined): Plan;
  record(actor: Actor, id: string, on: boolean, leg_id: string | undefined): Plan;
  pauseRecording(actor: Actor, id: string, paused: boolean, choice: LegChoice): Plan;
}
/** A leg with the other side that it talks to. */
export interface Talking {
  readonly call: LiveCall;
  readonly leg: LiveLeg;
  readonly side: LiveSide;
}

/** One digit takes the engine this long at most, the gap behind it included. */
const DIGIT_MS = 300;
/** What else may record a leg beside us: more than this is no recording of a call any more. */
const MOST_RECORDINGS = 16;
/** After these it is certain that the engine does not record; after others it may. */
const REFUSED: ReadonlySet<string> = new Set(['engine_refused', 'invalid_request']);
/** How long whom a call is transferred to may ring before the events are somebody else's doing. */
const FOLLOW_MS = 60_000;

export const aboutLeg = ({ call, leg }: { call: LiveCall; leg: LiveLeg }) => ({
  call_id: call.id,
  leg_id: leg.id as string,
  extension: leg.extension,
});
/** The leg and whom it talks to; throws `wrong_call_state` where it talks to nobody. */
export function talking(
  deps: CallControlDeps,
  actor: Actor,
  id: string,
  leg_id: string | undefined,
): Talking {
  const { live } = deps;
  const call = callFor(deps, actor, id);
  const leg = legFor(live, actor, call, leg_id);
  const side = live.beside(leg.id);
  if (side === undefined || !isTalking(leg)) throw wrongState('this leg talks to nobody now');
  return { call, leg, side };
}
/** Takes the other side back from a hold of ours first, because on hold it can be moved nowhere. */
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

export function createSteering(deps: CallControlDeps): Steering {
  const { engine, live, guard, clock, tell, recordings } = deps;
  /** The engine stops one recording each time, and refuses once none is left. */
  const stopAll = async (leg: LiveLeg, action_id: string): Promise<void> => {
    for (let i = 0; i < MOST_RECORDINGS; i += 1) {
      try {
        await engine.stopRecording(leg.id, { action_id: i === 0 ? action_id : `${action_id}-${i}` });
      } catch (error) {
        if (!(error instanceof ServiceError && error.code === 'engine_refused')) throw error;
        if (i === 0) throw wrongState('this leg is not recorded');
        return;
      }
    }
    throw wrongState(say`this leg had more than ${MOST_RECORDINGS} recordings`);
  };
  const start = async (leg: LiveLeg, action_id: string): Promise<void> => {
    const name = await recordings.begin(leg);
    try {
      await engine.startRecording(leg.id, name, { action_id });
    } catch (error) {
      if (error instanceof ServiceError && REFUSED.has(error.code)) await recordings.takeBack(name);
      throw error;
    }
  };
  const failedWithLeg = (leg: LiveLeg) => (): ServiceError | null =>
    live.leg(leg.id) === undefined ? gone() : null;

  const parkPlan = ({
    call,
    leg,
    side,
  }: Talking): Pick<
    Plan,
    'call_id' | 'leg_id' | 'extension' | 'expects' | 'confirmed' | 'failed' | 'waitingFor' | 'confirm_ms'
  > & { readonly parked: ChannelId } => {
    const { leg: parked } = side;
    if (parked === null) throw wrongState('there is nobody on the other side who could be parked');
    return {
      ...aboutLeg({ call, leg }),
      parked,
      expects: [
        ...(leg.held_here ? [{ type: 'call.retrieved', leg: leg.id } as const] : []),
        { type: 'call.parked', leg: parked },
        { type: 'parking.slot_occupied', leg: parked },
        { type: 'call.left', leg: leg.id },
      ],
      confirmed: () => live.leg(parked)?.slot != null,
      failed: () => (live.leg(parked) === undefined ? gone() : null),
      waitingFor: 'the call to be parked',
      confirm_ms: CONFIRM_MS * 2,
    };
  };
  /** By the number of a parking lot: the engine parks whom it is to call there. */
  const toLot = (at: Talking, to: string): Plan => {
    const { parked, ...plan } = parkPlan(at);
    return {
      ...plan,
      action: 'calls.transfer',
      send: async (action_id) => {
        await unhold(deps, at, action_id);
        await engine.blindTransfer(at.leg.id, to, { action_id });
      },
      detail: { kind: 'blind', to, destination: 'internal', parked_leg_id: parked },
    };
  };

  return {
    hangup(actor, id, choice) {
      const call = callFor(deps, actor, id);
      const whole = choice.leg_id === undefined && steersAll(actor) && !hasOwn(actor, call);
      const legs = whole ? call.legs : [legFor(live, actor, call, choice.leg_id)];
      const one = whole ? undefined : legs[0];
      // Of two, the one who is left alone goes too.
      const leaving = call.legs.length === 2 ? call.legs : legs;
      return {
        action: 'calls.hangup',
        call_id: call.id,
        leg_id: one?.id ?? null,
        extension: one?.extension ?? null,
        expects: [
          ...leaving.map(({ id: leg }) => ({ type: 'call.left', leg }) as const),
          { type: 'call.ended', call: call.id },
        ],
        send: async (operationId) => {
          // The engine does not tell of a hang-up that it was asked for, and that is what shows who gives up waiting.
          for (const { id: leg, extension } of legs) {
            const isOwn = extension !== null && extension === actor.caller.extension;
            if (isOwn) tell({ type: 'channel.ending', at: clock.now(), id: leg });
          }
          const end = (leg: LiveLeg, i: number): Promise<void> =>
            engine
              .hangup(leg.id, { action_id: i === 0 ? operationId : `${operationId}-${i}` })
              .catch((error: unknown) => {
                // One that is gone by itself is what was wanted.
                if (!(error instanceof ServiceError && error.code === 'engine_refused')) throw error;
              });
          await Promise.all(legs.map(end));
        },
        confirmed: () => legs.every((leg) => live.leg(leg.id) === undefined),
        waitingFor: 'the leg to end',
      };
    },

    async blindTransfer(actor, id, { to, leg_id }) {
      const at = talking(deps, actor, id, leg_id);
      checkSlot(deps, actor, to);
      const destination = await guard.admit(actor, at.leg.extension ?? actor.caller.username, to);
      if (deps.isLot(to)) return toLot(at, to);
      return {
        ...aboutLeg(at),
        action: 'calls.transfer',
        expects: [
          ...(at.leg.held_here ? [{ type: 'call.retrieved', leg: at.leg.id } as const] : []),
          { type: 'call.transferred', call: at.call.id, kind: 'blind', by: at.leg.extension, to },
          { type: 'call.left', leg: at.leg.id },
          { type: 'call.ringing', call: at.call.id, times: 8 },
          { type: 'call.joined', call: at.call.id },
        ],
        send: async (action_id) => {
          await unhold(deps, at, action_id);
          await engine.blindTransfer(at.leg.id, to, { action_id });
        },
        confirmed: (operationId) => live.ledTo(operationId).has('call.transferred'),
        failed: failedWithLeg(at.leg),
        waitingFor: 'the call to be transferred',
        confirm_ms: CONFIRM_MS * 2,
        follow_ms: FOLLOW_MS,
        detail: { kind: 'blind', to, destination },
      };
    },

    hold(actor, id, choice) {
      const at = talking(deps, actor, id, choice.leg_id);
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
        failed: failedWithLeg(leg),
        waitingFor: 'the other side to be on hold',
      };
    },

    retrieve(actor, id, wanted) {
      const call = live.call(id);
      const mine = call?.legs.some((leg) => leg.id === wanted.leg_id) || (call && hasOwn(actor, call));
      if (call?.legs.some((leg) => leg.slot !== null) && !mine) return null;
      const at = talking(deps, actor, id, wanted.leg_id);
      if (!at.leg.held_here) {
        throw wrongState(at.leg.held ? 'held at the device: retrieve it there' : 'nobody is on hold');
      }
      return {
        ...aboutLeg(at),
        action: 'calls.retrieve',
        expects: [{ type: 'call.retrieved', leg: at.leg.id }],
        send: (action_id) => engine.retrieve(at.side.channels, { action_id }),
        confirmed: () => live.leg(at.leg.id)?.held_here === false,
        failed: failedWithLeg(at.leg),
        waitingFor: 'the other side to be taken back from hold',
      };
    },

    park(actor, id, choice) {
      const at = talking(deps, actor, id, choice.leg_id);
      const { parked, ...plan } = parkPlan(at);
      return {
        ...plan,
        action: 'calls.park',
        send: async (action_id) => {
          await unhold(deps, at, action_id);
          await engine.park(parked, at.leg.endpoint, { action_id });
        },
        detail: { parked_leg_id: parked },
      };
    },

    digits(actor, id, digits, leg_id) {
      const call = callFor(deps, actor, id);
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
            await engine.digit(leg.id, digit, { action_id: i === 0 ? operationId : `${operationId}-${i}` });
          }
        },
        // In a call they are over once the other side was sent the last one; moving the call earlier would leave it pressed.
        confirmed: () => {
          const now = (at: LiveLeg | undefined, way: 'in' | 'out'): number =>
            at === undefined ? 0 : (live.leg(at.id)?.digits[way] ?? 0) - at.digits[way];
          return other === undefined ? now(leg, 'in') >= digits.length : now(other, 'out') >= digits.length;
        },
        failed: failedWithLeg(leg),
        waitingFor: 'the digits to be heard',
        confirm_ms: CONFIRM_MS + digits.length * DIGIT_MS,
        // What was dialled can be a secret.
        detail: { count: digits.length },
      };
    },

    record(actor, id, on, leg_id) {
      const call = callFor(deps, actor, id);
      const leg = legFor(live, actor, call, leg_id);
      if (on && leg.recording) throw wrongState('this leg is recorded already');
      if (!on && recordings.byRule(leg.id) && !steersAll(actor)) {
        throw new ServiceError(
          'forbidden',
          'this call is recorded by the rule of the site; pause it instead',
        );
      }
      if (on && !isTalking(leg)) throw wrongState('this leg talks to nobody now');
      const type = on ? 'call.recording_started' : 'call.recording_stopped';
      return {
        ...aboutLeg({ call, leg }),
        action: 'calls.record',
        expects: [{ type, leg: leg.id }],
        send: (action_id) => (on ? start(leg, action_id) : stopAll(leg, action_id)),
        confirmed: () => live.leg(leg.id)?.recording === on,
        failed: failedWithLeg(leg),
        waitingFor: on ? 'the recording to begin' : 'the recording to end',
        detail: { on },
      };
    },

    pauseRecording(actor, id, paused, choice) {
      const call = callFor(deps, actor, id);
      const own = legFor(live, actor, call, choice.leg_id);
      const side = live.beside(own.id)?.leg ?? null;
      const other = side === null ? undefined : live.leg(side);
      // What the other side hears is what this one says.
      const leg = !own.recording && other?.recording === true ? other : own;
      if (!leg.recording) throw wrongState('this leg is not recorded');
      const type = paused ? 'call.recording_paused' : 'call.recording_resumed';
      return {
        ...aboutLeg({ call, leg }),
        action: paused ? 'calls.pause_recording' : 'calls.resume_recording',
        expects: leg.recording_paused === paused ? [] : [{ type, leg: leg.id }],
        // Asked for once more it is what it was: the engine tells of it again, and nothing changes.
        send: (action_id) => engine.pauseRecording(leg.id, paused, { action_id }),
        confirmed: () => live.leg(leg.id)?.recording_paused === paused,
        failed: failedWithLeg(leg),
        waitingFor: paused ? 'the recording to pause' : 'the recording to go on',
      };
    },
  };
}
