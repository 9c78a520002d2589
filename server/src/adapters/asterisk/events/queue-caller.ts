import type { EventDecoder } from './decoding.ts';
import { followCall, need, subject } from './decoding.ts';
import { H } from './headers.ts';

/*
 * QueueCallerJoin     chan Queue Position Count
 * QueueCallerLeave    chan Queue Position Count
 * QueueCallerAbandon  chan Queue Position OriginalPosition HoldTime
 *
 * An answered caller makes Leave and then AgentConnect, one who leaves by a digit only Leave. Everyone else makes Abandon and
 * then Leave: who hangs up, who waited too long, who was withdrawn or redirected.
 */
const join: EventDecoder = (frame, at, d) => {
  const channel = subject(frame, d);
  followCall(frame, at, d, channel);
  const queue = need(frame, H.queue);
  d.emit({
    at,
    type: 'queue.caller_joined',
    caller: { queue, channel, position: frame.int(H.position, 0), joined_at: at, priority: null },
  });
};
const leave: EventDecoder = (frame, at, d) => {
  const channel = subject(frame, d);
  d.emit({ at, type: 'queue.caller_left', queue: need(frame, H.queue), channel });
};
const abandon: EventDecoder = (frame, at, d) => {
  const channel = subject(frame, d);
  const queue = need(frame, H.queue);
  const position = frame.int(H.position, 0);
  d.emit({
    at,
    type: 'queue.caller_abandoned',
    queue,
    channel,
    hold_seconds: frame.int(H.holdTime, 0),
    position,
  });
};

export const queueCallerEvents = {
  QueueCallerJoin: join,
  QueueCallerLeave: leave,
  QueueCallerAbandon: abandon,
} satisfies Record<string, EventDecoder>;
