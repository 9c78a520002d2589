import { callId, channelId } from '@offhook/contract/ids.ts';
import type { Party } from '../../../ports/engine-state.ts';
import { header } from '../ami/frame.ts';
import { NO_NUMBERS } from '../conf/call-contexts.ts';
import type { EventDecoder } from './decoding.ts';
import { callerOf, connectedOf, followCall, need, subject } from './decoding.ts';
import { H } from './headers.ts';
import { channelState, describeChannel } from './names.ts';

/*
 * chan = Channel ChannelState ChannelStateDesc CallerIDNum CallerIDName ConnectedLineNum ConnectedLineName Language
 *        AccountCode Context Exten Priority Uniqueid Linkedid
 *
 * Newchannel        chan
 * Newstate          chan
 * NewCallerid       chan CID-CallingPres
 * NewConnectedLine  chan
 * Hangup            chan Cause Cause-txt [TechCause]
 * Rename            Channel Newname Uniqueid
 * NewAccountCode    chan OldAccountCode
 * HangupRequest     chan [Cause]          the other side, or the channel driver, hangs up
 *
 * "<unknown>" is a party without a name or number; names are escaped by the engine, numbers are not.
 */
const cause = header('Cause');
const causeText = header('Cause-txt');
const newName = header('Newname');

const sameParty = (a: Party, b: Party): boolean => a.number === b.number && a.name === b.name;

const newChannel: EventDecoder = (frame, at, d) => {
  const name = need(frame, H.channel);
  const state = channelState(frame.int(H.channelState, -1));
  const caller = callerOf(frame);
  const connected = connectedOf(frame);
  const dialled = frame.get(H.exten) ?? '';
  const id = subject(frame, d);
  d.emit({
    at,
    type: 'channel.created',
    channel: {
      id,
      call: callId(d.node, need(frame, H.linkedid)),
      name,
      ...describeChannel(name, frame.get(H.account)),
      state,
      caller,
      connected,
      dialled: NO_NUMBERS.has(dialled) ? '' : dialled,
      created_at: at,
    },
  });
};

const newState: EventDecoder = (frame, at, d) => {
  const state = channelState(frame.int(H.channelState, -1));
  const caller = callerOf(frame);
  const connected = connectedOf(frame);
  const id = subject(frame, d);
  followCall(frame, at, d, id);
  d.emit({ at, type: 'channel.state', id, state, caller, connected });
};

const newParty: EventDecoder = (frame, at, d) => {
  const caller = callerOf(frame);
  const connected = connectedOf(frame);
  const id = subject(frame, d);
  followCall(frame, at, d, id);
  const known = d.known.channel(id);
  // Every step of a dial reports the parties again; only a change is a fact.
  if (known !== undefined && sameParty(known.caller, caller) && sameParty(known.connected, connected)) return;
  d.emit({ at, type: 'channel.party', id, caller, connected });
};

const hangup: EventDecoder = (frame, at, d) => {
  const id = subject(frame, d);
  d.emit({
    at,
    type: 'channel.hungup',
    id,
    cause: frame.int(cause, 0),
    cause_text: frame.get(causeText) ?? '',
  });
};

/** Not `SoftHangupRequest`, by which the engine itself ends a channel: none of its parties hung up. */
const ending: EventDecoder = (frame, at, d) => d.emit({ at, type: 'channel.ending', id: subject(frame, d) });

const rename: EventDecoder = (frame, at, d) => {
  const name = need(frame, newName);
  const id = channelId(d.node, need(frame, H.uniqueid));
  const channel = d.known.channel(id);
  if (channel === undefined) return;
  d.emit({
    at,
    type: 'channel.renamed',
    id,
    channel: { ...channel, name, ...describeChannel(name, channel.pair ?? '') },
  });
};

/** The account shows which half at another engine a channel belongs to; it comes before anything happens to the call. */
const account: EventDecoder = (frame, at, d) => {
  const id = subject(frame, d);
  const channel = d.known.channel(id);
  if (channel === undefined) return;
  const described = describeChannel(channel.name, frame.get(H.account));
  if (described.kind !== 'local' || described.pair === channel.pair) return;
  d.emit({ at, type: 'channel.renamed', id, channel: { ...channel, ...described } });
};

export const channelEvents = {
  Newchannel: newChannel,
  Newstate: newState,
  NewCallerid: newParty,
  NewConnectedLine: newParty,
  Hangup: hangup,
  HangupRequest: ending,
  Rename: rename,
  NewAccountCode: account,
} satisfies Record<string, EventDecoder>;
