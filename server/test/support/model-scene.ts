import { bridgeId, callId, channelId, nodeId } from '@offhook/contract/ids.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { EngineEvent } from '../../src/ports/engine-events.ts';
import type {
  ChannelState,
  DeviceState,
  EngineChannel,
  EngineSnapshot,
  QueueMember,
} from '../../src/ports/engine-state.ts';
import type { AgentInput, LiveModel, SiteEvent } from '../../src/ports/live.ts';
import { createModel } from '../../src/pbx/model.ts';

/** Short ways to write engine events in tests. */
export const node = nodeId('ast1');
export const chan = (id: string) => channelId(node, id);
export const call = (id: string) => callId(node, id);
export const bridge = (id: string) => bridgeId(node, id);
export const T0 = 1_795_222_133_000;
export const checkpointOf = (model: LiveModel): string => [...model.checkpoint()].join('');

type Decision = AgentInput extends infer E ? (E extends { at: number } ? Omit<E, 'at'> : never) : never;
/** Fields of an engine event besides type and time. */
type Body = EngineEvent extends infer E ? (E extends { at: number } ? Omit<E, 'at'> : never) : never;

export const channel = (id: string, more: Partial<EngineChannel> & { of?: string } = {}): EngineChannel => {
  const { of, ...rest } = more;
  const endpoint = rest.endpoint === undefined ? null : rest.endpoint;
  return {
    id: chan(id),
    call: call(of ?? id),
    name: `${endpoint ?? 'x'}-${id}`,
    kind: endpoint === null ? 'other' : 'endpoint',
    endpoint,
    pair: null,
    state: 'down',
    caller: { number: endpoint?.split('-')[0] ?? '', name: '' },
    connected: { number: '', name: '' },
    dialled: '',
    created_at: T0,
    ...rest,
  };
};
export const member = (queue: string, extension: string, more: Partial<QueueMember> = {}): QueueMember => ({
  queue,
  interface: `Local/${extension}@queue-agent`,
  extension,
  name: extension,
  membership: 'dynamic',
  paused: false,
  paused_reason: '',
  paused_at: null,
  login_at: T0,
  last_call_at: null,
  in_call: false,
  penalty: 0,
  state: 'NOT_INUSE',
  ...more,
});
export const snapshot = (more: Partial<EngineSnapshot> = {}): EngineSnapshot => ({
  node,
  boot_id: 'boot-1',
  restarted: null,
  channels: [],
  bridged: [],
  queues: [],
  devices: [],
  ...more,
});
export const site = (extensions: readonly string[] = ['1001', '1002', '1003', '1004']): SiteEvent => ({
  type: 'site.changed',
  at: T0,
  extensions: extensions.map((extension) => ({
    extension,
    name: `Person ${extension}`,
    endpoints: [
      { kind: 'sip', name: extension },
      { kind: 'webrtc', name: `${extension}-web` },
      { kind: 'mobile', name: `${extension}-mobile` },
    ],
  })),
  queues: [
    { name: 'support', agents: ['1002', '1003'], ring_seconds: 15, wrap_up_seconds: 0, max_wait_seconds: 60 },
    { name: 'sales', agents: ['1002'], ring_seconds: 20, wrap_up_seconds: 30, max_wait_seconds: 0 },
  ],
  trunks: [],
  pause_reasons: [{ id: 'break', longest_seconds: 900 }],
  services: ['600'],
});

/** A model and a clock that advances one second with every event by default. */
export class Scene {
  readonly model: LiveModel;
  readonly published: DomainEvent[] = [];
  at = T0;
  readonly #made = new Map<string, EngineChannel>();
  constructor(options: { model?: LiveModel; empty?: boolean; site?: SiteEvent } = {}) {
    this.model = options.model ?? createModel();
    this.model.step(options.site ?? site());
    if (options.empty === true) return;
    this.send({ type: 'engine.link', node, up: true, reason: '', boot_id: 'boot-1' });
    this.send({ type: 'engine.snapshot', why: 'connect', snapshot: snapshot() });
    this.published.length = 0;
  }
  get view(): LiveModel['view'] {
    return this.model.view;
  }
  /** Gives one event to the model and returns the resulting events. */
  send(body: Body, at = (this.at += 1000)): readonly DomainEvent[] {
    this.at = at;
    const out = this.model.step({ ...body, at } as EngineEvent);
    this.published.push(...out);
    return out;
  }
  /** A decision of the service about one agent. */
  decide(input: Decision, at = (this.at += 1000)): readonly DomainEvent[] {
    this.at = at;
    const out = this.model.step({ ...input, at } as AgentInput);
    this.published.push(...out);
    return out;
  }
  created(id: string, more: Parameters<typeof channel>[1] = {}): readonly DomainEvent[] {
    const made = channel(id, { created_at: this.at + 1000, ...more });
    this.#made.set(id, made);
    return this.send({ type: 'channel.created', channel: made });
  }
  state(id: string, state: ChannelState): readonly DomainEvent[] {
    const { caller, connected } = this.#made.get(id) ?? channel(id);
    return this.send({ type: 'channel.state', id: chan(id), state, caller, connected });
  }
  enter(b: string, id: string, holding = false): readonly DomainEvent[] {
    return this.send({ type: 'bridge.entered', bridge: bridge(b), id: chan(id), holding });
  }
  leave(b: string, id: string): readonly DomainEvent[] {
    return this.send({ type: 'bridge.left', bridge: bridge(b), id: chan(id) });
  }
  hangup(id: string, cause = 16): readonly DomainEvent[] {
    return this.send({ type: 'channel.hungup', id: chan(id), cause, cause_text: 'Normal Clearing' });
  }
  device(endpoint: string, state: DeviceState): readonly DomainEvent[] {
    return this.send({ type: 'device.state', endpoint, state });
  }
  member(queue: string, extension: string, more: Partial<QueueMember> = {}): readonly DomainEvent[] {
    return this.send({ type: 'queue.member', why: 'status', member: member(queue, extension, more) });
  }
  snapshot(more: Partial<EngineSnapshot> = {}, why: 'connect' | 'resync' = 'resync'): readonly DomainEvent[] {
    return this.send({ type: 'engine.snapshot', why, snapshot: snapshot(more) });
  }
}

/** Types only, for assertions about order. */
export const types = (events: readonly DomainEvent[]): string[] => events.map((e) => e.type);
