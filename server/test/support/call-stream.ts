/** Call records as the engine writes them, for calls that are not played. */
import { bridgeId, callId, channelId, nodeId } from '@offhook/contract/ids.ts';
import type { CallRecordFacts, CallRecordType } from '../../src/ports/call-records.ts';
import type { KnownRecord } from '../../src/features/history/record/records.ts';

const NODE = nodeId('ast1');
const BORN = 1_795_228_600;

/** A channel of the stream. `call` is its current call, which a merge changes. */
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
  /** The channel whose call it joins; without one, it begins a call. */
  readonly of?: StreamChannel;
  readonly dialled?: string;
  /** Id chosen by the service; by default the engine's. */
  readonly id?: string;
}
export interface CallStream {
  readonly records: KnownRecord[];
  /** Microseconds since 1970; moves by `wait`. */
  readonly now: () => number;
  wait(ms: number): void;
  channel(given: ChannelGiven): StreamChannel;
  /** One record of the channel; ignored after its end. */
  say(c: StreamChannel, type: CallRecordType, facts?: CallRecordFacts): void;
  answer(c: StreamChannel): void;
  enter(c: StreamChannel, bridge: string, holding?: boolean): void;
  exit(c: StreamChannel, bridge: string): void;
  start(c: StreamChannel, app: string, data: string, queue?: string): void;
  stop(c: StreamChannel): void;
  /** `by` is the channel that hung up; by default the engine. */
  hangUp(c: StreamChannel, cause: number, by?: StreamChannel): void;
  /** The closing record of a call, on the channel that ended last. */
  close(c: StreamChannel): void;
  bridge(): string;
}

/** `jump`: the clock is set by so many ms at a time. */
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
