import type {
  CallOperation,
  CallTransfer,
  LegChoice,
  ListenRequest,
  NewCall,
  OwnDeviceChoice,
  PickupRequest,
  RetrieveRequest,
  TransferRequest,
} from '@offhook/contract/call-control.ts';
import type { LegDisposition } from '@offhook/contract/conversations.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { Actor } from '../../ports/operations.ts';
import { run, runAlone, runAloneOnLeg } from './deps.ts';
import type { Busy, CallControlDeps } from './deps.ts';
import type { Plan } from './perform.ts';
import { Placing } from './place.ts';
import { parkedIn, ringingLeg } from './reach.ts';
import { Steering } from './steer.ts';
import { Transfers } from './transfers.ts';

/** Each throws `ServiceError` with a code of operations.ts, and resolves once the engine confirmed. */
export interface CallControl {
  originate(
    actor: Actor,
    wanted: NewCall,
  ): Promise<{ operation: CallOperation; customer_disposition: LegDisposition | null }>;
  pickup(actor: Actor, id: string, wanted: PickupRequest): Promise<CallOperation>;
  /** Takes the call that rings at this extension: its ringing is visible to all, the call's id is not. */
  pickupAt(actor: Actor, extension: string, wanted: OwnDeviceChoice): Promise<CallOperation>;
  listen(
    actor: Actor,
    id: string,
    does: 'listen' | 'whisper' | 'barge',
    wanted: ListenRequest,
  ): Promise<CallOperation>;
  hangup(actor: Actor, id: string, choice: LegChoice): Promise<CallOperation>;
  hold(actor: Actor, id: string, choice: LegChoice): Promise<CallOperation>;
  retrieve(actor: Actor, id: string, wanted: RetrieveRequest): Promise<CallOperation>;
  park(actor: Actor, id: string, choice: LegChoice): Promise<{ operation: CallOperation; slot: string }>;
  digits(actor: Actor, id: string, digits: string, leg_id?: string): Promise<CallOperation>;
  record(actor: Actor, id: string, on: boolean, leg_id?: string): Promise<CallOperation>;
  /** Resolves once the pause of the recording is stored too. */
  pauseRecording(actor: Actor, id: string, paused: boolean, choice: LegChoice): Promise<CallOperation>;
  transfer(
    actor: Actor,
    id: string,
    wanted: TransferRequest,
  ): Promise<{ operation: CallOperation; transfer: CallTransfer | null; slot: string | null }>;
  /** Changes or ends an attended transfer. */
  endTransfer(actor: Actor, id: string, how: 'swap' | 'complete' | 'cancel'): Promise<CallOperation>;
  /** Throws `not_found`. */
  transferOf(actor: Actor, id: string): CallTransfer;
  /** Accepts every committed event, in order. */
  onDomainEvent(event: DomainEvent): void;
}

export function createCallControl(deps: CallControlDeps): CallControl {
  const placing = new Placing(deps);
  const transfers = new Transfers(deps);
  const steering = new Steering(
    deps,
    (leg) => transfers.checkNone(leg),
    (call) => placing.hungUp(call),
  );
  const busy: Busy = new Set();
  const recorders: Busy = new Set();
  const alone = (actor: Actor, verb: string, id: string, plan: () => Promise<Plan> | Plan) =>
    runAlone(deps, busy, actor, `calls.${verb}`, id, plan);
  /** Slot on which the other side is parked now. */
  const slotOf = ({ call_id }: CallOperation): string | null =>
    parkedIn(deps.live, deps.live.call(call_id ?? ''))?.slot ?? null;
  return {
    async originate(actor, wanted) {
      const operation = await run(deps, actor, 'calls.originate', wanted.to, () =>
        placing.call(actor, wanted),
      );
      const { customer_disposition = null } = deps.live.call(operation.call_id ?? '') ?? {};
      return { operation, customer_disposition };
    },
    pickup: (actor, id, wanted) =>
      run(deps, actor, 'calls.pickup', id, () => placing.pickup(actor, id, wanted)),
    pickupAt: (actor, extension, wanted) =>
      run(deps, actor, 'calls.pickup', extension, () => {
        const leg = ringingLeg(deps.live, extension);
        return placing.pickup(actor, leg.call, { ...wanted, leg_id: leg.id });
      }),
    listen: (actor, id, does, wanted) =>
      run(deps, actor, `calls.${does}`, id, async () => {
        await placing.settled(actor, wanted);
        return placing.listen(actor, id, does, wanted);
      }),
    hangup: (actor, id, choice) =>
      run(deps, actor, 'calls.hangup', id, () => steering.hangup(actor, id, choice)),
    hold: (actor, id, choice) => alone(actor, 'hold', id, () => steering.hold(actor, id, choice)),
    retrieve: (actor, id, wanted) =>
      alone(
        actor,
        'retrieve',
        id,
        async () => (await steering.retrieve(actor, id, wanted)) ?? placing.parked(actor, id, wanted),
      ),
    async park(actor, id, choice) {
      const operation = await alone(actor, 'park', id, () => steering.park(actor, id, choice));
      return { operation, slot: slotOf(operation) ?? '' };
    },
    digits: (actor, id, digits, leg_id) =>
      run(deps, actor, 'calls.dtmf', id, () => steering.digits(actor, id, digits, leg_id)),
    record: (actor, id, on, leg_id) =>
      runAloneOnLeg(deps, recorders, actor, 'calls.record', id, () => steering.record(actor, id, on, leg_id)),
    async pauseRecording(actor, id, paused, choice) {
      const operation = await runAloneOnLeg(
        deps,
        recorders,
        actor,
        `calls.${paused ? 'pause' : 'resume'}_recording`,
        id,
        () => steering.pauseRecording(actor, id, paused, choice),
      );
      if (operation.leg_id !== null) await deps.recordings.paused(operation.leg_id, paused, deps.clock.now());
      return operation;
    },
    async transfer(actor, id, wanted) {
      const attended = wanted.kind === 'attended';
      const operation = await alone(actor, 'transfer', id, () =>
        attended ? transfers.consult(actor, id, wanted) : steering.blindTransfer(actor, id, wanted),
      );
      const slot = deps.isLot(wanted.to) ? slotOf(operation) : null;
      return { operation, transfer: attended ? transfers.of(actor, operation.call_id ?? id) : null, slot };
    },
    endTransfer: (actor, id, how) => alone(actor, `transfer-${how}`, id, () => transfers[how](actor, id)),
    transferOf: (actor, id) => transfers.of(actor, id),
    onDomainEvent(event) {
      deps.ended.onDomainEvent(event);
      transfers.onDomainEvent(event);
    },
  };
}
