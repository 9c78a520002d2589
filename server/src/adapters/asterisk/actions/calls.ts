import type { ChannelId } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { EndpointKind } from '../../../ports/directory.ts';
import type { CallVerbs, CommandOptions } from '../../../ports/engine.ts';
import type { AmiConnection } from '../ami/connection.ts';
import { ACTION_MS } from '../ami/connection.ts';
import type { ActionFields } from '../ami/codec.ts';

/*
 * Originate  Channel Context Exten Priority Timeout Async ChannelId OtherChannelId Variable
 * Hangup     Channel Cause
 *
 * Channel takes a channel's id as well as its name. Contexts are those of conf/call-contexts.ts; what comes from outside
 * is digits and ids, checked here once more.
 */
const NUMBER = /^[0-9]{1,32}$/;
const CHANNEL = /^[A-Za-z0-9.-]{1,128}$/;
/** Contexts that leave the addresses of an extension's devices. */
const DEVICES: Record<EndpointKind | 'all', string> = {
  all: 'devices',
  sip: 'devices-sip',
  webrtc: 'devices-webrtc',
  mobile: 'devices-mobile',
};
/** Past the ringing of the own devices the pair is gone by itself; this only catches one that is not. */
const PAIR_SLACK_MS = 5_000;
const NORMAL_CLEARING = '16';

const refuse = (detail: string): never => {
  throw new ServiceError('invalid_request', detail);
};
const digits = (what: string, value: string): string =>
  NUMBER.test(value) ? value : refuse(`${what} must be 1 to 32 digits`);
/** The engine's own id of a channel. */
const raw = (channel: ChannelId): string => {
  const id = channel.slice(channel.indexOf(':') + 1);
  return CHANNEL.test(id) ? id : refuse('the channel id is not valid');
};
const seconds = (what: string, value: number): string =>
  Number.isSafeInteger(value) && value > 0 && value <= 86_400
    ? String(value)
    : refuse(`${what} must be a whole number of seconds`);

/** The verbs for calls over whatever connection `actions` answers with; it throws while there is none. */
export const callActions = (actions: () => AmiConnection): CallVerbs => {
  const run = async (name: string, fields: ActionFields, options: CommandOptions): Promise<void> => {
    const answer = await actions().action(name, fields, { ...options, ms: ACTION_MS.call });
    if (!answer.ok) throw new ServiceError('engine_refused', answer.message || `${name} was refused`);
  };
  return {
    async placeCall(call, options = {}) {
      const [first, second] = call.pair;
      const limit = call.limit_seconds === null ? '' : seconds('the time limit', call.limit_seconds);
      const fields = {
        Channel: `Local/${digits('the number', call.number)}@place-call/n`,
        // The pair's near half only waits: it is gone as soon as the own device has answered.
        Context: 'placed-pair',
        Exten: 's',
        Priority: '1',
        Timeout: String(Number(seconds('the ringing', call.ring_seconds)) * 1000 + PAIR_SLACK_MS),
        Async: 'true',
        ChannelId: raw(first),
        OtherChannelId: raw(second),
        Variable: [
          `_OFFHOOK_FOR=${digits('the extension', call.extension)}`,
          `_OFFHOOK_FROM=${digits('the caller number', call.caller_number)}`,
          `_OFFHOOK_DEVICES=${DEVICES[call.device ?? 'all']}`,
          `_OFFHOOK_RING=${call.ring_seconds}`,
          `_OFFHOOK_LIMIT=${limit}`,
        ],
      };
      await run('Originate', fields, options);
    },
    async hangup(channel, options = {}) {
      await run('Hangup', { Channel: raw(channel), Cause: NORMAL_CLEARING }, options);
    },
  };
};
