import type { ChannelId } from '@offhook/contract/ids.ts';
import { channelId } from '@offhook/contract/ids.ts';
import type { Frame } from '../ami/frame.ts';
import { header } from '../ami/frame.ts';
import type { Decoding, EventDecoder } from './decoding.ts';
import { Malformed, need } from './decoding.ts';
import { H } from './headers.ts';

/*
 * DialBegin  [chan] dest-chan DialString
 * DialEnd    [chan] dest-chan DialStatus [Forward]
 *
 * dest-chan is chan with every header prefixed by Dest. chan is missing where the engine itself places the call.
 * DialStatus: ANSWER BUSY CANCEL CHANUNAVAIL CONGESTION CONTINUE GOTO NOANSWER ABORT
 */
const dialString = header('DialString');
const dialStatus = header('DialStatus');

const from = (frame: Frame, d: Decoding): ChannelId | null => {
  const id = frame.get(H.uniqueid);
  return id === undefined ? null : channelId(d.node, id);
};
const to = (frame: Frame, d: Decoding): ChannelId => {
  const id = need(frame, H.destUniqueid);
  if (frame.repeats(H.destUniqueid)) throw new Malformed('DestUniqueid came twice');
  return channelId(d.node, id);
};

const begin: EventDecoder = (frame, at, d) => {
  const caller = from(frame, d);
  const called = to(frame, d);
  const text = frame.get(dialString) ?? '';
  // The technology before the name is internal to the engine.
  d.emit({ at, type: 'dial.begun', from: caller, to: called, dialled: text.slice(text.indexOf('/') + 1) });
};
const end: EventDecoder = (frame, at, d) => {
  const caller = from(frame, d);
  const called = to(frame, d);
  d.emit({ at, type: 'dial.ended', from: caller, to: called, status: need(frame, dialStatus) });
};

export const dialEvents = { DialBegin: begin, DialEnd: end } satisfies Record<string, EventDecoder>;
