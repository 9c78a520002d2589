import type { EngineEventOf } from '../../../ports/engine-events.ts';
import type { QueueMember } from '../../../ports/engine-state.ts';
import type { Frame, Header } from '../ami/frame.ts';
import { header } from '../ami/frame.ts';
import type { EventDecoder } from './decoding.ts';
import { Malformed, need } from './decoding.ts';
import { H } from './headers.ts';
import { kept } from './kept.ts';
import { deviceStateOf, extensionOfMember } from './names.ts';

/*
 * member = Queue MemberName Interface StateInterface Membership Penalty CallsTaken LastCall LastPause LoginTime InCall
 *          Status Paused PausedReason Ringinuse Wrapuptime
 *
 * QueueMemberAdded QueueMemberRemoved QueueMemberPause QueueMemberPenalty QueueMemberRinginuse QueueMemberStatus
 *        member
 * QueueMember (a row of QueueStatus)
 *        Queue Name Location StateInterface Membership Penalty CallsTaken LastCall LastPause LoginTime InCall Status
 *        Paused PausedReason Wrapuptime
 *
 * Times are seconds since 1970, 0 for never. Membership: static dynamic realtime (a row has static for realtime).
 * Status: 0 unknown 1 not in use 2 in use 3 busy 4 invalid 5 unavailable 6 ringing 7 ringing and in use 8 on hold.
 */
const memberName = header('MemberName');
const name = header('Name');
const location = header('Location');
const membership = header('Membership');
const penalty = header('Penalty');
const lastCall = header('LastCall');
const lastPause = header('LastPause');
const loginTime = header('LoginTime');
const inCall = header('InCall');
const status = header('Status');
const paused = header('Paused');
const pausedReason = header('PausedReason');

const seconds = (frame: Frame, h: Header): number | null => {
  const n = frame.int(h, 0);
  return n > 0 ? n * 1000 : null;
};

const read = (frame: Frame, nameHeader: Header, interfaceHeader: Header): QueueMember => {
  const queue = kept(need(frame, H.queue));
  const person = kept(frame.get(nameHeader) ?? '');
  const iface = kept(need(frame, interfaceHeader));
  const kind = need(frame, membership);
  if (kind !== 'static' && kind !== 'dynamic' && kind !== 'realtime')
    throw new Malformed(`Membership is ${kind}`);
  const cost = frame.int(penalty, 0);
  const called = seconds(frame, lastCall);
  const pausedAt = seconds(frame, lastPause);
  const login = seconds(frame, loginTime);
  const busy = frame.int(inCall, 0) === 1;
  const state = deviceStateOf(frame.int(status, 0));
  const isPaused = frame.int(paused, 0) === 1;
  return {
    queue,
    interface: iface,
    extension: extensionOfMember(iface),
    name: person,
    membership: kind,
    paused: isPaused,
    paused_reason: kept(frame.get(pausedReason) ?? ''),
    paused_at: pausedAt,
    login_at: login,
    last_call_at: called,
    in_call: busy,
    penalty: cost,
    state,
  };
};

/** One row of `QueueStatus`. */
export const memberRow = (frame: Frame): QueueMember => read(frame, name, location);

const member =
  (why: EngineEventOf<'queue.member'>['why']): EventDecoder =>
  (frame, at, d) =>
    d.emit({ at, type: 'queue.member', why, member: read(frame, memberName, H.iface) });

const removed: EventDecoder = (frame, at, d) => {
  const queue = need(frame, H.queue);
  d.emit({ at, type: 'queue.member_removed', queue, interface: need(frame, H.iface) });
};

export const queueMemberEvents = {
  QueueMemberAdded: member('added'),
  QueueMemberRemoved: removed,
  QueueMemberPause: member('paused'),
  QueueMemberStatus: member('status'),
  QueueMemberPenalty: member('other'),
  QueueMemberRinginuse: member('other'),
} satisfies Record<string, EventDecoder>;
