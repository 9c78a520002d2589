/**
 * Attended transfers. The engine holds their state; only the leg that began one and its former other side are kept
 * here, so that the state can be read from the live view:
 *
 *   calling --answered--> consulting <--swap--> swapped
 *      \------------- complete -------------------/──> completed
 *       \------------ cancel, no answer ──────────────> canceled
 */
import type { CallTransfer, TransferRequest } from '@offhook/contract/call-control.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeOf } from '@offhook/contract/ids.ts';
import type { ChannelId } from '@offhook/contract/ids.ts';
import { callsOf, reaches } from '../../rights/rights.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { LiveLeg } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { CallControlDeps } from './deps.ts';
import { gone, isTaken, wrongState } from './deps.ts';
import { CONFIRM_MS } from './perform.ts';
import type { Plan } from './perform.ts';
import { checkSlot } from './reach.ts';
import { aboutLeg, heldAtDevice, talking, unhold } from './steer.ts';

interface Kept {
  readonly id: string;
  readonly call_id: string;
  readonly leg_id: ChannelId;
  readonly extension: string | null;
  readonly to: string;
  /** Leg of the other side before the transfer; null if that side is no leg. */
  readonly other: string | null;
  readonly at: number;
  over: 'completed' | 'canceled' | null;
}

/** Ring time of the new side: the engine's own limit and a margin. */
const CONSULT_MS = 35_000;
const KEEP_MS = 600_000;
const MOST = 1_000;

const unanswered = (to: string): ServiceError =>
  new ServiceError('consult_no_answer', say`${to} did not answer`);

function may(actor: Actor, t: Kept): boolean {
  const objects = callsOf(actor.caller, 'control');
  return objects === null || (t.extension !== null && reaches(objects, t.extension));
}
function aboutTransfer(t: Kept) {
  return { call_id: t.call_id, leg_id: t.leg_id, extension: t.extension };
}

export class Transfers {
  readonly #deps: CallControlDeps;
  /** Transfers by operation, oldest first. */
  readonly #kept = new Map<string, Kept>();

  constructor(deps: CallControlDeps) {
    this.#deps = deps;
  }
  /** Throws `wrong_call_state` during an attended transfer of this leg: only the commands below may move its sides. */
  checkNone(leg: LiveLeg): void {
    for (const t of this.#kept.values()) {
      if (t.leg_id !== leg.id || t.over !== null) continue;
      if (this.#stateOf(t) !== 'canceled')
        throw wrongState('an attended transfer of this leg is under way; complete or cancel it first');
      t.over = 'canceled';
    }
  }
  /** Holds the other side and calls the new one. */
  async consult(actor: Actor, id: string, { to, leg_id }: TransferRequest): Promise<Plan> {
    const { engine, live, guard, clock } = this.#deps;
    const at = await talking(this.#deps, actor, id, leg_id);
    const { call, leg, side } = at;
    this.checkNone(leg);
    if (leg.held && !leg.held_here) throw heldAtDevice();
    checkSlot(this.#deps, actor, to, nodeOf(leg.id));
    if (this.#deps.isLot(to)) {
      throw new ServiceError(
        'invalid_request',
        'to: a parking number can only be the target of a blind transfer',
      );
    }
    const destination = await guard.admit(actor, leg.extension ?? actor.caller.username, to);
    let transfer: Kept | null = null;
    return {
      ...aboutLeg(at),
      action: 'calls.transfer',
      expects: [
        ...(leg.held_here ? [{ type: 'call.retrieved', leg: leg.id } as const] : []),
        { type: 'call.held', leg: leg.id },
        { type: 'call.ringing', call: call.id, times: 8 },
        { type: 'call.joined', call: call.id },
      ],
      send: async (action_id) => {
        await unhold(this.#deps, at, action_id);
        // The device may hold the call too, which only the end of the service's hold shows.
        if (live.leg(leg.id)?.held === true) throw heldAtDevice();
        transfer = {
          id: action_id,
          call_id: call.id,
          leg_id: leg.id,
          extension: leg.extension,
          to,
          other: side.leg,
          at: clock.now(),
          over: null,
        };
        await engine.consult(leg.id, to, leg.extension, { action_id });
      },
      // Until the new side answers, the engine's own half of a pair is in its place.
      confirmed: (operationId) => {
        const now = live.beside(leg.id);
        const begun = live.ledTo(operationId).has('call.held') && now !== undefined && now.leg !== side.leg;
        if (begun && transfer !== null && !this.#kept.has(transfer.id)) this.#keep(transfer);
        return begun;
      },
      failed: (operationId) => {
        if (live.leg(leg.id) === undefined) return gone();
        const back = live.ledTo(operationId).has('call.held') && live.leg(leg.id)?.held === false;
        return back ? unanswered(to) : null;
      },
      waitingFor: 'the new side to be called',
      confirm_ms: CONFIRM_MS * 2,
      rest: {
        ms: CONSULT_MS,
        done: async (signal, operationId) => {
          const t = this.#kept.get(operationId)!;
          await live.until(() => this.#stateOf(t) !== 'calling', {
            signal,
            ms: CONSULT_MS,
            waitingFor: `${to} to answer`,
          });
          if (this.#stateOf(t) === 'canceled') throw unanswered(to);
        },
      },
      detail: { kind: 'attended', to, destination },
    };
  }
  swap(actor: Actor, id: string): Plan {
    const t = this.#open(actor, id, 'consulting', 'swapped');
    const from = this.#stateOf(t);
    return {
      ...aboutTransfer(t),
      action: 'calls.transfer-swap',
      expects: [
        { type: 'call.held', leg: t.leg_id },
        { type: 'call.retrieved', leg: t.leg_id },
      ],
      send: (action_id) => this.#deps.engine.swapConsult(t.leg_id, { action_id }),
      confirmed: () => this.#stateOf(t) === (from === 'consulting' ? 'swapped' : 'consulting'),
      failed: () => this.#goneIfOver(t),
      waitingFor: 'the sides to change',
    };
  }
  complete(actor: Actor, id: string): Plan {
    const { engine, live } = this.#deps;
    const t = this.#open(actor, id, 'calling', 'consulting', 'swapped');
    return {
      ...aboutTransfer(t),
      action: 'calls.transfer-complete',
      expects: [
        { type: 'call.transferred', call: t.call_id, kind: 'attended', by: t.extension },
        { type: 'call.left', leg: t.leg_id },
      ],
      send: (action_id) => engine.completeConsult(t.leg_id, { action_id }),
      confirmed: (operationId) => live.ledTo(operationId).has('call.transferred'),
      failed: () => (t.over === 'completed' ? null : this.#goneIfOver(t)),
      waitingFor: 'the call to be transferred',
    };
  }
  cancel(actor: Actor, id: string): Plan {
    const { engine, live } = this.#deps;
    const t = this.#open(actor, id, 'calling', 'consulting', 'swapped');
    return {
      ...aboutTransfer(t),
      action: 'calls.transfer-cancel',
      expects: [{ type: 'call.retrieved', leg: t.leg_id }],
      send: (action_id) => engine.cancelConsult(t.leg_id, { action_id }),
      confirmed: () => live.beside(t.leg_id)?.leg === t.other && this.#newSides(t) === 0,
      failed: () => this.#goneIfOver(t),
      waitingFor: 'the call to be as before',
    };
  }
  /** The newest transfer of this call. Throws `not_found`. */
  of(actor: Actor, id: string): CallTransfer {
    return this.#shown(this.#newest(actor, id));
  }
  onDomainEvent(event: DomainEvent): void {
    if (this.#kept.size === 0) return;
    if (
      event.type !== 'call.transferred' &&
      event.type !== 'call.ended' &&
      event.type !== 'call.retrieved' &&
      event.type !== 'call.left'
    ) {
      return;
    }
    const id = event.data.call_id;
    for (const t of this.#kept.values()) {
      if (t.over !== null || (t.call_id !== id && this.#deps.live.call(t.call_id)?.id !== id)) continue;
      if (event.type === 'call.transferred' && event.data.kind === 'attended') t.over = 'completed';
      // The end of the own leg may be that of a completed transfer, whose event follows.
      else if (event.type === 'call.left' && this.#deps.live.leg(t.leg_id) === undefined) continue;
      else if (this.#stateOf(t) === 'canceled') t.over = 'canceled';
    }
  }

  #keep(transfer: Kept): void {
    for (const [id, old] of this.#kept) {
      if (this.#kept.size < MOST && (old.over === null || old.at > transfer.at - KEEP_MS)) break;
      this.#kept.delete(id);
    }
    this.#kept.set(transfer.id, transfer);
  }
  /** Number of legs beside the two that talked before the transfer. */
  #newSides(t: Kept): number {
    return (
      this.#deps.live.call(t.call_id)?.legs.filter((leg) => leg.id !== t.leg_id && leg.id !== t.other)
        .length ?? 0
    );
  }
  /** True if the call has an answered leg that is not beside this one: the held side, or another leg in its place. */
  #isHeld(leg: LiveLeg, beside: ChannelId | null): boolean {
    const { legs = [] } = this.#deps.live.call(leg.call) ?? {};
    return legs.some((one) => one.id !== leg.id && one.id !== beside && isTaken(one));
  }
  #stateOf(t: Kept): CallTransfer['state'] {
    if (t.over !== null) return t.over;
    const leg = this.#deps.live.leg(t.leg_id);
    if (leg === undefined) return 'canceled';
    const beside = this.#deps.live.beside(t.leg_id)?.leg ?? null;
    if (t.other !== null && beside !== t.other && !this.#isHeld(leg, beside)) return 'canceled';
    if (beside !== null && beside !== t.other) return 'consulting';
    // A side that is no leg is beside the leg again once the hold has ended.
    if (beside === null && (t.other !== null || leg.held)) return 'calling';
    return this.#newSides(t) > 0 ? 'swapped' : 'canceled';
  }
  #goneIfOver(t: Kept): ServiceError | null {
    const state = this.#stateOf(t);
    return state === 'canceled' || state === 'completed' ? gone() : null;
  }
  #shown(t: Kept): CallTransfer {
    return {
      id: t.id,
      call_id: t.call_id,
      leg_id: t.leg_id,
      extension: t.extension,
      to: t.to,
      state: this.#stateOf(t),
    };
  }
  #newest(actor: Actor, call: string): Kept {
    const id = this.#deps.live.call(call)?.id ?? call;
    const found = [...this.#kept.values()].findLast(
      (t) => (t.call_id === id || t.call_id === call) && may(actor, t),
    );
    if (found === undefined)
      throw new ServiceError('not_found', 'there is no attended transfer of this call');
    return found;
  }
  #open(actor: Actor, call: string, ...states: CallTransfer['state'][]): Kept {
    const found = this.#newest(actor, call);
    const state = this.#stateOf(found);
    if (!states.includes(state)) throw wrongState(say`the transfer is ${state}`);
    return found;
  }
}
