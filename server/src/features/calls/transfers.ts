/**
 * Attended transfers. The engine keeps the truth; what is kept here is which leg began one and whom it talked to, so that
 * the state can be read from the live view:
 *
 *   calling --answered--> consulting <--swap--> swapped
 *      \------------- complete -------------------/──> completed
 *       \------------ cancel, nobody answered ───────> canceled
 */
import type { CallTransfer, TransferRequest } from '@offhook/contract/call-control.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { callsOf, reaches } from '../../rights/rights.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Actor } from '../../ports/operations.ts';
import type { CallControlDeps } from './deps.ts';
import { gone, wrongState } from './deps.ts';
import { CONFIRM_MS } from './perform.ts';
import type { Plan } from './perform.ts';
import { checkSlot } from './reach.ts';
import { aboutLeg, talking, unhold } from './steer.ts';

export interface Transfers {
  /** The plan of the consult; `began` is to be told its operation once it is confirmed. */
  consult(actor: Actor, id: string, wanted: TransferRequest): Promise<Plan>;
  swap(actor: Actor, id: string): Plan;
  complete(actor: Actor, id: string): Plan;
  cancel(actor: Actor, id: string): Plan;
  /** The newest of this call. Throws `not_found`. */
  of(actor: Actor, id: string): CallTransfer;
  onDomainEvent(event: DomainEvent): void;
}
interface Kept {
  readonly id: string;
  readonly call_id: string;
  readonly leg_id: string;
  readonly extension: string | null;
  readonly to: string;
  /** The leg that was talked to before. */
  readonly other: string | null;
  readonly at: number;
  over: 'completed' | 'canceled' | null;
}

/** How long the one who is consulted may ring: what the engine allows, and a little. */
const CONSULT_MS = 35_000;
const KEEP_MS = 600_000;
const MOST = 1_000;

const unanswered = (to: string): ServiceError =>
  new ServiceError('consult_no_answer', say`${to} did not answer`);

export function createTransfers(deps: CallControlDeps): Transfers {
  const { engine, live, guard, clock } = deps;
  /** By operation, oldest first. */
  const kept = new Map<string, Kept>();

  const keep = (transfer: Kept): void => {
    for (const [id, old] of kept) {
      if (kept.size < MOST && (old.over === null || old.at > transfer.at - KEEP_MS)) break;
      kept.delete(id);
    }
    kept.set(transfer.id, transfer);
  };
  /** Legs beside the two that talked before: whom it is passed on to. */
  const newSides = (t: Kept): number =>
    live.call(t.call_id)?.legs.filter((leg) => leg.id !== t.leg_id && leg.id !== t.other).length ?? 0;
  const stateOf = (t: Kept): CallTransfer['state'] => {
    if (t.over !== null) return t.over;
    if (live.leg(t.leg_id) === undefined) return 'canceled';
    const beside = live.beside(t.leg_id)?.leg ?? null;
    if (beside !== null && beside !== t.other) return 'consulting';
    if (beside === null) return 'calling';
    return newSides(t) > 0 ? 'swapped' : 'canceled';
  };
  const shown = (t: Kept): CallTransfer => ({
    id: t.id,
    call_id: t.call_id,
    leg_id: t.leg_id,
    extension: t.extension,
    to: t.to,
    state: stateOf(t),
  });
  const may = (actor: Actor, t: Kept): boolean => {
    const objects = callsOf(actor.caller, 'control');
    return objects === null || (t.extension !== null && reaches(objects, t.extension));
  };
  const newest = (actor: Actor, call: string): Kept => {
    const id = live.call(call)?.id ?? call;
    const found = [...kept.values()].findLast(
      (t) => (t.call_id === id || t.call_id === call) && may(actor, t),
    );
    if (found === undefined)
      throw new ServiceError('not_found', 'there is no attended transfer of this call');
    return found;
  };
  const open = (actor: Actor, call: string, ...states: CallTransfer['state'][]): Kept => {
    const found = newest(actor, call);
    const state = stateOf(found);
    if (!states.includes(state)) throw wrongState(say`the transfer is ${state}`);
    return found;
  };
  const aboutTransfer = (t: Kept) => ({ call_id: t.call_id, leg_id: t.leg_id, extension: t.extension });
  const channel = (t: Kept) => t.leg_id as Parameters<typeof engine.hangup>[0];

  return {
    async consult(actor, id, { to, leg_id }) {
      const at = talking(deps, actor, id, leg_id);
      const { call, leg, side } = at;
      for (const t of kept.values()) {
        if (t.leg_id !== leg.id || t.over !== null) continue;
        if (stateOf(t) !== 'canceled') throw wrongState('an attended transfer of this leg is under way');
        t.over = 'canceled';
      }
      checkSlot(deps, actor, to);
      if (deps.isLot(to)) {
        throw new ServiceError('invalid_request', 'to: a parking number takes blind transfers only');
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
          await unhold(deps, at, action_id);
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
        // The engine's own half of a pair stands in the new side's place until that answers.
        confirmed: (operationId) => {
          const now = live.beside(leg.id);
          const begun = live.ledTo(operationId).has('call.held') && now !== undefined && now.leg !== side.leg;
          if (begun && transfer !== null && !kept.has(transfer.id)) keep(transfer);
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
            const t = kept.get(operationId)!;
            await live.until(() => stateOf(t) !== 'calling', {
              signal,
              ms: CONSULT_MS,
              waitingFor: `${to} to answer`,
            });
            if (stateOf(t) === 'canceled') throw unanswered(to);
          },
        },
        detail: { kind: 'attended', to, destination },
      };
    },
    swap(actor, id) {
      const t = open(actor, id, 'consulting', 'swapped');
      const from = stateOf(t);
      return {
        ...aboutTransfer(t),
        action: 'calls.transfer-swap',
        expects: [
          { type: 'call.held', leg: t.leg_id },
          { type: 'call.retrieved', leg: t.leg_id },
        ],
        send: (action_id) => engine.swapConsult(channel(t), { action_id }),
        confirmed: () => stateOf(t) === (from === 'consulting' ? 'swapped' : 'consulting'),
        failed: () => (stateOf(t) === 'canceled' || t.over !== null ? gone() : null),
        waitingFor: 'the sides to change',
      };
    },
    complete(actor, id) {
      const t = open(actor, id, 'calling', 'consulting', 'swapped');
      return {
        ...aboutTransfer(t),
        action: 'calls.transfer-complete',
        expects: [
          { type: 'call.transferred', call: t.call_id, kind: 'attended', by: t.extension },
          { type: 'call.left', leg: t.leg_id },
        ],
        send: (action_id) => engine.completeConsult(channel(t), { action_id }),
        confirmed: (operationId) => live.ledTo(operationId).has('call.transferred'),
        failed: () => (live.leg(t.leg_id) === undefined && t.over !== 'completed' ? gone() : null),
        waitingFor: 'the call to be transferred',
      };
    },
    cancel(actor, id) {
      const t = open(actor, id, 'calling', 'consulting', 'swapped');
      return {
        ...aboutTransfer(t),
        action: 'calls.transfer-cancel',
        expects: [{ type: 'call.retrieved', leg: t.leg_id }],
        send: (action_id) => engine.cancelConsult(channel(t), { action_id }),
        confirmed: () => live.beside(t.leg_id)?.leg === t.other && newSides(t) === 0,
        failed: () => (live.leg(t.leg_id) === undefined ? gone() : null),
        waitingFor: 'the call to be as before',
      };
    },
    of: (actor, id) => shown(newest(actor, id)),
    onDomainEvent(event) {
      if (kept.size === 0) return;
      if (
        event.type !== 'call.transferred' &&
        event.type !== 'call.ended' &&
        event.type !== 'call.retrieved'
      ) {
        return;
      }
      const id = event.data.call_id;
      for (const t of kept.values()) {
        if (t.over !== null || (t.call_id !== id && live.call(t.call_id)?.id !== id)) continue;
        if (event.type === 'call.transferred' && event.data.kind === 'attended') t.over = 'completed';
        else if (stateOf(t) === 'canceled') t.over = 'canceled';
      }
    },
  };
}
