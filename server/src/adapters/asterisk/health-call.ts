/**
 * A test call of the service to itself, which proves that the engine places, answers and records calls. Stream, history and
 * live view leave it out.
 */
import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import { ACTION_MS } from './ami/connection.ts';
import type { AmiConnection } from './ami/connection.ts';
import type { Frame } from './ami/frame.ts';
import { DOCTOR, HEALTH_CONTEXT } from './conf/call-contexts.ts';
import { H } from './events/headers.ts';

/** Prefix of the ids of its channels, by which events and call records are left out. */
const PREFIX = 'health-';
/** Beginning of the engine's names of channels of the doctor, which calls from outside with ids of the engine. */
const DOCTOR_CHANNEL = `PJSIP/${DOCTOR}-`;
const UP = 6;
/** True for the id, or the engine's name, of a channel of a test call. */
export const isHealthCall = (uniqueid: string | undefined, channel: string | undefined): boolean =>
  (uniqueid?.startsWith(PREFIX) ?? false) || (channel?.startsWith(DOCTOR_CHANNEL) ?? false);
/**
 * Id of the test call that an event is about; null for every other event. The engine's id and name of the channel decide,
 * because a caller may choose a name with such a beginning.
 */
export function healthCallOf(frame: Frame): string | null {
  if (!frame.mentions(PREFIX) && !frame.mentions(DOCTOR_CHANNEL)) return null;
  const id = frame.get(H.uniqueid) ?? frame.get(H.destUniqueid);
  return id !== undefined && isHealthCall(id, frame.get(H.channel)) ? id : null;
}

export interface HealthCalls {
  /** Resolves with the id of its first channel once the call was answered and is over; throws `engine_timeout` or `engine_refused`. */
  place(this: void, ms: number, signal: AbortSignal): Promise<string>;
  /** Accepts every event of a test call. */
  seen(this: void, event: string, id: string, frame: Frame): void;
}
export function createHealthCalls(actions: () => AmiConnection, clock: Clock): HealthCalls {
  const open = new Map<string, { up: boolean; over: PromiseWithResolvers<boolean> }>();
  return {
    async place(ms, signal) {
      const pair = `${PREFIX}${randomBytes(6).toString('hex')}-${Math.floor(clock.now() / 1000)}`;
      const id = `${pair}.1`;
      const call = { up: false, over: Promise.withResolvers<boolean>() };
      open.set(id, call);
      const late = new AbortController();
      try {
        const answer = await actions().action(
          'Originate',
          {
            Channel: `Local/s@${HEALTH_CONTEXT}/n`,
            Context: HEALTH_CONTEXT,
            Exten: 'near',
            Priority: '1',
            Timeout: String(ms),
            Async: 'true',
            ChannelId: id,
            OtherChannelId: `${pair}.2`,
          },
          { ms: ACTION_MS.call, signal },
        );
        if (!answer.ok) throw new ServiceError('engine_refused', answer.message);
        const timeout = clock.sleep(ms, AbortSignal.any([late.signal, signal])).then(() => {
          throw new ServiceError('engine_timeout', `the test call did not end within ${ms / 1000} s`);
        });
        if (!(await Promise.race([call.over.promise, timeout])))
          throw new ServiceError('engine_refused', 'a call was not answered');
        return id;
      } finally {
        late.abort();
        open.delete(id);
      }
    },
    seen(event, id, frame) {
      const call = open.get(id);
      if (call === undefined) return;
      if (event === 'Newstate' && frame.int(H.channelState, -1) === UP) call.up = true;
      if (event === 'Hangup') call.over.resolve(call.up);
    },
  };
}
