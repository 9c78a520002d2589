/** Call records as the engine would write them, for calls that nobody has to play. */
import { bridgeId, callId, channelId, nodeId } from '@offhook/contract/ids.ts';
import type { CallRecordFacts, CallRecordType } from '../../src/ports/call-records.ts';
import type { KnownRecord } from '../../src/features/history/record/records.ts';

const NODE = nodeId('ast1');
const BORN = 1_795_228_600;

/** A channel of the stream. `call` is the call it belongs to now, which a join changes. */
export interface StreamChannel {
  readonly id: string;
  readonly name: string;
  readonly extension: string | null;
  readonly trunk: string | null;
  readonly pair: string | null;
  readonly number: string;
  call: string;
  dialled: string;
  app: string;
  app_data: string;
  queue: string | null;
  ended: boolean;
}
export interface ChannelGiven {
  readonly extension?: string;
  readonly trunk?: string;
  readonly number?: string;
  readonly pair?: string;
  readonly half?: 1 | 2;
  /** The channel in whose call it begins; none begins a call. */
  readonly of?: StreamChannel;
  readonly dialled?: string;
  /** Chosen for the engine; else it makes one. */
  readonly id?: string;
}
export interface CallStream {
  readonly records: KnownRecord[];
  /** Microseconds since 1970; moves by `wait`. */
  readonly now: () => number;
  wait(ms: number): void;
  channel(given: ChannelGiven): StreamChannel;
  /** One record of the channel; nothing once it has ended. */
  say(c: StreamChannel, type: CallRecordType, facts?: CallRecordFacts): void;
  answer(c: StreamChannel): void;
  enter(c: StreamChannel, bridge: string, holding?: boolean): void;
  exit(c: StreamChannel, bridge: string): void;
  start(c: StreamChannel, app: string, data: string, queue?: string): void;
  stop(c: StreamChannel): void;
  /** `by` names who hung up; none is the engine. */
  hangUp(c: StreamChannel, cause: number, by?: StreamChannel): void;
  /** The closing record of a call; its channel is the last that ended. */
  close(c: StreamChannel): void;
  bridge(): string;
}

/** `jump`: what the clock says is moved by so many ms from a moment on, as when it is set. */
export function createCallStream(
  jump: { readonly after_ms: number; readonly by_ms: number } | null = null,
): CallStream {
  const records: KnownRecord[] = [];
  let now = BORN * 1_000_000;
  let channels = 0;
  let bridges = 0;
  const clock = (): number => {
    const jumped = jump !== null && now - BORN * 1_000_000 >= jump.after_ms * 1000;
    return now + (jumped ? jump.by_ms * 1000 : 0);
  };
  const say: CallStream['say'] = (c, type, facts = {}) => {
    if (c.ended) return;
    now += 37;
    const device = c.extension === null ? null : 'sip';
    records.push({
      type,
      name: '',
      at_us: clock(),
      channel: channelId(NODE, c.id),
      call: callId(NODE, c.call),
      channel_name: c.name,
      endpoint: c.pair === null ? (c.trunk ?? c.extension) : null,
      pair: c.pair,
      caller_number: c.number,
      caller_name: '',
      dialled: c.dialled,
      context: 'internal',
      app: c.app,
      app_data: c.app_data,
      peer: '',
      facts: c.queue === null ? facts : { ...facts, queue: c.queue },
      key: `${records.length}`,
      extension: c.extension,
      device,
      trunk: c.trunk,
      person_name: null,
      reaches: null,
    });
  };
  return {
    records,
    now: clock,
    wait(ms) {
      now += ms * 1000;
    },
    channel({ extension, trunk, number, pair, half = 1, of, dialled = 's', id: chosen }) {
      channels += 1;
      const id = chosen ?? `${Math.floor(clock() / 1_000_000)}.${channels}`;
      const endpoint = trunk ?? extension ?? '';
      const c: StreamChannel = {
        id,
        name: pair === undefined ? `Phone/${endpoint}-${channels}` : `${pair};${half}`,
        extension: extension ?? null,
        trunk: trunk ?? null,
        pair: pair ?? null,
        number: number ?? extension ?? '',
        call: of?.call ?? id,
        dialled,
        app: '',
        app_data: '',
        queue: null,
        ended: false,
      };
      say(c, 'channel_start');
      return c;
    },
    say,
    answer: (c) => say(c, 'answer'),
    enter: (c, bridge, holding = false) =>
      say(c, 'bridge_enter', { bridge: bridgeId(NODE, bridge), ...(holding ? { holding } : {}) }),
    exit: (c, bridge) => say(c, 'bridge_exit', { bridge: bridgeId(NODE, bridge) }),
    start(c, app, data, queue) {
      c.app = app;
      c.app_data = data;
      c.queue = queue ?? null;
      say(c, 'app_start');
    },
    stop(c) {
      say(c, 'app_end');
      c.app = '';
      c.app_data = '';
      c.queue = null;
    },
    hangUp(c, cause, by) {
      say(c, 'hangup', { cause, ...(by === undefined ? {} : { source: by.name }) });
      say(c, 'channel_end');
      c.ended = true;
    },
    close(c) {
      c.ended = false;
      say(c, 'linked_end');
      c.ended = true;
    },
    bridge: () => `bridge-${(bridges += 1)}`,
  };
}
