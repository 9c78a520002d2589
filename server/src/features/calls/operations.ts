import {
  callControl as controlled,
  liveCalls as live,
  parking as parked,
} from '@offhook/contract/operations/calls.ts';
import { checkParking } from '../../rights/rights.ts';
import type { Served } from '../../ports/operations.ts';
import type { CallControlFeature } from './feature.ts';
import type { LiveCalls } from './live.ts';
import type { LiveParking } from './parking.ts';

/** Operations on live calls, from memory. */
export const callOperations = (calls: LiveCalls): Served<typeof live> => ({
  operations: live,
  handlers: {
    list: ({ caller }) => calls.list(caller),
    get: ({ caller }, { params }) => calls.one(caller, params.id),
  },
});
/** Operations on the site's parked calls, from memory. */
export const parkingOperations = (parking: LiveParking): Served<typeof parked> => ({
  operations: parked,
  handlers: {
    parked({ caller }) {
      checkParking(caller);
      return parking.snapshot();
    },
  },
});
export function callControlOperations(control: CallControlFeature): Served<typeof controlled> {
  type Handlers = Served<typeof controlled>['handlers'];
  const ending =
    (how: 'swap' | 'complete' | 'cancel'): Handlers['swapTransfer'] =>
    async (actor, { params }) => ({ operation: await control.endTransfer(actor, params.id, how) });
  const recording =
    (pauses: boolean): Handlers['pauseRecording'] =>
    async (actor, { params, body }) => ({
      operation: await control.pauseRecording(actor, params.id, pauses, body),
    });
  // The service checks the level, because an attempt without it is audited.
  const listening =
    (does: 'listen' | 'whisper' | 'barge'): Handlers['listen'] =>
    async (actor, { params, body }) => ({ operation: await control.listen(actor, params.id, does, body) });
  return {
    operations: controlled,
    handlers: {
      originate: (actor, { body }) => control.originate(actor, body),
      hangup: async (actor, { params, body }) => ({
        operation: await control.hangup(actor, params.id, body),
      }),
      transfer: (actor, { params, body }) => control.transfer(actor, params.id, body),
      transferOf: (exchange, { params }) => ({ transfer: control.transferOf(exchange, params.id) }),
      swapTransfer: ending('swap'),
      completeTransfer: ending('complete'),
      cancelTransfer: ending('cancel'),
      hold: async (actor, { params, body }) => ({ operation: await control.hold(actor, params.id, body) }),
      retrieve: async (actor, { params, body }) => ({
        operation: await control.retrieve(actor, params.id, body),
      }),
      park: (actor, { params, body }) => control.park(actor, params.id, body),
      pickup: async (actor, { params, body }) => ({
        operation: await control.pickup(actor, params.id, body),
      }),
      pickupAt: async (actor, { params, body }) => ({
        operation: await control.pickupAt(actor, params.extension, body),
      }),
      dtmf: async (actor, { params, body }) => ({
        operation: await control.digits(actor, params.id, body.digits, body.leg_id),
      }),
      record: async (actor, { params, body }) => ({
        operation: await control.record(actor, params.id, body.on, body.leg_id),
      }),
      pauseRecording: recording(true),
      resumeRecording: recording(false),
      listen: listening('listen'),
      whisper: listening('whisper'),
      barge: listening('barge'),
      settings: () => ({ settings: control.settings() }),
      setSettings: async (actor, { body }) => ({ settings: await control.changeSettings(actor, body) }),
    },
  };
}
