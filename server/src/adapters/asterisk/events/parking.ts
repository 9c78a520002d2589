import { channelId } from '@offhook/contract/ids.ts';
import type { NodeId } from '@offhook/contract/ids.ts';
import type { EngineEventOf } from '../../../ports/engine-events.ts';
import type { ParkedChannel } from '../../../ports/engine-state.ts';
import { header } from '../ami/frame.ts';
import type { Frame } from '../ami/frame.ts';
import type { EventDecoder } from './decoding.ts';
import { need } from './decoding.ts';

/*
 * ParkedCall         parkee-chan ParkerDialString Parkinglot ParkingSpace ParkingTimeout ParkingDuration
 * ParkedCallSwap     as ParkedCall: another channel takes the place of the one on the slot
 * UnParkedCall       parkee-chan [parker-chan] ParkerDialString Parkinglot ParkingSpace ... retriever-chan
 * ParkedCallTimeOut  parkee-chan [parker-chan] ParkerDialString Parkinglot ParkingSpace ...
 * ParkedCallGiveUp   parkee-chan [parker-chan] ParkerDialString Parkinglot ParkingSpace ...
 *
 * Prefixes of the channels: Parkee Parker Retriever. A row of ParkedCalls has the headers of ParkedCall.
 */
const parkee = header('ParkeeUniqueid');
const lot = header('Parkinglot');
const space = header('ParkingSpace');
const duration = header('ParkingDuration');

const parked: EventDecoder = (frame, at, d) => {
  const id = channelId(d.node, need(frame, parkee));
  d.emit({ at, type: 'channel.parked', id, lot: frame.get(lot) ?? '', slot: need(frame, space) });
};
/** One row of `ParkedCalls`; `now` is the engine's own time. */
export const parkedRow = (node: NodeId, frame: Frame, now: number): ParkedChannel => ({
  channel: channelId(node, need(frame, parkee)),
  lot: frame.get(lot) ?? '',
  slot: need(frame, space),
  since: now - frame.int(duration, 0) * 1000,
});
const unparked =
  (reason: EngineEventOf<'channel.unparked'>['reason']): EventDecoder =>
  (frame, at, d) => {
    const id = channelId(d.node, need(frame, parkee));
    d.emit({ at, type: 'channel.unparked', id, slot: need(frame, space), reason });
  };

export const parkingEvents = {
  ParkedCall: parked,
  ParkedCallSwap: parked,
  UnParkedCall: unparked('retrieved'),
  ParkedCallTimeOut: unparked('timeout'),
  ParkedCallGiveUp: unparked('gave_up'),
} satisfies Record<string, EventDecoder>;
