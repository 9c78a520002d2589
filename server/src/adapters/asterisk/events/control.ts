import { channelId } from '@offhook/contract/ids.ts';
import { header } from '../ami/frame.ts';
import type { EventDecoder } from './decoding.ts';
import { Malformed, need, subject } from './decoding.ts';

/*
 * MixMonitorStart  chan
 * MixMonitorStop   chan
 * MixMonitorMute   chan Direction State
 * DTMFEnd          chan Digit DurationMs Direction
 * ChanSpyStart     spyer-chan spyee-chan
 *
 * Prefixes of the channels: Spyer Spyee. Direction: Received is a digit from the device, or one played as if it came from there;
 * the engine reports a played one when it begins. Digits may be a secret, so none is read.
 */
const direction = header('Direction');
const state = header('State');
const spyer = header('SpyerUniqueid');
const spyee = header('SpyeeUniqueid');

const recording =
  (on: boolean): EventDecoder =>
  (frame, at, d) =>
    d.emit({ at, type: 'channel.recording', id: subject(frame, d), on });
/** Our commands always mute both sides, so one muted side is not ours. */
const recordingMuted: EventDecoder = (frame, at, d) => {
  if (frame.get(direction) !== 'both') return;
  d.emit({ at, type: 'channel.recording_paused', id: subject(frame, d), on: frame.get(state) === '1' });
};
const digitEnded: EventDecoder = (frame, at, d) => {
  const way = frame.get(direction);
  if (way !== 'Received' && way !== 'Sent') throw new Malformed('Direction is none');
  d.emit({ at, type: 'channel.digit', id: subject(frame, d), direction: way === 'Sent' ? 'out' : 'in' });
};
const listening: EventDecoder = (frame, at, d) => {
  const [id, to] = [channelId(d.node, need(frame, spyer)), channelId(d.node, need(frame, spyee))];
  d.emit({ at, type: 'channel.listening', id, to });
};

export const controlEvents = {
  MixMonitorStart: recording(true),
  MixMonitorStop: recording(false),
  MixMonitorMute: recordingMuted,
  DTMFEnd: digitEnded,
  ChanSpyStart: listening,
} satisfies Record<string, EventDecoder>;
