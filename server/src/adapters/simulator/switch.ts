/**
 * Channels and bridges of the simulated engine. Each move emits the engine's event and writes its call record, so that stream
 * and history show the same call.
 */
import type { Placed } from '@offhook/contract/directions.ts';
import { bridgeId, callId, channelId } from '@offhook/contract/ids.ts';
import type { BridgeId, CallId, ChannelId, NodeId } from '@offhook/contract/ids.ts';
import type { CallRecord, CallRecordFacts, CallRecordType } from '../../ports/call-records.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import type { ChannelState, EngineChannel, Party } from '../../ports/engine-state.ts';

/** Facts of one move lie this far apart, in microseconds, so that records keep their order. */
const STEP_US = 37;
const RUNG = { app: 'appdial', app_data: '(Outgoing Line)' } as const;
const DIALPLAN = 'dialplan/builtin';

/** An engine event without its time. */
export type Fact = EngineEvent extends infer E ? (E extends { at: number } ? Omit<E, 'at'> : never) : never;

export interface Channel extends Omit<EngineChannel, 'call' | 'state' | 'caller' | 'connected' | 'dialled'> {
  call: CallId;
  state: ChannelState;
  caller: Party;
  connected: Party;
  dialled: string;
  /** Application that the channel runs, for its records. */
  app: { readonly name: string; readonly data: string; readonly queue: string | null } | null;
  readonly rung: boolean;
  bridge: BridgeId | null;
  /** The other side is on hold by this channel: by its device, or by a command. */
  held: 'device' | 'operation' | null;
  /** Result of the channel's last dialling. */
  dial_status: string;
  recordings: number;
}
export interface NewChannel {
  readonly endpoint?: string;
  readonly pair?: string;
  readonly half?: 1 | 2;
  readonly caller?: Party;
  readonly connected?: Party;
  readonly dialled?: string;
  /** Channel whose call it joins; without it, a new call begins. */
  readonly of?: Channel;
  /** True for a channel that the engine rings. */
  readonly rung?: boolean;
  readonly id?: ChannelId;
  readonly placed?: Placed;
}
export interface SwitchOptions {
  readonly node: NodeId;
  readonly now: () => number;
  readonly fact: (event: EngineEvent) => void;
  readonly record: (record: CallRecord) => void;
  /** Called when a channel changes what its device does. */
  readonly deviceChanged: (endpoint: string) => void;
}
const NOBODY: Party = { number: '', name: '' };

export class Switch {
  readonly channels = new Map<ChannelId, Channel>();
  readonly #options: SwitchOptions;
  #serial = 0;
  /** Channels of phones and trunks so far. */
  #phones = 0;
  #bridges = 0;
  #records = 0;
  #lastUs = 0;
  constructor(options: SwitchOptions) {
    this.#options = options;
  }

  get now(): number {
    return this.#options.now();
  }
  fact(fact: Fact): void {
    this.#options.fact({ ...fact, at: this.now });
  }
  record(c: Channel, type: CallRecordType, facts: CallRecordFacts = {}): void {
    this.#lastUs = Math.max(this.now * 1000, this.#lastUs + STEP_US);
    const app = c.app ?? {
      ...(c.rung ? { name: RUNG.app, data: RUNG.app_data } : { name: '', data: '' }),
      queue: null,
    };
    this.#records += 1;
    this.#options.record({
      type,
      name: '',
      at_us: this.#lastUs,
      channel: c.id,
      call: c.call,
      channel_name: c.name,
      ...(type === 'channel_start' ? { sip_serial: c.pair === null ? this.#phones++ : null } : {}),
      endpoint: c.endpoint,
      pair: c.pair,
      caller_number: c.caller.number,
      caller_name: c.caller.name,
      dialled: type === 'channel_start' && c.rung ? 's' : c.dialled,
      context: 'internal',
      app: app.name,
      app_data: app.data,
      peer: '',
      facts: app.queue === null ? facts : { ...facts, queue: app.queue },
      key: `simulated-${this.#records}`,
    });
  }
  describe({
    id,
    call,
    name,
    kind,
    endpoint,
    pair,
    state,
    caller,
    connected,
    dialled,
    placed,
    created_at,
  }: Channel): EngineChannel {
    const known = { id, call, name, kind, endpoint, pair, state, caller, connected, dialled, created_at };
    return placed === undefined ? known : { ...known, placed };
  }
  create(given: NewChannel): Channel {
    const { node } = this.#options;
    this.#serial += 1;
    const own = given.id ?? channelId(node, `${Math.floor(this.now / 1000)}.${this.#serial}`);
    const serial = String(this.#serial).padStart(8, '0');
    const { endpoint = null, pair = null, rung = false, placed } = given;
    const c: Channel = {
      id: own,
      call: given.of?.call ?? callId(node, own.slice(node.length + 1)),
      name: pair === null ? `Phone/${endpoint}-${serial}` : `${pair};${given.half ?? 1}`,
      kind: pair === null ? 'endpoint' : 'local',
      endpoint,
      pair,
      state: rung || pair !== null ? 'down' : 'dialing',
      caller: given.caller ?? NOBODY,
      connected: given.connected ?? NOBODY,
      dialled: given.dialled ?? '',
      created_at: this.now,
      app: null,
      rung,
      bridge: null,
      held: null,
      dial_status: '',
      recordings: 0,
      ...(placed === undefined ? {} : { placed }),
    };
    this.channels.set(own, c);
    this.fact({ type: 'channel.created', channel: this.describe(c) });
    this.record(c, 'channel_start');
    this.#device(c);
    return c;
  }
  ring(c: Channel): void {
    this.#state(c, 'ringing');
  }
  answer(c: Channel): void {
    if (c.state === 'up') return;
    this.#state(c, 'up');
    this.record(c, 'answer');
  }
  begin(c: Channel, name: string, data: string, queue: string | null = null): void {
    if (c.app !== null) this.end(c);
    c.app = { name, data, queue };
    this.record(c, 'app_start');
  }
  /** Leaves its application. */
  end(c: Channel): void {
    if (c.app === null) return;
    this.record(c, 'app_end');
    c.app = null;
  }
  newBridge(): BridgeId {
    this.#bridges += 1;
    return bridgeId(this.#options.node, `bridge-${this.#bridges}`);
  }
  enter(c: Channel, bridge: BridgeId): void {
    this.leave(c);
    c.bridge = bridge;
    this.fact({ type: 'bridge.entered', bridge, id: c.id, holding: false });
    this.record(c, 'bridge_enter', { bridge });
    this.#device(c);
  }
  leave(c: Channel): void {
    const { bridge } = c;
    if (bridge === null) return;
    const held = c.held === 'device' ? this.beside(c) : [];
    c.bridge = null;
    this.fact({ type: 'bridge.left', bridge, id: c.id });
    this.record(c, 'bridge_exit', { bridge });
    for (const other of held) this.#device(other);
  }
  /** Channels in the same bridge. */
  beside(c: Channel): readonly Channel[] {
    if (c.bridge === null) return [];
    return [...this.channels.values()].filter((other) => other !== c && other.bridge === c.bridge);
  }
  /** The channel holds the other side, or retrieves it with null. */
  hold(c: Channel, by: Channel['held']): void {
    const before = c.held;
    if (before === by) return;
    c.held = by;
    const how = by ?? before;
    this.fact({
      type: 'channel.held',
      id: c.id,
      held: by !== null,
      ...(how === 'operation' ? { by: how } : {}),
    });
    for (const other of this.beside(c)) {
      this.record(other, by === null ? 'music_end' : 'music_start');
      this.#device(other);
    }
  }
  /** Moves every channel of a call into another call. */
  link(from: CallId, into: CallId): void {
    if (from === into) return;
    for (const c of this.channels.values()) {
      if (c.call !== from) continue;
      c.call = into;
      this.fact({ type: 'channel.linked', id: c.id, call: into });
    }
  }
  /** The channel ends. `by`: the channel that hung up, `dialplan` for the engine itself; absent if the engine names none. */
  hangUp(c: Channel, cause: number, by?: Channel | 'dialplan'): void {
    if (!this.channels.has(c.id)) return;
    if (by === c) this.fact({ type: 'channel.ending', id: c.id });
    this.leave(c);
    this.end(c);
    this.channels.delete(c.id);
    const source = by === undefined ? undefined : by === 'dialplan' ? DIALPLAN : by.name;
    this.record(c, 'hangup', {
      cause,
      ...(source === undefined ? {} : { source }),
      ...(c.dial_status === '' ? {} : { dial_status: c.dial_status }),
    });
    this.record(c, 'channel_end');
    this.fact({ type: 'channel.hungup', id: c.id, cause, cause_text: '' });
    this.#device(c);
    if (![...this.channels.values()].some(({ call }) => call === c.call)) this.record(c, 'linked_end');
  }

  #state(c: Channel, state: ChannelState): void {
    c.state = state;
    this.fact({ type: 'channel.state', id: c.id, state, caller: c.caller, connected: c.connected });
    this.#device(c);
  }
  #device({ endpoint }: Channel): void {
    if (endpoint !== null) this.#options.deviceChanged(endpoint);
  }
}
