import type { ChannelId } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { EndpointKind } from '../../../ports/directory.ts';
import type { CallVerbs, PlacedPart } from '../../../ports/engine-verbs.ts';
import type { CommandOptions } from '../../../ports/engine.ts';
import { ACTION_MS } from '../ami/connection.ts';
import type { AmiConnection } from '../ami/connection.ts';
import type { ActionFields } from '../ami/codec.ts';
import { header } from '../ami/frame.ts';
import { KEYS, PLACE_CONTEXTS, REACH_CONTEXT } from '../conf/call-contexts.ts';
import { PJSIP } from '../events/names.ts';

/*
 * Originate       Channel Context Exten Priority Timeout Async ChannelId OtherChannelId Variable
 * Hangup          Channel Cause
 * BlindTransfer   Channel Context Exten
 * Setvar          Channel Variable Value
 * Getvar          Channel Variable; the answer has Value
 * PlayDTMF        Channel Digit Receive
 * CancelAtxfer    Channel
 * Park            Channel TimeoutChannel Parkinglot
 * Redirect        Channel Context Exten Priority
 * MixMonitor      Channel File Options
 * StopMixMonitor  Channel
 * MixMonitorMute  Channel Direction State
 *
 * Channel takes a channel's id as well as its name. Contexts are those of conf/call-contexts.ts; what comes from outside
 * is digits and ids, checked here once more.
 */
const DIGITS = /^[0-9]{1,32}$/;
const NUMBER = /^\+?[0-9]{1,32}$/;
const CHANNEL = /^[A-Za-z0-9.-]{1,128}$/;
/** Contexts that collect the addresses of an extension's devices. */
const DEVICES: Record<EndpointKind | 'all', string> = {
  all: 'devices',
  sip: 'devices-sip',
  webrtc: 'devices-webrtc',
  mobile: 'devices-mobile',
};
/** Name endings of the contexts that continue when the own device has answered. */
const DOES: Record<PlacedPart['does'], string> = {
  call: 'call',
  pickup: 'pickup',
  listen: 'listen',
  whisper: 'whisper',
  barge: 'barge',
};
/** The pair ends by itself once the own devices stop ringing; this timeout only catches one that does not. */
const PAIR_SLACK_MS = 5_000;
/** Placeholder extension; the contexts for listening use only the channel. */
const LISTEN_EXTEN = '00';
const NORMAL_CLEARING = '16';
const ENDPOINT = /^[A-Za-z0-9_-]{1,64}$/;
const FILE = /^[A-Za-z0-9-]{1,80}$/;
const VALUE = header('Value');
const SESSION = 'OFFHOOK_SESSION';

const refuse = (detail: string): never => {
  throw new ServiceError('invalid_request', detail);
};
const digits = (what: string, value: string): string =>
  DIGITS.test(value) ? value : refuse(`${what} must be 1 to 32 digits`);
/** A number to call, also an outside one. */
const called = (value: string): string =>
  NUMBER.test(value) ? value : refuse('the number must be 1 to 32 digits, with or without a + in front');
/** The engine's own id of a channel. */
const raw = (channel: ChannelId): string => {
  const id = channel.slice(channel.indexOf(':') + 1);
  return CHANNEL.test(id) ? id : refuse('the channel id is not valid');
};
const seconds = (what: string, value: number): string =>
  Number.isSafeInteger(value) && value > 0 && value <= 86_400
    ? String(value)
    : refuse(`${what} must be a whole number of seconds`);

/** Channel variables for the fixed contexts. */
const partOf = (part: PlacedPart): string[] => {
  if (part.does !== 'call') {
    const asked = part.does === 'pickup' ? [] : [`_${SESSION}=${part.session_id}`];
    return [`_OFFHOOK_CHANNEL=${raw(part.channel)}`, ...asked];
  }
  const limit = part.limit_seconds === null ? '' : seconds('the time limit', part.limit_seconds);
  return [`_OFFHOOK_FROM=${digits('the caller number', part.caller_number)}`, `_OFFHOOK_LIMIT=${limit}`];
};

/** The verbs for calls, over the connection that `actions` returns; it throws while there is none. */
export const callActions = (actions: () => AmiConnection): CallVerbs => {
  const run = async (name: string, fields: ActionFields, options: CommandOptions): Promise<void> => {
    const answer = await actions().action(name, fields, { ...options, ms: ACTION_MS.call });
    if (!answer.ok) throw new ServiceError('engine_refused', answer.message || `${name} was refused`);
  };
  /** Action ids of the steps before the last one, which has the operation's own id. */
  const before = (options: CommandOptions, step: number): CommandOptions =>
    options.action_id === undefined ? options : { ...options, action_id: `${options.action_id}-${step}` };
  const set = (channel: ChannelId, variable: string, value: string, options: CommandOptions): Promise<void> =>
    run('Setvar', { Channel: raw(channel), Variable: variable, Value: value }, options);
  const get = async (channel: ChannelId, variable: string, options: CommandOptions): Promise<string> => {
    const fields = { Channel: raw(channel), Variable: variable };
    const { ok, frame } = await actions().action('Getvar', fields, { ...options, ms: ACTION_MS.call });
    return ok ? (frame.get(VALUE) ?? '') : '';
  };
  const press = (channel: ChannelId, key: string, options: CommandOptions): Promise<void> =>
    run('PlayDTMF', { Channel: raw(channel), Digit: key, Receive: 'true' }, options);

  return {
    async placeCall(call, options = {}) {
      const [first, second] = call.pair;
      const { does } = call.part;
      const fields = {
        Channel: `Local/${called(call.number)}@${PLACE_CONTEXTS[does === 'call' || does === 'pickup' ? does : 'listen']}/n`,
        // The near half of the pair only waits: it ends as soon as the own device has answered.
        Context: 'placed-pair',
        Exten: 's',
        Priority: '1',
        Timeout: String(Number(seconds('the ringing', call.ring_seconds)) * 1000 + PAIR_SLACK_MS),
        Async: 'true',
        ChannelId: raw(first),
        OtherChannelId: raw(second),
        Variable: [
          `_OFFHOOK_FOR=${digits('the extension', call.extension)}`,
          `_OFFHOOK_DEVICES=${DEVICES[call.device ?? 'all']}`,
          `_OFFHOOK_RING=${call.ring_seconds}`,
          `_OFFHOOK_DOES=${DOES[does]}`,
          `_OFFHOOK_PAIR=${raw(second)}`,
          ...partOf(call.part),
        ],
      };
      await run('Originate', fields, options);
    },
    async listenAs(channel, { does, channel: to, session_id }, options = {}) {
      await set(channel, 'OFFHOOK_CHANNEL', raw(to), before(options, 1));
      await set(channel, SESSION, String(session_id), before(options, 2));
      const fields = {
        Channel: raw(channel),
        Context: `placed-${DOES[does]}`,
        Exten: LISTEN_EXTEN,
        Priority: '1',
      };
      await run('Redirect', fields, options);
    },
    async hangup(channel, options = {}) {
      await run('Hangup', { Channel: raw(channel), Cause: NORMAL_CLEARING }, options);
    },
    async sessionOf(channel, options = {}) {
      const value = await get(channel, SESSION, options);
      return /^[0-9]{1,15}$/.test(value) ? Number(value) : null;
    },
    async sipPortsOf(channel, options = {}) {
      // The first is known of calls of the phone only, the second is where the engine sends the requests of a call.
      const [from, to] = await Promise.all([
        get(channel, 'CHANNEL(pjsip,remote_addr)', before(options, 1)),
        get(channel, 'CHANNEL(pjsip,target_uri)', options),
      ]);
      return [/:([0-9]{1,5})$/.exec(from), /^<?sips?:[^;>]*:([0-9]{1,5})(?=[;>]|$)/.exec(to)].flatMap(
        (found) => (found === null ? [] : [Number(found[1])]),
      );
    },
    async blindTransfer(channel, number, options = {}) {
      const fields = { Channel: raw(channel), Context: REACH_CONTEXT, Exten: called(number) };
      await run('BlindTransfer', fields, options);
    },
    async consult(channel, number, by, options = {}) {
      await set(channel, 'TRANSFER_CONTEXT', REACH_CONTEXT, before(options, 1));
      await set(channel, 'TRANSFER_EXTEN', called(number), before(options, 2));
      const asks = by === null ? '' : digits('the extension', by);
      // The engine calls over an internal pair, which inherits variables with this mark.
      await set(channel, '_OFFHOOK_CONSULT', asks, before(options, 3));
      await press(channel, KEYS.consult, options);
    },
    swapConsult: (channel, options = {}) => press(channel, KEYS.swap, options),
    completeConsult: (channel, options = {}) => press(channel, KEYS.complete, options),
    cancelConsult: (channel, options = {}) => run('CancelAtxfer', { Channel: raw(channel) }, options),
    async hold(channel, others, options = {}) {
      await Promise.all(
        others.map((other, i) => set(other, 'OFFHOOK_HELD_BY', raw(channel), before(options, i + 1))),
      );
      await press(channel, KEYS.hold, options);
    },
    async retrieve(others, options = {}) {
      await Promise.all(
        others.map((other, i) => set(other, 'OFFHOOK_HELD_BY', '', i === 0 ? options : before(options, i))),
      );
    },
    async park(channel, back_to, options = {}) {
      if (back_to !== null && !ENDPOINT.test(back_to)) refuse('the endpoint is not valid');
      // The engine removes what follows the last dash, as in a channel's name.
      const back = back_to === null ? undefined : `${PJSIP}${back_to}-0`;
      await run('Park', { Channel: raw(channel), TimeoutChannel: back }, options);
    },
    async digit(channel, digit, options = {}) {
      if (!/^[0-9*#]$/.test(digit)) refuse('the digit must be 0 to 9, * or #');
      await press(channel, digit, options);
    },
    async startRecording(channel, name, options = {}) {
      if (!FILE.test(name)) refuse('the name of the recording is not valid');
      await run('MixMonitor', { Channel: raw(channel), File: `${name}.wav` }, options);
    },
    async stopRecording(channel, options = {}) {
      await run('StopMixMonitor', { Channel: raw(channel) }, options);
    },
    async pauseRecording(channel, paused, options = {}) {
      const fields = { Channel: raw(channel), Direction: 'both', State: paused ? '1' : '0' };
      await run('MixMonitorMute', fields, options);
    },
  };
};
