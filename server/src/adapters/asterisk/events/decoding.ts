import type { BridgeId, ChannelId, NodeId } from '@offhook/contract/ids.ts';
import { callId, channelId } from '@offhook/contract/ids.ts';
import type { EngineEvent } from '../../../ports/engine-events.ts';
import type { EngineChannel, Party } from '../../../ports/engine-state.ts';
import type { Frame, Header } from '../ami/frame.ts';
import { H } from './headers.ts';
import { party } from './names.ts';

/** Earlier facts that a decoder may read. */
export interface Known {
  channel(id: ChannelId): EngineChannel | undefined;
  channelsIn(bridge: BridgeId): Iterable<ChannelId>;
}
export interface Decoding {
  readonly node: NodeId;
  readonly known: Known;
  emit(event: EngineEvent): void;
}
/** Decodes one frame to facts; `at` is the frame's own time in ms. Throws `Malformed` where a required header is missing. */
export type EventDecoder = (frame: Frame, at: number, d: Decoding) => void;

/** A known event that cannot be read; the message names the fault. */
export class Malformed extends Error {
  override readonly name = 'Malformed';
}

export const need = (frame: Frame, h: Header): string => {
  const value = frame.get(h);
  if (value === undefined || value === '') throw new Malformed(`${h.slice(2, -1)} is missing`);
  return value;
};

/**
 * The channel of an event. Two ids in one event mean that a value contained a line end and forged headers, so the event is not
 * trusted.
 */
export const subject = (frame: Frame, d: Decoding): ChannelId => {
  const id = need(frame, H.uniqueid);
  if (frame.repeats(H.uniqueid)) throw new Malformed('Uniqueid came twice');
  return channelId(d.node, id);
};

export const callerOf = (frame: Frame): Party => party(frame.get(H.callerNumber), frame.get(H.callerName));
export const connectedOf = (frame: Frame): Party =>
  party(frame.get(H.connectedNumber), frame.get(H.connectedName));

/**
 * Reports that a channel now belongs to another call. There is no event for it: channels take the oldest call's id when they
 * meet in a bridge, and it appears in whatever event comes next.
 */
export const followCall = (frame: Frame, at: number, d: Decoding, id: ChannelId): void => {
  const linked = frame.get(H.linkedid);
  if (linked === undefined || linked === '') return;
  const known = d.known.channel(id);
  if (known === undefined) return;
  if (known.call.length === d.node.length + 1 + linked.length && known.call.endsWith(linked)) return;
  d.emit({ at, type: 'channel.linked', id, call: callId(d.node, linked) });
};
