/** A call of the service to itself, which proves that the engine places, answers and records calls. Nobody else sees it. */
import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AmiConnection } from './ami/connection.ts';
import { ACTION_MS } from './ami/connection.ts';
import type { Frame } from './ami/frame.ts';
import { conf } from './conf/text.ts';
import type { ConfText } from './conf/text.ts';
import { H } from './events/headers.ts';

/** Ids of its channels begin so; what they do is told to nobody and is in no history. */
const PREFIX = 'health-';
const UP = 6;
const CONTEXT = 'health';
export const healthContext: ConfText = conf`
[health]
exten => s,1,Answer()
 same => n,Hangup()
exten => near,1,Hangup()
`;
/** Whether a channel of this id belongs to such a call. */
export const isHealthCall = (uniqueid: string | undefined): boolean => uniqueid?.startsWith(PREFIX) ?? false;
/** The id of the health call that an event is about; null for every other event. A caller may choose a name like it. */
export function healthCallOf(frame: Frame): string | null {
  if (!frame.mentions(PREFIX)) return null;
  const id = frame.get(H.uniqueid) ?? frame.get(H.destUniqueid);
  return id !== undefined && isHealthCall(id) ? id : null;
}

export interface HealthCalls {
  /** Resolves with the id of its first channel once the call was answered and is over; throws `engine_timeout` or `engine_refused`. */
  place(this: void, ms: number, signal: AbortSignal): Promise<string>;
  /** Give every event of one. */
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
            Channel: `Local/s@${CONTEXT}/n`,
            Context: CONTEXT,
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
          throw new ServiceError('engine_timeout', `no end of a call in ${ms / 1000} s`);
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
