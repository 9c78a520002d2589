import { bridgeEvents } from './bridge.ts';
import { channelEvents } from './channel.ts';
import { controlEvents } from './control.ts';
import type { EventDecoder } from './decoding.ts';
import { deviceStateEvents } from './device-state.ts';
import { dialEvents } from './dial.ts';
import { holdEvents } from './hold.ts';
import { offerEvents } from './offer.ts';
import { parkingEvents } from './parking.ts';
import { pickupEvents } from './pickup.ts';
import { queueCallerEvents } from './queue-caller.ts';
import { queueMemberEvents } from './queue-member.ts';
import { transferEvents } from './transfer.ts';
import { trunkEvents } from './trunk.ts';

/** Decoders by the event's name on the wire. */
export const EVENT_DECODERS: ReadonlyMap<string, EventDecoder> = new Map<string, EventDecoder>(
  Object.entries({
    ...channelEvents,
    ...bridgeEvents,
    ...dialEvents,
    ...holdEvents,
    ...controlEvents,
    ...transferEvents,
    ...pickupEvents,
    ...parkingEvents,
    ...queueCallerEvents,
    ...queueMemberEvents,
    ...offerEvents,
    ...deviceStateEvents,
    ...trunkEvents,
  }),
);
