import { channelId } from '@offhook/contract/ids.ts';
import type { EngineEventOf } from '../../../ports/engine.ts';
import { header } from '../ami/frame.ts';
import type { EventDecoder } from './decoding.ts';
import { need } from './decoding.ts';

/*
 * ParkedCall         parkee-chan ParkerDialString Parkinglot ParkingSpace ParkingTimeout ParkingDuration
 * UnParkedCall       parkee-chan [parker-chan] ParkerDialString Parkinglot ParkingSpace ... retriever-chan
 * ParkedCallTimeOut  parkee-chan [parker-chan] ParkerDialString Parkinglot ParkingSpace ...
 * ParkedCallGiveUp   parkee-chan [parker-chan] ParkerDialString Parkinglot ParkingSpace ...
 *
 * Prefixes of the channels: Parkee Parker Retriever.
 */
const parkee = header('ParkeeUniqueid');
const lot = header('Parkinglot');
const space = header('ParkingSpace');

const parked: EventDecoder = (frame, at, d) => {
  const id = channelId(d.node, need(frame, parkee));
  d.emit({ at, type: 'channel.parked', id, lot: frame.get(lot) ?? '', slot: need(frame, space) });
};
const unparked =
  (reason: EngineEventOf<'channel.unparked'>['reason']): EventDecoder =>
  (frame, at, d) => {
    const id = channelId(d.node, need(frame, parkee));
    d.emit({ at, type: 'channel.unparked', id, slot: need(frame, space), reason });
  };

export const parkingEvents = {
  ParkedCall: parked,
  UnParkedCall: unparked('retrieved'),
  ParkedCallTimeOut: unparked('timeout'),
  ParkedCallGiveUp: unparked('gave_up'),
} satisfies Record<string, EventDecoder>;
