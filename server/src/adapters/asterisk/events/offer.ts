import type { ChannelId } from '@offhook/contract/ids.ts';
import { channelId } from '@offhook/contract/ids.ts';
import type { Frame } from '../ami/frame.ts';
import { header } from '../ami/frame.ts';
import type { Decoding, EventDecoder } from './decoding.ts';
import { need, subject } from './decoding.ts';
import { H } from './headers.ts';

/*
 * AgentCalled        chan dest-chan Queue Interface MemberName
 * AgentConnect       chan dest-chan Queue Interface MemberName HoldTime RingTime
 * AgentRingNoAnswer  chan dest-chan Queue Interface MemberName RingTime
 * AgentDump          chan dest-chan Queue Interface MemberName
 * AgentComplete      chan dest-chan Queue Interface MemberName HoldTime TalkTime Reason
 *
 * chan is the caller, dest-chan the channel that rings the agent. HoldTime, TalkTime and AgentConnect's RingTime are
 * seconds, AgentRingNoAnswer's RingTime is milliseconds. Reason: agent caller transfer.
 * A caller who hangs up while an agent rings makes none of them.
 */
const ringTime = header('RingTime');
const talkTime = header('TalkTime');
const reason = header('Reason');

interface Offer {
  readonly queue: string;
  readonly interface: string;
  readonly caller: ChannelId;
  readonly agent: ChannelId;
}
const offer = (frame: Frame, d: Decoding): Offer => {
  const caller = subject(frame, d);
  const agent = channelId(d.node, need(frame, H.destUniqueid));
  const queue = need(frame, H.queue);
  return { queue, interface: need(frame, H.iface), caller, agent };
};

const called: EventDecoder = (frame, at, d) => d.emit({ at, type: 'offer.created', ...offer(frame, d) });
const connected: EventDecoder = (frame, at, d) => {
  const o = offer(frame, d);
  const hold = frame.int(H.holdTime, 0);
  d.emit({ at, type: 'offer.accepted', ...o, hold_seconds: hold, ring_seconds: frame.int(ringTime, 0) });
};
const unanswered: EventDecoder = (frame, at, d) => {
  const o = offer(frame, d);
  d.emit({ at, type: 'offer.timeout', ...o, ring_seconds: Math.round(frame.int(ringTime, 0) / 1000) });
};
const complete: EventDecoder = (frame, at, d) => {
  const o = offer(frame, d);
  const talk = frame.int(talkTime, 0);
  const why = frame.get(reason);
  d.emit({
    at,
    type: 'agent.released',
    ...o,
    reason: why === 'agent' || why === 'transfer' ? why : 'caller',
    talk_seconds: talk,
  });
};

export const offerEvents = {
  AgentCalled: called,
  AgentConnect: connected,
  AgentRingNoAnswer: unanswered,
  // The agent hung up during the announcement: the offer ended without being accepted.
  AgentDump: unanswered,
  AgentComplete: complete,
} satisfies Record<string, EventDecoder>;
