import { channelId } from '@offhook/contract/ids.ts';
import { header } from '../ami/frame.ts';
import { HOLD_CONTEXT } from '../conf/call-contexts.ts';
import type { EventDecoder } from './decoding.ts';
import { followCall, subject } from './decoding.ts';
import { H } from './headers.ts';

/*
 * Hold              chan [MusicClass]
 * Unhold            chan
 * MusicOnHoldStart  chan Class
 * MusicOnHoldStop   chan
 *
 * chan of the first two is the one who put the other side on hold. A hold of ours plays music to the other side itself, in
 * a context of its own where chan's Exten is the id of the channel that holds it; all other music is no fact of the model.
 */
const context = header('Context');
const CHANNEL = /^[A-Za-z0-9-]*\d\.\d+$/;

const held =
  (value: boolean): EventDecoder =>
  (frame, at, d) => {
    const id = subject(frame, d);
    followCall(frame, at, d, id);
    d.emit({ at, type: 'channel.held', id, held: value });
  };
/** The channel that holds this one by a command of the service; null without one. */
export const holderOf = (inContext: string | undefined, exten: string | undefined): string | null =>
  inContext === HOLD_CONTEXT && exten !== undefined && CHANNEL.test(exten) ? exten : null;
/**
 * True from the start of the music to its end. A channel that has returned to its call stays in that context, and is listed there
 * with the application `Return`.
 */
export const isMusicOfHold = (application: string | undefined): boolean =>
  application === 'StartMusicOnHold' || application === 'WaitForCondition';
const music =
  (value: boolean): EventDecoder =>
  (frame, at, d) => {
    const holder = holderOf(frame.get(context), frame.get(H.exten));
    if (holder === null) return;
    subject(frame, d);
    d.emit({ at, type: 'channel.held', id: channelId(d.node, holder), held: value, by: 'operation' });
  };

export const holdEvents = {
  Hold: held(true),
  Unhold: held(false),
  MusicOnHoldStart: music(true),
  MusicOnHoldStop: music(false),
} satisfies Record<string, EventDecoder>;
