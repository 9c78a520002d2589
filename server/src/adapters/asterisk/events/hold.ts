import type { EventDecoder } from './decoding.ts';
import { followCall, subject } from './decoding.ts';

/*
 * Hold    chan [MusicClass]
 * Unhold  chan
 *
 * chan is the one who put the other side on hold.
 */
const held =
  (value: boolean): EventDecoder =>
  (frame, at, d) => {
    const id = subject(frame, d);
    followCall(frame, at, d, id);
    d.emit({ at, type: 'channel.held', id, held: value });
  };

export const holdEvents = { Hold: held(true), Unhold: held(false) } satisfies Record<string, EventDecoder>;
