import { channelId } from '@offhook/contract/ids.ts';
import { header } from '../ami/frame.ts';
import type { EventDecoder } from './decoding.ts';
import { need, subject } from './decoding.ts';

/*
 * Pickup  chan target-chan
 *
 * chan picked up; target-chan (prefix Target) was ringing and is answered elsewhere.
 */
const target = header('TargetUniqueid');

const pickup: EventDecoder = (frame, at, d) => {
  const by = subject(frame, d);
  d.emit({ at, type: 'channel.picked_up', by, target: channelId(d.node, need(frame, target)) });
};

export const pickupEvents = { Pickup: pickup } satisfies Record<string, EventDecoder>;
