import { channelId } from '@offhook/contract/ids.ts';
import { header } from '../ami/frame.ts';
import type { EventDecoder } from './decoding.ts';
import { Malformed, need, subject } from './decoding.ts';

/*
 * MixMonitorStart  chan
 * MixMonitorStop   chan
 * DTMFEnd          chan Digit DurationMs Direction
 * ChanSpyStart     spyer-chan spyee-chan
 *
 * Prefixes of the channels: Spyer Spyee. Direction: Received is what came from the device, or was given as if it had.
 */
const digit = header('Digit');
const direction = header('Direction');
const spyer = header('SpyerUniqueid');
const spyee = header('SpyeeUniqueid');
const DIGIT = /^[0-9*#A-D]$/;

const recording =
  (on: boolean): EventDecoder =>
  (frame, at, d) =>
    d.emit({ at, type: 'channel.recording', id: subject(frame, d), on });
const digitEnded: EventDecoder = (frame, at, d) => {
  if (frame.get(direction) !== 'Received') return;
  const pressed = need(frame, digit);
  if (!DIGIT.test(pressed)) throw new Malformed('Digit is none');
  d.emit({ at, type: 'channel.digit', id: subject(frame, d), digit: pressed });
};
const listening: EventDecoder = (frame, at, d) => {
  const [id, to] = [channelId(d.node, need(frame, spyer)), channelId(d.node, need(frame, spyee))];
  d.emit({ at, type: 'channel.listening', id, to });
};

export const controlEvents = {
  MixMonitorStart: recording(true),
  MixMonitorStop: recording(false),
  DTMFEnd: digitEnded,
  ChanSpyStart: listening,
} satisfies Record<string, EventDecoder>;
